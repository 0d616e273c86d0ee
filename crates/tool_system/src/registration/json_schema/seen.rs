//! Which parts of a value keywords have judged, for `unevaluatedProperties` and `unevaluatedItems`.

use std::collections::BTreeSet;

#[derive(Default)]
pub(super) struct Seen<'v> {
    pub(super) all_names: bool,
    names: BTreeSet<&'v str>,
    /// All items below this index.
    below: usize,
    items: BTreeSet<usize>,
}

impl<'v> Seen<'v> {
    pub(super) fn name(&mut self, name: &'v str) {
        self.names.insert(name);
    }

    pub(super) fn item(&mut self, index: usize) {
        self.items.insert(index);
    }

    pub(super) fn items_below(&mut self, end: usize) {
        self.below = self.below.max(end);
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.all_names || self.names.contains(name)
    }

    pub(super) fn has_item(&self, index: usize) -> bool {
        index < self.below || self.items.contains(&index)
    }

    /// How much there is to add to another.
    pub(super) fn len(&self) -> u64 {
        (self.names.len() + self.items.len()) as u64
    }

    pub(super) fn add(&mut self, other: Self) {
        self.all_names |= other.all_names;
        self.names.extend(other.names);
        self.items_below(other.below);
        self.items.extend(other.items);
    }
}
