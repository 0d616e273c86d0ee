//! Undoing what a session has changed since a moment, but for what others have changed after it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use protocol::{Base, ChangeSet};

use super::entry::{EntryRole, JournalStep, Loaded};
use super::old_states::OldStates;
use super::{EntryId, EntrySummary, Inverse, Journal};
use crate::{Error, RelPath};

/// What would undo the changes of a session since a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct InverseSince {
    /// The changes; nothing if there is nothing to undo.
    pub inverse: Inverse,
    /// Paths that others have changed since. They are left as they are.
    pub kept: Vec<RelPath>,
}

impl Journal {
    /// What would undo everything that `session` has changed since then, but for `earlier` entries.
    pub fn inverse_since(
        &self,
        session: &str,
        since: SystemTime,
        earlier: &[EntryId],
    ) -> Result<InverseSince, Error> {
        let is_later = |entry: &EntrySummary| {
            entry.session == session && entry.time >= since && !earlier.contains(&entry.id)
        };
        let entries = self.live_changes(is_later)?;
        let loaded = entries.iter().map(|entry| self.store.load(entry.id));
        let loaded: Vec<Loaded> = loaded.collect::<Result<_, _>>()?;
        let kept = self.changed_by_others(&loaded);
        let mut states = OldStates::default();
        for entry in &loaded {
            for step in entry.steps.iter().rev().filter(|step| !touches(step, &kept)) {
                states.go_back(self, entry, step)?;
            }
        }
        let inverse = Inverse {
            set: ChangeSet { changes: states.into_changes(self)? },
            undoes: entries.iter().map(|entry| entry.id).collect(),
            role: EntryRole::Undo,
            summaries: entries.into_iter().map(|entry| entry.summary).collect(),
        };
        Ok(InverseSince { inverse, kept: kept.into_iter().collect() })
    }

    /// The paths that are not what the newest of these entries, which come first, have left.
    fn changed_by_others(&self, entries: &[Loaded]) -> BTreeSet<RelPath> {
        let mut left: BTreeMap<&RelPath, &Base> = BTreeMap::new();
        for step in entries.iter().flat_map(|entry| entry.steps.iter().rev()) {
            match step {
                JournalStep::Put { path, after, .. } => {
                    left.entry(path).or_insert(after);
                }
                JournalStep::Move { from, to, what, .. } => {
                    left.entry(to).or_insert(what);
                    left.entry(from).or_insert(&Base::Absent);
                }
                JournalStep::MakeDir { .. } | JournalStep::RemoveDir { .. } => {}
            }
        }
        let is_other = |(path, left): &(&RelPath, &Base)| {
            self.workspace.base_of(path, u64::MAX).map_or(true, |(now, _)| now != **left)
        };
        left.into_iter().filter(is_other).map(|(path, _)| path.clone()).collect()
    }
}

/// Whether a step is about one of these paths, or made a directory that one of them is in.
fn touches(step: &JournalStep, kept: &BTreeSet<RelPath>) -> bool {
    match step {
        JournalStep::Put { path, .. } => kept.contains(path),
        JournalStep::Move { from, to, .. } => kept.contains(from) || kept.contains(to),
        JournalStep::MakeDir { path, .. } => kept.iter().any(|inner| inner.starts_with(path)),
        JournalStep::RemoveDir { .. } => false,
    }
}
