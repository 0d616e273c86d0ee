//! What a session has left changed, all its steps taken together.

use std::collections::{BTreeMap, BTreeSet};

use protocol::Base;

use super::entry::{EntryId, JournalStep};
use super::{EntrySummary, Journal};
use crate::{Error, RelPath};

/// What was at each path before the first step and after the last one.
type Ends = BTreeMap<RelPath, (Base, Base)>;

impl Journal {
    /// The number of the newest entry. Whatever is changed from now on has a greater one.
    pub fn newest(&self) -> Result<Option<EntryId>, Error> {
        Ok(self.entries(1)?.first().map(|entry| entry.id))
    }

    /// The files and links that the entries of `session` after `since` have left changed, by their
    /// paths. What was undone, deleted after it was made, or changed back is not among them.
    pub fn left_changed(
        &self,
        session: &str,
        since: Option<EntryId>,
    ) -> Result<BTreeSet<RelPath>, Error> {
        let is_later = |entry: &EntrySummary| since.is_none_or(|since| entry.id > since);
        let newest = self.newest_first()?;
        let later = newest.take_while(|entry| entry.as_ref().map_or(true, is_later));
        let own = later.filter(|entry| entry.as_ref().map_or(true, |e| e.session == session));
        let mut entries: Vec<EntrySummary> = own.collect::<Result<_, _>>()?;
        entries.reverse();
        let (mut ends, mut changed) = (Ends::new(), BTreeSet::new());
        for entry in entries {
            match self.store.load(entry.id) {
                Ok(loaded) => loaded.steps.into_iter().for_each(|step| follow(&mut ends, step)),
                // It was forgotten meanwhile; its paths are all that is known.
                Err(_) => changed.extend(entry.paths),
            }
        }
        changed.extend(ends.into_iter().filter(|(_, (was, is))| was != is).map(|(path, _)| path));
        Ok(changed)
    }
}

fn follow(ends: &mut Ends, step: JournalStep) {
    let mut note = |path, before, after: Base| {
        ends.entry(path).or_insert((before, Base::Absent)).1 = after;
    };
    match step {
        JournalStep::Put { path, before, after, .. } => note(path, before, after),
        JournalStep::Move { from, to, what, replaced, .. } => {
            note(from, what.clone(), Base::Absent);
            note(to, replaced, what);
        }
        JournalStep::MakeDir { .. } | JournalStep::RemoveDir { .. } => {}
    }
}
