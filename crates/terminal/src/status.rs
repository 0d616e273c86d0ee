//! The last line of the screen: what happens, for how long, and what it takes.

use std::time::{Duration, Instant};

use timeline::money;
use timeline::safe_text::harmless;

use crate::columns::fit;
use crate::live_lines::InkLine;
use crate::{Ink, LiveStyle, columns};

/// Silence of a server that is worth a word.
const SILENCE: Duration = Duration::from_secs(5);
/// How long one picture of the spinner stands.
const FRAME: Duration = Duration::from_millis(120);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// The spinner while nothing moves.
const STILL: &str = "·";
/// Columns of what happens that are shown even if there is little room.
const LEAST_WORDS: usize = 18;
const SEPARATOR: &str = " · ";
const STOP_HINT: &str = "esc stops";

/// What happens, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StatusActivity {
    /// Nothing.
    #[default]
    Idle,
    /// The model was asked or thinks.
    Thinking,
    /// The model writes its answer.
    Writing,
    /// A tool runs; this says which and on what, such as `npm test`.
    Running(String),
    /// A question waits for its answer.
    WaitingForUser,
    /// Something else, such as `making room`.
    Other(String),
}

impl StatusActivity {
    fn words(&self) -> String {
        match self {
            StatusActivity::Idle => "ready".into(),
            StatusActivity::Thinking => "thinking".into(),
            StatusActivity::Writing => "writing".into(),
            StatusActivity::Running(what) => format!("running {what}"),
            StatusActivity::WaitingForUser => "waiting for you".into(),
            StatusActivity::Other(words) => words.clone(),
        }
    }

    /// Whether data of a server is expected.
    fn awaits_data(&self) -> bool {
        matches!(self, StatusActivity::Thinking | StatusActivity::Writing)
    }
}

/// A sign of life that turns only while something moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spinner {
    frame: usize,
    turned: Option<Instant>,
}

impl Spinner {
    /// Bytes came, or work goes on. The next picture follows, if the present one stood long enough.
    pub fn progress(&mut self, now: Instant) {
        let is_due = |turned: Instant| now.saturating_duration_since(turned) >= FRAME;
        if self.turned.is_none_or(is_due) {
            self.frame = (self.frame + 1) % FRAMES.len();
            self.turned = Some(now);
        }
    }

    fn picture(self) -> &'static str {
        if self.turned.is_some() { FRAMES[self.frame] } else { STILL }
    }
}

/// Everything that the line can tell. What is absent is left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusLine {
    /// What happens.
    pub activity: StatusActivity,
    /// Turns while a turn runs; absent when nothing does.
    pub spinner: Option<Spinner>,
    /// Since the turn began, without the time in which it waited for the user.
    pub elapsed: Option<Duration>,
    /// Since the last byte of the server.
    pub silent_for: Option<Duration>,
    /// Tokens sent and received in this turn.
    pub tokens: Option<(u64, u64)>,
    /// Tokens that come per second.
    pub tokens_per_second: Option<f64>,
    /// Tokens of the context in use, and how many fit.
    pub context: Option<(u64, Option<u64>)>,
    /// Dollars of the session.
    pub cost: Option<f64>,
    /// The mode of approval.
    pub mode: String,
    /// The model, by a short name.
    pub model: String,
    /// Commands that run in the background.
    pub jobs: usize,
}

/// A part of the line. Those with the highest number go first when there is no room.
struct StatusPart {
    rank: u8,
    ink: Ink,
    text: String,
}

impl StatusLine {
    /// The line. What happens is told at every width; the rest goes as the screen gets narrow.
    pub fn draw(&self, style: LiveStyle) -> String {
        let mut parts = self.parts();
        // A long command leaves room for the rest.
        if let Some(first) = parts.first_mut().filter(|_| !self.is_silent()) {
            first.text = fit(&harmless(&first.text), (style.width / 2).max(LEAST_WORDS));
        }
        let stop = if self.spinner.is_some() && !self.is_silent() { STOP_HINT } else { "" };
        let needed = |parts: &[StatusPart]| -> usize {
            let words: usize = parts.iter().map(|part| columns(&part.text)).sum();
            2 + words + columns(SEPARATOR) * parts.len().saturating_sub(1)
        };
        let room = style.width.saturating_sub(1);
        while needed(&parts) > room && parts.len() > 1 {
            let least = parts.iter().enumerate().max_by_key(|(_, part)| part.rank);
            let Some(least) = least.map(|(at, _)| at) else { break };
            parts.remove(least);
        }
        let mut line = InkLine::new();
        line.push(Ink::CYAN, self.spinner.map_or(" ", Spinner::picture)).push(Ink::PLAIN, " ");
        for (at, part) in parts.iter().enumerate() {
            line.push(Ink::DIM, if at == 0 { "" } else { SEPARATOR });
            line.push(part.ink, &part.text);
        }
        let end = style.width.saturating_sub(1 + columns(stop));
        if !stop.is_empty() && line.used() + 2 <= end {
            line.fill(Ink::PLAIN, " ", end).push(Ink::DIM, stop);
        }
        line.paint(style)
    }

    fn is_silent(&self) -> bool {
        self.activity.awaits_data() && self.silent_for.is_some_and(|silence| silence >= SILENCE)
    }

