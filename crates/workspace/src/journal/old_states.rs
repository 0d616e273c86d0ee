//! Many entries as one: the states that paths had before all of them.

use std::collections::BTreeMap;

use protocol::{Base, Change};

use super::Journal;
use super::entry::{Loaded, Step};
use super::inverse::{mixed, put};
use crate::{Error, RelPath};

/// States of paths, going back in time.
#[derive(Default)]
pub(super) struct OldStates {
    paths: BTreeMap<RelPath, Then>,
}

struct Then {
    /// What the newest entry left.
    now: Base,
    /// What the oldest entry so far found.
    old: Base,
    /// The bytes of `old` if it is a file.
    bytes: Vec<u8>,
}

impl OldStates {
    /// Goes back over one step. Steps come newest first.
    pub(super) fn go_back(
        &mut self,
        journal: &Journal,
        entry: &Loaded,
        step: &Step,
    ) -> Result<(), Error> {
        match step {
            Step::Put { path, before, after, image, .. } => {
                let replacement = match image {
                    Some(image) if image.needs_replacement() => self.bytes(journal, path, after)?,
                    _ => Vec::new(),
                };
                let bytes = journal.read_image(entry, before, *image, &replacement)?;
                self.set(path, before, after, bytes)
            }
            Step::Move { to, what: Base::Directory { .. }, .. } => {
                let reason = "a directory was moved; undo the changes one by one";
                Err(Error::contradiction(to, reason))
            }
            Step::Move { from, to, what, replaced, image, .. } => {
                let moved = self.bytes(journal, to, what)?;
                let bytes = journal.read_image(entry, replaced, *image, &[])?;
                self.set(to, replaced, what, bytes)?;
                self.set(from, what, &Base::Absent, moved)
            }
            Step::MakeDir { path, mode } => {
                let made = Base::Directory { mode: mode.unwrap_or_default() };
                self.set(path, &Base::Absent, &made, Vec::new())
            }
            Step::RemoveDir { path, mode } => {
                let old = Base::Directory { mode: *mode };
                self.set(path, &old, &Base::Absent, Vec::new())
            }
        }
    }

    /// The bytes of a path that is in the given state at this point of time.
    fn bytes(&self, journal: &Journal, path: &RelPath, state: &Base) -> Result<Vec<u8>, Error> {
        match self.paths.get(path) {
            Some(then) if then.old == *state => Ok(then.bytes.clone()),
            Some(_) => Err(changed_between(path)),
            None => journal.bytes_now(path, state),
        }
    }

    fn set(
        &mut self,
        path: &RelPath,
        before: &Base,
        after: &Base,
        bytes: Vec<u8>,
    ) -> Result<(), Error> {
        let old = before.clone();
        match self.paths.get_mut(path) {
            None => {
                self.paths.insert(path.clone(), Then { now: after.clone(), old, bytes });
                Ok(())
            }
            Some(then) if same(&then.old, after) => {
                (then.old, then.bytes) = (old, bytes);
                Ok(())
            }
            Some(_) => Err(changed_between(path)),
        }
    }

    /// The changes that bring every path back, in an order in which they can be made.
    pub(super) fn into_changes(self, journal: &Journal) -> Result<Vec<Change>, Error> {
        let (mut made, mut puts, mut deletes, mut removed) = (vec![], vec![], vec![], vec![]);
        for (path, Then { now, old, bytes }) in self.paths {
            match (&now, &old) {
                (now, old) if same(now, old) => {}
                (Base::Absent, Base::Directory { mode }) => {
                    made.push(Change::MakeDir { path: path.to_text(), mode: Some(*mode) });
                }
                (Base::Directory { .. }, Base::Absent) => removed.push(journal.remove_dir(&path)?),
                (Base::Directory { .. }, _) | (_, Base::Directory { .. }) => {
                    return Err(mixed(&path));
                }
                (_, Base::Absent) => deletes.push(put(&path, now, &old, bytes)?),
                _ => puts.push(put(&path, now, &old, bytes)?),
            }
        }
        // Paths are in order, so directories come before what is in them.
        removed.reverse();
        Ok([made, puts, deletes, removed].concat())
    }
}

/// Whether two states are the same. The mode of a directory was not always known.
fn same(a: &Base, b: &Base) -> bool {
    matches!((a, b), (Base::Directory { .. }, Base::Directory { .. })) || a == b
}

fn changed_between(path: &RelPath) -> Error {
    Error::conflict(path, "was changed by someone else between the changes to undo")
}
