//! How far a turn is, for the status line.

use std::time::{Duration, Instant};

use protocol::SessionEvent;
use terminal::{Spinner, StatusActivity};

/// Bytes of text that make a token, about.
const BYTES_A_TOKEN: u64 = 4;
/// A rate is told after this time.
const RATE_AFTER: Duration = Duration::from_millis(500);

/// What the model does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ModelPhase {
    #[default]
    Silent,
    Asked,
    Thinks,
    Writes,
}

/// A turn that runs, or a command of the user. Time in which the user is waited for does not count.
#[derive(Debug, Default)]
pub(crate) struct TurnProgress {
    began: Option<Instant>,
    waited: Duration,
    waiting_since: Option<Instant>,
    last_data: Option<Instant>,
    phase: ModelPhase,
    /// When the answer began to come, and how many bytes of it have come.
    answer: Option<(Instant, u64)>,
    spinner: Spinner,
    is_stopping: bool,
    words: String,
}

impl TurnProgress {
    /// Begins; `words` say what is done while neither the model nor a call tells.
    pub(crate) fn begin(&mut self, words: &str, now: Instant) {
        let words = words.to_owned();
        *self = Self { began: Some(now), last_data: Some(now), words, ..Self::default() };
    }

    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn is_working(&self) -> bool {
        self.began.is_some()
    }

    /// The user has asked for the end.
    pub(crate) fn stops(&mut self) {
        self.is_stopping = true;
    }

    pub(crate) fn waits_for_user(&mut self, waits: bool, now: Instant) {
        match (waits, self.waiting_since) {
            (true, None) => self.waiting_since = Some(now),
            (false, Some(since)) => {
                self.waited += now.saturating_duration_since(since);
                self.waiting_since = None;
            }
            _ => {}
        }
    }

    pub(crate) fn entry(&mut self, event: &SessionEvent, now: Instant) {
        self.moved(now);
        match event {
            SessionEvent::ModelAsked { .. } => {
                self.phase = ModelPhase::Asked;
                self.answer = None;
            }
            SessionEvent::ThinkingDelta { text } => self.came(ModelPhase::Thinks, text.len(), now),
            SessionEvent::TextDelta { text } => self.came(ModelPhase::Writes, text.len(), now),
            SessionEvent::ModelAnswered(_) | SessionEvent::ModelFailed { .. } => {
                self.phase = ModelPhase::Silent;
                self.answer = None;
            }
            _ => {}
        }
    }

    pub(crate) fn activity(&mut self, now: Instant) {
        self.moved(now);
    }

    fn moved(&mut self, now: Instant) {
        self.last_data = Some(now);
        self.spinner.progress(now);
    }

    fn came(&mut self, phase: ModelPhase, bytes: usize, now: Instant) {
        self.phase = phase;
        self.answer.get_or_insert((now, 0)).1 += bytes as u64;
    }

    /// What happens; `running` is the call that runs.
    pub(crate) fn words(&self, running: Option<String>) -> StatusActivity {
        if !self.is_working() {
            return StatusActivity::Idle;
        }
        match self.phase {
            _ if self.is_stopping => StatusActivity::Other("stopping".into()),
            _ if self.waiting_since.is_some() => StatusActivity::WaitingForUser,
            ModelPhase::Thinks | ModelPhase::Asked => StatusActivity::Thinking,
            ModelPhase::Writes => StatusActivity::Writing,
            ModelPhase::Silent => {
                StatusActivity::Other(running.unwrap_or_else(|| self.words.clone()))
            }
        }
    }

    pub(crate) fn spinner(&self) -> Option<Spinner> {
        self.is_working().then_some(self.spinner)
    }

    pub(crate) fn elapsed(&self, now: Instant) -> Option<Duration> {
        let all = now.saturating_duration_since(self.began?);
        let waiting =
            self.waiting_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        Some(all.saturating_sub(self.waited + waiting))
    }

    pub(crate) fn silent_for(&self, now: Instant) -> Option<Duration> {
        self.last_data.map(|last| now.saturating_duration_since(last))
    }

    /// Tokens of the answer that is coming, about.
    pub(crate) fn coming_tokens(&self) -> u64 {
        self.answer.map_or(0, |(_, bytes)| bytes / BYTES_A_TOKEN)
    }

    pub(crate) fn tokens_per_second(&self, now: Instant) -> Option<f64> {
        let (began, bytes) = self.answer?;
        let time = now.saturating_duration_since(began);
        let tokens = (bytes / BYTES_A_TOKEN) as f64;
        (time >= RATE_AFTER).then(|| tokens / time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> SessionEvent {
        SessionEvent::TextDelta { text: "x".repeat(bytes).into() }
    }

    #[test]
    fn time_that_the_user_takes_does_not_count() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut turn = TurnProgress::default();
        assert_eq!(turn.words(None), StatusActivity::Idle);
        turn.begin("working", start);
        turn.waits_for_user(true, after(2));
        assert_eq!(turn.words(Some("Ran x".into())), StatusActivity::WaitingForUser);
        assert_eq!(turn.elapsed(after(9)), Some(Duration::from_secs(2)));
        turn.waits_for_user(false, after(10));
        assert_eq!(turn.elapsed(after(11)), Some(Duration::from_secs(3)));
        turn.end();
        assert_eq!(turn.elapsed(after(12)), None);
    }

    #[test]
    fn what_the_model_does_is_told_in_words() {
        let start = Instant::now();
        let mut turn = TurnProgress::default();
        turn.begin("working", start);
        turn.entry(&SessionEvent::ModelAsked { estimated_tokens: 1 }, start);
        assert_eq!(turn.words(None), StatusActivity::Thinking);
        turn.entry(&text(400), start);
        assert_eq!(turn.words(None), StatusActivity::Writing);
        assert_eq!(turn.tokens_per_second(start), None);
        let later = start + Duration::from_secs(2);
        assert_eq!(turn.tokens_per_second(later), Some(50.0));
        assert_eq!((turn.coming_tokens(), turn.silent_for(later)), (100, Some(later - start)));
        turn.stops();
        assert_eq!(turn.words(None), StatusActivity::Other("stopping".into()));
    }
}