    fn parts(&self) -> Vec<StatusPart> {
        let mut parts = Vec::new();
        let mut add = |rank, ink, text: String| parts.push(StatusPart { rank, ink, text });
        match (self.is_silent(), self.silent_for) {
            (true, Some(silence)) => {
                let words = format!("no data for {} s{SEPARATOR}{STOP_HINT}", silence.as_secs());
                add(0, Ink::YELLOW, words);
            }
            _ => {
                let waits = self.activity == StatusActivity::WaitingForUser;
                add(0, if waits { Ink::YELLOW } else { Ink::PLAIN }, self.activity.words());
            }
        }
        if let Some(elapsed) = self.elapsed {
            add(1, Ink::DIM, clock(elapsed));
        }
        if let Some((sent, received)) = self.tokens {
            add(6, Ink::DIM, format!("↑{} ↓{}", count(sent), count(received)));
        }
        if let Some(rate) = self.tokens_per_second {
            add(8, Ink::DIM, format!("{rate:.0}/s"));
        }
        match self.context {
            Some((used, Some(window))) => {
                add(3, Ink::DIM, format!("{} of {}", count(used), count(window)));
            }
            Some((used, None)) => add(3, Ink::DIM, format!("{} context", count(used))),
            None => {}
        }
        if let Some(cost) = self.cost {
            add(4, Ink::DIM, dollars(cost));
        }
        if !self.model.is_empty() {
            add(5, Ink::DIM, self.model.clone());
        }
        if !self.mode.is_empty() {
            add(2, Ink::DIM, self.mode.clone());
        }
        match self.jobs {
            0 => {}
            1 => add(7, Ink::DIM, "1 job".into()),
            jobs => add(7, Ink::DIM, format!("{jobs} jobs")),
        }
        parts
    }
}

/// From here on whole thousands are rounded to a thousand of them.
const ROUNDED_TO_MILLION: u64 = 999_500;

/// `950`, `1.2k`, `18k`, `1.2M`: as exact as a glance needs.
fn count(number: u64) -> String {
    match number {
        10_000..ROUNDED_TO_MILLION => format!("{:.0}k", number as f64 / 1e3),
        ROUNDED_TO_MILLION..1_000_000 => "1.0M".into(),
        _ => timeline::count(number),
    }
}

/// Cents, unless it is less than one.
fn dollars(cost: f64) -> String {
    if (0.01..1.0).contains(&cost) { format!("${cost:.2}") } else { money(cost) }
}

/// `0:07`, `12:30`, `1:02:03`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 60 / 60, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> StatusLine {
        StatusLine {
            activity: StatusActivity::Running("npm test".into()),
            spinner: Some(Spinner::default()),
            elapsed: Some(Duration::from_secs(74)),
            silent_for: Some(Duration::from_secs(8)),
            tokens: Some((18_200, 312)),
            tokens_per_second: Some(61.4),
            context: Some((18_000, Some(200_000))),
            cost: Some(0.21),
            mode: "strict".into(),
            model: "opus".into(),
            jobs: 1,
        }
    }

    fn drawn(status: &StatusLine, widths: &[usize]) -> String {
        let line = |width: &usize| {
            let line = status.draw(LiveStyle { width: *width, colour: false });
            assert!(columns(&line) <= *width, "{line:?}");
            line
        };
        widths.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_least_important_goes_first() {
        insta::assert_snapshot!(drawn(&status(), &[200, 100, 60, 40, 20, 8]), @"
        · running npm test · 1:14 · ↑18k ↓312 · 61/s · 18k of 200k · $0.21 · opus · strict · 1 job                                                                                                    esc stops
        · running npm test · 1:14 · ↑18k ↓312 · 61/s · 18k of 200k · $0.21 · opus · strict · 1 job
        · running npm test · 1:14 · 18k of 200k · $0.21 · strict
        · running npm test · 1:14 · strict
        · running npm test
        · runni…
        ");
    }

    #[test]
    fn silence_is_told_only_where_data_is_awaited() {
        let mut status = status();
        assert!(drawn(&status, &[100]).contains("running npm test"));
        status.activity = StatusActivity::Running("x".repeat(200));
        assert!(drawn(&status, &[60]).contains("xx… · 1:14 · "));
        status.activity = StatusActivity::Thinking;
        insta::assert_snapshot!(drawn(&status, &[100, 30]), @"
        · no data for 8 s · esc stops · 1:14 · ↑18k ↓312 · 18k of 200k · $0.21 · opus · strict · 1 job
        · no data for 8 s · esc stops
        ");
        status.silent_for = Some(Duration::from_secs(4));
        assert!(drawn(&status, &[100]).starts_with("· thinking · 1:14"));
    }

    #[test]
    fn the_spinner_turns_only_by_progress() {
        let start = Instant::now();
        let mut spinner = Spinner::default();
        assert_eq!(spinner.picture(), STILL);
        spinner.progress(start);
        let first = spinner.picture();
        spinner.progress(start + FRAME / 2);
        assert_eq!(spinner.picture(), first);
        spinner.progress(start + FRAME);
        assert_ne!(spinner.picture(), first);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(["$0.21", "$0.0012", "$3.50"], [0.214, 0.0012, 3.5].map(dollars));
        assert_eq!(["312", "1.2k", "18k", "1.0M"], [312, 1_240, 18_200, 999_600].map(count));
        assert_eq!(clock(Duration::from_secs(3723)), "1:02:03");
        assert_eq!(clock(Duration::from_secs(7)), "0:07");
    }
}
