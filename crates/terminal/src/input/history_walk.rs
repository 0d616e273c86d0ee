//! Going back through what was sent before: step by step, and by search.

use super::edit_buffer::Draft;
use super::input_history::InputHistory;

/// Where the user is in the history, and what was typed before.
#[derive(Clone, Debug, Default)]
pub(super) struct HistoryWalk {
    /// The entry that is shown, and the draft that waits for the way back.
    at: Option<(usize, Draft)>,
}

impl HistoryWalk {
    pub(super) fn is_walking(&self) -> bool {
        self.at.is_some()
    }

    /// The draft to show after a step; `None` at the end of the way.
    pub(super) fn step(&mut self, entries: &[String], back: bool, now: &Draft) -> Option<Draft> {
        let next = match (&self.at, back) {
            (None, true) => entries.len().checked_sub(1),
            (None, false) => return None,
            (Some((at, _)), true) => at.checked_sub(1),
            (Some((at, _)), false) => Some(at + 1),
        }?;
        let (_, draft) = self.at.take().unwrap_or_else(|| (next, now.clone()));
        match entries.get(next) {
            Some(entry) => {
                self.at = Some((next, draft));
                Some(Draft::of(entry))
            }
            None => Some(draft),
        }
    }
}

/// Ctrl-R: the newest entry that holds what is typed.
#[derive(Clone, Debug, Default)]
pub(super) struct HistorySearch {
    pub(super) query: String,
    at: Option<usize>,
}

impl HistorySearch {
    pub(super) fn add(&mut self, c: char, history: &InputHistory) {
        self.query.push(c);
        // What is shown stays while it holds the longer text.
        let before = self.at.map_or(usize::MAX, |at| at + 1);
        self.at = history.find_back(&self.query, before);
    }

    pub(super) fn shorter(&mut self, history: &InputHistory) {
        self.query.pop();
        self.at = match self.query.is_empty() {
            true => None,
            false => history.find_back(&self.query, usize::MAX),
        };
    }

    pub(super) fn older(&mut self, history: &InputHistory) {
        let before = self.at.unwrap_or(usize::MAX);
        self.at = history.find_back(&self.query, before).or(self.at);
    }

    pub(super) fn newer(&mut self, history: &InputHistory) {
        let query = self.query.to_lowercase();
        let after = self.at.map_or(0, |at| at + 1);
        let mut newer = history.entries().iter().enumerate().skip(after);
        let found = newer.find(|(_, entry)| entry.to_lowercase().contains(&query));
        self.at = found.map(|(at, _)| at).or(self.at);
    }

    pub(super) fn found<'a>(&self, history: &'a InputHistory) -> Option<&'a str> {
        self.at.and_then(|at| history.entries().get(at)).map(String::as_str)
    }
}
