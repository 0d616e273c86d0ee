//! The set of changes that undoes entries.

use protocol::{Base, Change, ChangeSet, ContentHash, FileBytes};

use super::entry::{EntryId, EntryRole, JournalStep, Loaded};
use super::image::EntryImage;
use super::old_states::OldStates;
use super::{EntrySummary, Journal};
use crate::{Error, RelPath};

/// Which entries to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoTarget {
    /// The newest change that is in force.
    Last,
    /// The newest undo that is in force: undoing it is a redo.
    LastUndo,
    Entry(EntryId),
    /// The undo that took this change back, or this undo: undoing it is a redo.
    UndoOf(EntryId),
    /// Everything a tool call changed.
    Call(String),
    /// Everything a session changed.
    Session(String),
}

/// What would undo entries: an ordinary set of changes, to be shown, approved and applied
/// with [`Journal::apply_undo`].
#[derive(Clone, Debug, PartialEq)]
pub struct Inverse {
    /// The changes.
    pub set: ChangeSet,
    /// The entries that they undo, newest first.
    pub undoes: Vec<EntryId>,
    /// Whether that is an undo or a redo.
    pub role: EntryRole,
    /// The summaries of the entries, newest first.
    pub summaries: Vec<String>,
}

impl Journal {
    /// What would undo the target. Applying it fails with a conflict if a file has changed
    /// since; for some files that is noticed here already.
    pub fn inverse(&self, target: &UndoTarget) -> Result<Inverse, Error> {
        self.inverse_among(target, &|_| true)
    }

    /// The same as if only the entries of some sessions were there.
    pub fn inverse_among(
        &self,
        target: &UndoTarget,
        is_there: &dyn Fn(&str) -> bool,
    ) -> Result<Inverse, Error> {
        let entries = self.select(target, &|entry| is_there(&entry.session))?;
        let redo = entries.iter().all(|entry| entry.role == EntryRole::Undo);
        let changes = match &entries[..] {
            [entry] => self.invert(&self.store.load(entry.id)?)?,
            entries => self.invert_all(entries)?,
        };
        Ok(Inverse {
            set: ChangeSet { changes },
            undoes: entries.iter().map(|entry| entry.id).collect(),
            role: if redo { EntryRole::Redo } else { EntryRole::Undo },
            summaries: entries.into_iter().map(|entry| entry.summary).collect(),
        })
    }

    fn select(
        &self,
        target: &UndoTarget,
        is_there: &dyn Fn(&EntrySummary) -> bool,
    ) -> Result<Vec<EntrySummary>, Error> {
        let mut entries = self.newest_first()?;
        let mut first = |wanted: fn(&EntrySummary) -> bool| {
            let is_it = |entry: &EntrySummary| wanted(entry) && is_there(entry);
            entries.find(|entry| entry.as_ref().map_or(true, is_it)).into_iter().collect()
        };
        let (found, wanted): (Result<Vec<_>, Error>, String) = match target {
            UndoTarget::Last => {
                (first(EntrySummary::is_live_change), "there is nothing to undo".to_owned())
            }
            UndoTarget::LastUndo => {
                let is_live_undo = |entry: &EntrySummary| {
                    entry.role == EntryRole::Undo && entry.undone_by.is_none()
                };
                (first(is_live_undo), "there is nothing to redo".to_owned())
            }
            UndoTarget::Entry(id) => {
                let found = self.newest_first()?;
                let is_it = |entry: &EntrySummary| entry.id == *id && is_there(entry);
                let found = found.filter(|e| e.as_ref().map_or(true, is_it)).collect();
                (found, format!("there is no change {id} in the journal"))
            }
            UndoTarget::UndoOf(id) => {
                let undo = self.undo_of(*id, is_there)?.map(Ok).into_iter().collect();
                (undo, format!("change {id} is not undone, so there is nothing to redo"))
            }
            UndoTarget::Call(call) => (
                self.live_changes(|entry| entry.call == *call && is_there(entry)),
                format!("the call {call} has no change that could be undone"),
            ),
            UndoTarget::Session(session) => (
                self.live_changes(|entry| entry.session == *session && is_there(entry)),
                format!("the session {session} has no change that could be undone"),
            ),
        };
        let found = found?;
        match found.first() {
            None => Err(Error::NothingToUndo { wanted }),
            Some(EntrySummary { id, undone_by: Some(by), .. }) => Err(Error::NothingToUndo {
                wanted: format!("change {id} is already undone by {by}"),
            }),
            Some(_) => Ok(found),
        }
    }

    /// The undo that is meant by a change that it took back, or by itself.
    fn undo_of(
        &self,
        id: EntryId,
        is_there: &dyn Fn(&EntrySummary) -> bool,
    ) -> Result<Option<EntrySummary>, Error> {
        let entry = |id| {
            let mut all = self.newest_first()?;
            let is_it = |entry: &EntrySummary| entry.id == id && is_there(entry);
            all.find(|entry| entry.as_ref().map_or(true, is_it)).transpose()
        };
        let named = entry(id)?;
        let undo = match named.as_ref().and_then(|named| named.undone_by) {
            Some(by) => entry(by)?,
            None => named,
        };
        Ok(undo.filter(|undo| undo.role == EntryRole::Undo))
    }

