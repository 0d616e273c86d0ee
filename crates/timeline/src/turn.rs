//! What a turn took and how it went, counted from its log.

use protocol::{
    Content, ErrorCode, LogEntry, ModelAnswer, ModelErrorKind, SessionEvent, SharedText, TurnEnd,
    Usage,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::outcome::denial;
use protocol::milliseconds_between;

/// A call that the user or the policy denied, or whose changes they did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denied {
    pub call_id: String,
    /// What the model was told.
    pub reason: String,
}

/// What a turn that is over took.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TurnCosts {
    /// How it ended.
    pub end: TurnEnd,
    /// The tokens, those of sub-agents and summaries included.
    pub usage: Usage,
    /// The cost in US dollars, if the price of any part is known.
    pub cost_usd: Option<f64>,
    /// The tokens of the conversation, as the last answer has told.
    pub context_tokens: Option<u64>,
    /// From the message to the end without the time that the user was waited for.
    pub working_ms: u64,
    /// From the message to the end.
    pub duration_ms: u64,
}

/// Counts one turn; a message of the user begins another count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnTally {
    /// The tokens of the turn, those of sub-agents and summaries included.
    pub usage: Usage,
    /// The cost of the turn in US dollars, if the price of any part is known.
    pub cost_usd: Option<f64>,
    /// The last thing that the model has said, as it came.
    pub text: SharedText,
    /// The tokens of the conversation, as the last answer has told.
    pub context_tokens: Option<u64>,
    /// What the user or the policy denied, but for sub-agents.
    pub denied: Vec<Denied>,
    /// Why the model did not answer, if that ended the turn.
    pub failure: Option<String>,
    /// Whether it waits for the user to say how to go on.
    pub is_paused: bool,
    /// Whether a request was cancelled.
    pub was_cancelled: bool,
    /// How it ended, if it has.
    pub end: Option<TurnEnd>,
    began_at: Option<i64>,
    last_at: i64,
}

impl TurnTally {
    /// Counts one entry of the log.
    pub fn add(&mut self, entry: &LogEntry) {
        if let SessionEvent::UserMessage { .. } = entry.event {
            *self = Self { began_at: Some(entry.at), ..Self::default() };
        }
        self.last_at = self.last_at.max(self.moment(entry));
        if let Some((usage, cost_usd)) = entry.event.spent() {
            add_costs((&mut self.usage, &mut self.cost_usd), (usage, cost_usd));
        }
        match &entry.event {
            SessionEvent::ModelAnswered(answer) => self.answered(answer),
            SessionEvent::ModelFailed { kind: ModelErrorKind::Cancelled, .. } => {
                self.was_cancelled = true;
            }
            SessionEvent::ModelFailed { message, retry_in_ms: None, .. } => {
                self.failure = Some(message.clone());
            }
            SessionEvent::CallEnded { call_id, result, .. } => {
                self.denied.extend(denial(result).map(|reason| {
                    let call_id = call_id.clone();
                    Denied { call_id, reason }
                }));
            }
            SessionEvent::Paused(_) => self.is_paused = true,
            SessionEvent::Continued => self.is_paused = false,
            SessionEvent::TurnEnded(end) => self.end = Some(*end),
            _ => {}
        }
    }

    /// When what an entry tells of has happened. A process that was killed writes nothing: whoever takes up
    /// its session closes the turn, maybe days later, and that time was not spent on it.
    pub(crate) fn moment(&self, entry: &LogEntry) -> i64 {
        let is_belated = match &entry.event {
            SessionEvent::TurnEnded(end) => *end == TurnEnd::Interrupted,
            SessionEvent::CallEnded { result: Err(error), .. } => {
                error.code == ErrorCode::Interrupted
            }
            _ => false,
        };
        if is_belated && self.began_at.is_some() { self.last_at } else { entry.at }
    }

    fn answered(&mut self, answer: &ModelAnswer) {
        self.context_tokens = Some(answer.usage.total());
        let text = text_of(&answer.content);
        if !text.is_empty() {
            self.text = text;
        }
    }

    /// From the message to the last entry, in milliseconds.
    pub fn duration_ms(&self) -> u64 {
        milliseconds_between(self.began_at.unwrap_or(self.last_at), self.last_at)
    }
}

/// Adds what was spent to a sum; a sum without any known price has none.
pub(crate) fn add_costs(
    (usage, cost_usd): (&mut Usage, &mut Option<f64>),
    (more, dollars): (Usage, Option<f64>),
) {
    *usage += more;
    if let Some(dollars) = dollars {
        *cost_usd.get_or_insert(0.0) += dollars;
    }
}

/// The text in a message, with its images in words.
pub(crate) fn text_of(content: &[Content]) -> SharedText {
    let mut said = SharedText::new();
    let mut is_first = true;
    for part in content {
        let text = match part {
            Content::Text { text } => text.clone(),
            Content::Image(image) => format!("[image: {image}]").into(),
            _ => continue,
        };
        if !std::mem::take(&mut is_first) {
            said.push_str("\n");
        }
        said.push(&text);
    }
    said
}

#[cfg(test)]
mod tests {
    use protocol::StopReason;

    use super::*;

    fn answer(text: &str, cost_usd: Option<f64>) -> SessionEvent {
        SessionEvent::ModelAnswered(ModelAnswer {
            content: vec![Content::Text { text: text.into() }],
            broken: Vec::new(),
            stop: StopReason::EndOfTurn,
            usage: Usage { input: 10, output: 5, cache_read: 100, cache_write: 0 },
            cost_usd,
            duration_ms: 1,
        })
    }

    fn nested(event: SessionEvent) -> SessionEvent {
        let entry = Box::new(LogEntry { sequence: 1, at: 0, event });
        SessionEvent::Nested { call_id: "d".into(), entry }
    }

    #[test]
    fn a_turn_adds_up_with_its_sub_agents_and_a_message_begins_another() {
        let message = || SessionEvent::UserMessage { content: Vec::new() };
        let events = [
            message(),
            answer("first", Some(0.25)),
            nested(answer("inner", Some(0.5))),
            answer("", None),
        ];
        let mut turn = TurnTally::default();
        for (sequence, event) in (1..).zip(events) {
            turn.add(&LogEntry { sequence, at: sequence as i64 * 1000, event });
        }
        assert_eq!((turn.usage.total(), turn.cost_usd), (345, Some(0.75)));
        assert_eq!((turn.text.clone(), turn.context_tokens), ("first".into(), Some(115)));
        assert_eq!(turn.duration_ms(), 3000);
        turn.add(&LogEntry { sequence: 9, at: 9000, event: message() });
        assert_eq!((turn.usage.total(), turn.cost_usd, turn.duration_ms()), (0, None, 0));
    }
}
