//! The first results in path order, kept while they come in any order.

use std::collections::BTreeMap;

use workspace::RelPath;

/// Keeps just enough results to know the first `wanted` of them by path. Each thread has its own;
/// put together, they hold the first of all.
pub(crate) struct FirstByPath<T> {
    wanted: usize,
    held: usize,
    by_path: BTreeMap<RelPath, Vec<T>>,
}

impl<T> FirstByPath<T> {
    pub(crate) fn new(wanted: usize) -> Self {
        Self { wanted, held: 0, by_path: BTreeMap::new() }
    }

    /// How many results of `path` could still be among the first.
    pub(crate) fn room_for(&self, path: &RelPath) -> usize {
        match self.by_path.last_key_value() {
            Some((last, _)) if self.held >= self.wanted && path > last => 0,
            _ => self.wanted,
        }
    }

    pub(crate) fn add(&mut self, path: RelPath, results: Vec<T>) {
        if results.is_empty() {
            return;
        }
        self.held += results.len();
        self.by_path.insert(path, results);
        while let Some(last) = self.by_path.last_entry() {
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
            for (path, results) in part.by_path {
                all.add(path, results);
            }
        }
        all.by_path.into_values().flatten().take(wanted).collect()
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