    pub(super) fn live_changes(
        &self,
        wanted: impl Fn(&EntrySummary) -> bool,
    ) -> Result<Vec<EntrySummary>, Error> {
        let live = |entry: &EntrySummary| entry.is_live_change() && wanted(entry);
        self.newest_first()?.filter(|entry| entry.as_ref().map_or(true, live)).collect()
    }

    /// The inverse of one entry, step by step from the last to the first.
    fn invert(&self, entry: &Loaded) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::with_capacity(entry.steps.len());
        for step in entry.steps.iter().rev() {
            match step {
                JournalStep::Put { path, before, after, image, .. } => {
                    let bytes = self.old_bytes(entry, path, (before, after), *image)?;
                    changes.push(put(path, after.clone(), before, bytes)?);
                }
                JournalStep::Move { from, to, what, replaced: Base::Absent, .. } => {
                    changes.push(Change::Move {
                        from: to.to_text(),
                        to: from.to_text(),
                        base: what.clone(),
                        target: Base::Absent,
                    });
                }
                // Two files changed places in effect, which a single move cannot express.
                JournalStep::Move { from, to, what, replaced, image, .. } => {
                    let moved = self.bytes_now(to, what)?;
                    changes.push(put(from, Base::Absent, what, moved)?);
                    let bytes = self.old_bytes(entry, to, (replaced, what), *image)?;
                    changes.push(put(to, what.clone(), replaced, bytes)?);
                }
                JournalStep::MakeDir { path, .. } => changes.push(self.remove_dir(path)?),
                JournalStep::RemoveDir { path, mode } => {
                    changes.push(Change::MakeDir { path: path.to_text(), mode: Some(*mode) });
                }
            }
        }
        Ok(changes)
    }

    /// The inverse of several entries as one set: for each path the oldest state before and the
    /// newest after.
    fn invert_all(&self, entries: &[EntrySummary]) -> Result<Vec<Change>, Error> {
        let mut states = OldStates::default();
        for entry in entries {
            let loaded = self.store.load(entry.id)?;
            for step in loaded.steps.iter().rev() {
                states.go_back(self, &loaded, step)?;
            }
        }
        states.into_changes(self)
    }

    /// The bytes of a file before a step that left it in the state `after`.
    fn old_bytes(
        &self,
        entry: &Loaded,
        path: &RelPath,
        (before, after): (&Base, &Base),
        image: Option<EntryImage>,
    ) -> Result<Vec<u8>, Error> {
        let replacement = match image {
            Some(image) if image.needs_replacement() => self.bytes_now(path, after)?,
            _ => Vec::new(),
        };
        self.read_image(entry, before, image, &replacement)
    }

    /// The bytes that an image stands for; none are needed for what is not a file.
    pub(super) fn read_image(
        &self,
        entry: &Loaded,
        before: &Base,
        image: Option<EntryImage>,
        replacement: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let Base::File { hash, .. } = before else { return Ok(Vec::new()) };
        let bytes = image.and_then(|image| image.read(entry.image(&image)?, replacement));
        bytes.filter(|bytes| ContentHash::of(bytes) == *hash).ok_or_else(|| Error::State {
            path: "the journal".to_owned(),
            reason: "an entry is damaged".to_owned(),
        })
    }

    /// The bytes of a file that must be in the given state.
    pub(super) fn bytes_now(&self, path: &RelPath, state: &Base) -> Result<Vec<u8>, Error> {
        let (base, bytes) = self.workspace.base_of(path, u64::MAX)?;
        if base == *state {
            return Ok(bytes.unwrap_or_default());
        }
        Err(Error::conflict(path, "was changed in the meantime"))
    }

    /// Removes a directory in whatever mode it is now.
    pub(super) fn remove_dir(&self, path: &RelPath) -> Result<Change, Error> {
        match self.workspace.base_of(path, 0) {
            Ok((Base::Directory { mode }, _)) => {
                Ok(Change::RemoveDir { path: path.to_text(), mode })
            }
            _ => Err(Error::conflict(path, "is not a directory any more")),
        }
    }
}

/// The change that brings `path` from the state `now` to the state `old`.
pub(super) fn put(path: &RelPath, now: Base, old: &Base, bytes: Vec<u8>) -> Result<Change, Error> {
    let name = path.to_text();
    match old {
        Base::Absent => Ok(Change::Delete { path: name, base: now }),
        Base::File { mode, .. } => {
            let content = FileBytes(bytes);
            Ok(Change::Write { path: name, base: now, content, mode: Some(*mode) })
        }
        Base::Link { target } => Ok(Change::Link { path: name, base: now, target: target.clone() }),
        Base::Directory { .. } => Err(mixed(path)),
    }
}

pub(super) fn mixed(path: &RelPath) -> Error {
    let reason = "a file and a directory had this name in turn; undo the changes one by one";
    Error::contradiction(path, reason)
}
