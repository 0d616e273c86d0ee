//! What was coloured before, by the hash of what it was made from. It is for the pages that show the same question,
//! diff or file again; no bench has a target for it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use blake3::{Hash, Hasher};
use protocol::{Hunk, LineKind};

use super::{DiffLineSpans, LineSpans};

/// Spans that are kept, of a few bytes each, and lines, which count as one span too.
const MOST_KEPT: usize = 500_000;

/// Remembers the colours that were asked for last.
#[derive(Debug, Default)]
pub(crate) struct ColourCache {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    coloured: HashMap<Hash, Coloured>,
    /// From the oldest to the newest.
    order: VecDeque<Hash>,
    size: usize,
}

#[derive(Clone, Debug)]
enum Coloured {
    Text(Arc<Vec<LineSpans>>),
    Hunk(Arc<Vec<DiffLineSpans>>),
}

impl Coloured {
    fn size(&self) -> usize {
        match self {
            Self::Text(lines) => lines.iter().map(|line| line.len() + 1).sum(),
            Self::Hunk(lines) => lines.iter().map(|it| it.spans.len() + it.words.len() + 1).sum(),
        }
    }
}

impl ColourCache {
    pub(super) fn text(
        &self,
        language_or_path: &str,
        lines: &[&str],
        make: impl FnOnce() -> Vec<LineSpans>,
    ) -> Vec<LineSpans> {
        let mut hasher = named("text", language_or_path);
        lines.iter().for_each(|line| part(&mut hasher, line));
        let made = || Coloured::Text(Arc::new(make()));
        match self.kept_or(hasher.finalize(), made) {
            Coloured::Text(lines) => lines.to_vec(),
            Coloured::Hunk(_) => Vec::new(),
        }
    }

    pub(super) fn hunk(
        &self,
        path: &str,
        hunk: &Hunk,
        make: impl FnOnce() -> Vec<DiffLineSpans>,
    ) -> Arc<Vec<DiffLineSpans>> {
        let mut hasher = named("hunk", path);
        for line in &hunk.lines {
            let kind = match line.kind {
                LineKind::Context => " ",
                LineKind::Add => "+",
                LineKind::Remove => "-",
            };
            part(&mut hasher, kind);
            part(&mut hasher, &line.text);
            // Marks are what the file holds otherwise than the text says.
            for mark in &line.marks {
                part(&mut hasher, &format!("{mark:?}"));
            }
        }
        let made = || Coloured::Hunk(Arc::new(make()));
        match self.kept_or(hasher.finalize(), made) {
            Coloured::Hunk(lines) => lines,
            Coloured::Text(_) => Arc::default(),
        }
    }

    fn kept_or(&self, hash: Hash, make: impl FnOnce() -> Coloured) -> Coloured {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(coloured) = lock().coloured.get(&hash) {
            return coloured.clone();
        }
        // Without the lock: others colour meanwhile.
        let made = make();
        lock().keep(hash, made.clone());
        made
    }
}

impl Kept {
    fn keep(&mut self, hash: Hash, made: Coloured) {
        self.size += made.size();
        match self.coloured.insert(hash, made) {
            Some(before) => self.size -= before.size(),
            None => self.order.push_back(hash),
        }
        while self.size > MOST_KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.coloured.remove(&oldest);
            self.size -= gone.map_or(0, |gone| gone.size());
        }
    }
}

fn named(form: &str, name: &str) -> Hasher {
    let mut hasher = Hasher::new();
    part(&mut hasher, form);
    part(&mut hasher, name);
    hasher
}

/// With its length, so that no two lists of parts are the same bytes.
fn part(hasher: &mut Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_last_is_kept_within_bounds() {
        let cache = ColourCache::default();
        let large = MOST_KEPT / 3;
        let ask = |name: &str| {
            let mut is_made = false;
            cache.text(name, &["x"], || {
                is_made = true;
                vec![LineSpans::new(); large]
            });
            is_made
        };
        assert_eq!(["a", "b", "a", "c", "d"].map(ask), [true, true, false, true, true]);
        assert_eq!(["b", "c", "d", "a"].map(ask), [false, false, false, true]);
    }
}
