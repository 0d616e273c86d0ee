//! What was cut from results, kept for a while so that it can be read in pieces.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use protocol::ContentHash;

use crate::locked::locked;

/// How a handle begins where a path could stand.
pub(crate) const HANDLE_PREFIX: &str = "result:";
/// Hexadecimal digits of the content hash in a handle.
const HANDLE_DIGITS: usize = 12;

/// A text behind a handle.
#[derive(Clone, Debug)]
pub(crate) struct KeptText {
    /// In lines that can be shown whole.
    pub(crate) text: Arc<str>,
    /// Its bytes before long lines were broken.
    pub(crate) size: u64,
    /// The most bytes of it that may be shown at once.
    pub(crate) page_bytes: u64,
}

/// Keeps the newest cut texts within a budget of bytes.
pub(crate) struct ResultStore {
    budget: usize,
    kept: Mutex<VecDeque<(String, Arc<str>)>>,
}

impl ResultStore {
    pub(crate) fn new(budget: u64) -> Self {
        Self { budget: usize::try_from(budget).unwrap_or(usize::MAX), kept: Mutex::default() }
    }

    /// Keeps `text` and answers with its handle; the oldest texts make room.
    pub(crate) fn keep(&self, text: String) -> String {
        let hash = ContentHash::of(text.as_bytes()).to_string();
        let handle = format!("{HANDLE_PREFIX}{}", &hash[..HANDLE_DIGITS]);
        let mut kept = locked(&self.kept);
        if kept.iter().any(|(known, _)| *known == handle) {
            return handle;
        }
        kept.push_back((handle.clone(), text.into()));
        let mut total: usize = kept.iter().map(|(_, text)| text.len()).sum();
        while total > self.budget && kept.len() > 1 {
            total -= kept.pop_front().map_or(0, |(_, text)| text.len());
        }
        handle
    }

    /// The text behind a handle, if it is still kept.
    pub(crate) fn get(&self, handle: &str) -> Option<Arc<str>> {
        let kept = locked(&self.kept);
        kept.iter().find(|(known, _)| known == handle).map(|(_, text)| Arc::clone(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_texts_are_kept_within_the_budget() {
        let store = ResultStore::new(10);
        let first = store.keep("aaaaaa".into());
        let second = store.keep("bbbbbb".into());
        assert!(store.get(&first).is_none());
        assert_eq!(store.get(&second).as_deref(), Some("bbbbbb"));
        assert_eq!(store.keep("bbbbbb".into()), second);
        assert!(second.starts_with(HANDLE_PREFIX));
    }
}
