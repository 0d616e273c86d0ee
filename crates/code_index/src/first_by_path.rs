//! The first results in path order, or in another, kept while they come in any order: what is held is bounded by what
//! is shown, not by what is found. "Common literal" and "memory after text and files" of `cargo xtask bench search`
//! measure it.

use std::collections::BTreeMap;

use workspace::RelPath;

/// The first results by path.
pub(crate) type FirstByPath<T> = First<RelPath, T>;

/// Keeps just enough results to know the first `wanted` of them by key. Each thread has its own;
/// put together, they hold the first of all.
pub(crate) struct First<K, T> {
    wanted: usize,
    held: usize,
    by_key: BTreeMap<K, Vec<T>>,
}

impl<K: Ord, T> First<K, T> {
    pub(crate) fn new(wanted: usize) -> Self {
        Self { wanted, held: 0, by_key: BTreeMap::new() }
    }

    /// How many results under `key` could still be among the first.
    pub(crate) fn room_for(&self, key: &K) -> usize {
        match self.by_key.last_key_value() {
            Some((last, _)) if self.held >= self.wanted && key > last => 0,
            _ => self.wanted,
        }
    }

    pub(crate) fn add(&mut self, key: K, results: Vec<T>) {
        if results.is_empty() {
            return;
        }
        self.held += results.len();
        self.by_key.insert(key, results);
        while let Some(last) = self.by_key.last_entry() {
            if self.held - last.get().len() < self.wanted {
                break;
            }
            self.held -= last.remove().len();
        }
    }

    /// The first results of several threads together.
    pub(crate) fn merge(parts: impl IntoIterator<Item = Self>, wanted: usize) -> Vec<T> {
        let mut all = Self::new(wanted);
        for part in parts {
            for (key, results) in part.by_key {
                all.add(key, results);
            }
        }
        all.by_key.into_values().flatten().take(wanted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_by_path_survive_whatever_the_order_and_the_split() {
        let path = |name: &str| RelPath::parse(name).unwrap();
        let mut one = FirstByPath::new(3);
        let mut two = FirstByPath::new(3);
        one.add(path("d"), vec!["d1", "d2"]);
        one.add(path("b"), vec!["b1", "b2"]);
        one.add(path("e"), vec!["e1"]);
        assert_eq!(one.room_for(&path("z")), 0);
        assert_eq!(one.room_for(&path("a")), 3);
        two.add(path("a"), vec!["a1"]);
        two.add(path("c"), vec!["c1", "c2", "c3"]);
        assert_eq!(FirstByPath::merge([one, two], 3), ["a1", "b1", "b2"]);
    }
}
