//! What an entry keeps of a file that disappears, besides its bytes and its mode.
//!
//! A file that is replaced hands this to the file that replaces it. A file that is deleted has no
//! successor, so the entry keeps it until the deletion is undone.

use std::collections::HashMap;

use protocol::{Base, Change, ChangeSet, ContentHash, FileBytes};
use serde::{Deserialize, Serialize};

use super::Journal;
use super::entry::{EntryId, JournalStep};
use crate::RelPath;
use crate::metadata::{Metadata, Modified};

/// Owner, time of the last modification and extended attributes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptMetadata {
    uid: u32,
    gid: u32,
    seconds: i64,
    nanoseconds: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<(FileBytes, FileBytes)>,
}

impl KeptMetadata {
    /// What to keep for a step: nothing if the file has a successor.
    pub(super) fn for_step(
        before: &Base,
        after: &Base,
        metadata: Option<&Metadata>,
    ) -> Option<KeptMetadata> {
        let (Base::File { .. }, Base::Absent | Base::Link { .. }, Some(metadata)) =
            (before, after, metadata)
        else {
            return None;
        };
        let bytes = |bytes: &Vec<u8>| FileBytes(bytes.clone());
        let attributes = metadata.attributes.iter();
        Some(KeptMetadata {
            uid: metadata.uid,
            gid: metadata.gid,
            seconds: metadata.modified.seconds,
            nanoseconds: metadata.modified.nanoseconds,
            attributes: attributes.map(|(name, value)| (bytes(name), bytes(value))).collect(),
        })
    }

    /// For handing it to the file that comes back.
    pub(super) fn to_metadata(&self) -> Metadata {
        let attributes = self.attributes.iter();
        Metadata {
            uid: self.uid,
            gid: self.gid,
            links: 1,
            inode: 0,
            modified: Modified { seconds: self.seconds, nanoseconds: self.nanoseconds },
            attributes: attributes.map(|(name, value)| (name.0.clone(), value.0.clone())).collect(),
        }
    }
}

/// What files that come back had, by path and content.
pub(super) type Returning = HashMap<(RelPath, ContentHash), KeptMetadata>;

impl Journal {
    /// What the entries to take back keep of files that the set brings back.
    pub(super) fn returning(&self, set: &ChangeSet, undoes: &[EntryId]) -> Returning {
        let comes_back = |change: &Change| {
            matches!(change, Change::Write { base: Base::Absent | Base::Link { .. }, .. })
        };
        let mut returning = Returning::new();
        if !set.changes.iter().any(comes_back) {
            return returning;
        }
        // The newest first, so that the oldest state stays, which is the one that is restored. An
        // entry that cannot be read was read for the set already, and more depends on nothing here.
        for entry in undoes.iter().filter_map(|id| self.store.load(*id).ok()) {
            for step in entry.steps.into_iter().rev() {
                if let JournalStep::Put {
                    path,
                    before: Base::File { hash, .. },
                    kept: Some(kept),
                    ..
                } = step
                {
                    returning.insert((path, hash), kept);
                }
            }
        }
        returning
    }
}
