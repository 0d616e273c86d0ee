//! Messages that were sent while a turn runs and wait for it.

use super::Submission;
use crate::live_lines::InkLine;
use crate::{Ink, LiveStyle, columns};

/// Messages that are shown; of more, the number is.
const MOST_SHOWN: usize = 4;
/// Stands behind the message that the Up key takes back.
const HINT: &str = "queued · ↑ edit";
/// The same where there is little room.
const SHORT_HINT: &str = "↑ edit";
/// Columns from which on there is enough.
const WIDE: usize = 40;

/// Messages in the order in which they go in.
#[derive(Clone, Debug, Default)]
pub struct MessageQueue {
    waiting: Vec<Submission>,
}

impl MessageQueue {
    /// Puts a message behind the others.
    pub fn push(&mut self, submission: Submission) {
        self.waiting.push(submission);
    }

    /// Takes the next message to be sent.
    pub fn take_next(&mut self) -> Option<Submission> {
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
    }

    /// Takes back the message that was sent last.
    pub fn take_last(&mut self) -> Option<Submission> {
        self.waiting.pop()
    }

    /// The message at this place, counted from the next one.
    pub fn get(&self, at: usize) -> Option<&Submission> {
        self.waiting.get(at)
    }

    /// Forgets the message at this place, which has gone in.
    pub fn remove(&mut self, at: usize) {
        if at < self.waiting.len() {
            self.waiting.remove(at);
        }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many messages wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// One line for each message, to stand above the input box.
    pub fn draw(&self, style: LiveStyle) -> Vec<String> {
        let hidden = self.waiting.len().saturating_sub(MOST_SHOWN);
        let mut lines = Vec::new();
        if hidden > 0 {
            let mut line = InkLine::new();
            line.push(Ink::DIM, &format!("  … {hidden} more queued"));
            lines.push(line.paint(style));
        }
        for (at, submission) in self.waiting.iter().enumerate().skip(hidden) {
            let hint = match at + 1 == self.waiting.len() {
                true if style.width < WIDE => SHORT_HINT,
                true => HINT,
                false => "queued",
            };
            // The hint ends where the text in the input box ends.
            let start = style.width.saturating_sub(columns(hint) + 2);
            let mut line = InkLine::new();
            line.push(Ink::DIM, "  › ");
            line.push_fit(Ink::PLAIN, &submission.draft.one_line(), start.saturating_sub(1));
            line.fill(Ink::PLAIN, " ", start).push(Ink::DIM, hint);
            lines.push(line.paint(style));
        }
        lines
    }
}
