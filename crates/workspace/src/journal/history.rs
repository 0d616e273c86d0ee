//! What was changed, newest first.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, SystemTime};

use super::frame::Stage;
use super::{EntryId, EntryRole, Journal};
use crate::{Error, RelPath};

/// One entry of the journal, for showing and choosing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrySummary {
    /// Its number.
    pub id: EntryId,
    /// When it was applied.
    pub time: SystemTime,
    /// The session it belongs to.
    pub session: String,
    /// The tool call it belongs to.
    pub call: String,
    /// The tool that proposed it.
    pub tool: String,
    /// One line for the user.
    pub summary: String,
    /// The paths it changed.
    pub paths: Vec<RelPath>,
    /// Whether it is a change, an undo or a redo.
    pub role: EntryRole,
    /// The entry that undid it, if one did and was not undone itself.
    pub undone_by: Option<EntryId>,
    /// The entries that it undoes.
    pub undoes: Vec<EntryId>,
}

impl EntrySummary {
    /// Whether the entry's changes are in force and are not themselves an undo.
    pub(super) fn is_live_change(&self) -> bool {
        self.role == EntryRole::Change && self.undone_by.is_none() && !self.paths.is_empty()
    }
}

impl Journal {
    /// The newest entries, newest first.
    pub fn entries(&self, limit: usize) -> Result<Vec<EntrySummary>, Error> {
        self.newest_first()?.take(limit).collect()
    }

    /// The sessions that have entries.
    pub fn sessions(&self) -> Result<BTreeSet<String>, Error> {
        self.newest_first()?.map(|entry| Ok(entry?.session)).collect()
    }

    /// All entries, newest first, read as they are asked for.
    pub(super) fn newest_first(
        &self,
    ) -> Result<impl Iterator<Item = Result<EntrySummary, Error>> + '_, Error> {
        let segments = self.store.segments().map_err(|errno| self.store.failed(errno))?;
        let frames = segments.into_iter().rev().flat_map(|segment| {
            // A segment that cannot be read ends the history instead of hiding a part of it.
            let frames = self.store.frames(segment);
            let frames = frames.map_or_else(|e| vec![Err(e)], |f| f.into_iter().map(Ok).collect());
            frames.into_iter().rev()
        });
        let mut undone: HashMap<EntryId, EntryId> = HashMap::new();
        Ok(frames.filter_map(move |frame| {
            let header = frame.and_then(|frame| match frame.stage {
                Stage::Done => Ok(self.store.header(&frame)?.map(|header| (frame.id, header))),
                Stage::Writing | Stage::Open => Ok(None),
            });
            let (id, header) = match header {
                Ok(Some(found)) => found,
                // Unfinished, or forgotten meanwhile.
                Ok(None) => return None,
                Err(errno) => return Some(Err(self.store.failed(errno))),
            };
            let undone_by = undone.get(&id).copied();
            if undone_by.is_none() {
                for target in &header.undoes {
                    undone.entry(*target).or_insert(id);
                }
            }
            Some(Ok(EntrySummary {
                id,
                time: SystemTime::UNIX_EPOCH + Duration::from_millis(header.time_ms),
                session: header.label.session,
                call: header.label.call,
                tool: header.label.tool,
                summary: header.label.summary,
                paths: header.paths,
                role: header.role,
                undone_by,
                undoes: header.undoes,
            }))
        }))
    }
}
