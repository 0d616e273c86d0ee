//! One entry of the journal: what it records and how it lies in its segment.
//!
//! After the frame come a header line (JSON), the before-images one after another, an index (JSON)
//! and a trailer that says where the index is and what its hash is. A process that dies while it
//! prepares leaves an entry without a valid trailer: nothing was changed yet, and the header says
//! where temporary files may lie.

use std::fmt;
use std::str::FromStr;

use protocol::{Base, ContentHash};
use serde::{Deserialize, Serialize};

use super::image::EntryImage;
use super::kept::KeptMetadata;
use crate::RelPath;

const TRAILER_MAGIC: &[u8; 8] = b"TKILNEND";
/// Of BLAKE3.
const HASH_BYTES: usize = 32;

/// Offset of the index, its length, its hash, the magic.
pub(crate) const TRAILER_BYTES: usize = 8 + 8 + HASH_BYTES + TRAILER_MAGIC.len();

/// The number of an entry. Later entries have greater numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(pub u64);

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for EntryId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<EntryId, Self::Err> {
        text.parse().map(EntryId)
    }
}

/// Who made a change and what it is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The session it belongs to.
    pub session: String,
    /// The tool call it belongs to.
    pub call: String,
    /// The tool that proposed it.
    pub tool: String,
    /// One line for the user.
    pub summary: String,
}

/// Whether an entry stands for new work or takes other entries back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryRole {
    /// New work.
    Change,
    /// Takes changes back.
    Undo,
    /// Undoes an undo.
    Redo,
}

/// The first line of an entry: all that lists and searches need.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) time_ms: u64,
    pub(crate) label: Label,
    pub(crate) role: EntryRole,
    pub(crate) undoes: Vec<EntryId>,
    pub(crate) paths: Vec<RelPath>,
    /// Every temporary file that the work may need.
    pub(crate) temps: Vec<RelPath>,
}

/// One step of an applied set, with all that is needed to recognise how far it got and to take it
/// back. Paths go through no link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum JournalStep {
    /// A file or link appears, changes or disappears.
    Put {
        path: RelPath,
        before: Base,
        after: Base,
        /// Where the new content waits before the step and the old content after it.
        temp: RelPath,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<EntryImage>,
        /// What else a file that disappears had.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<KeptMetadata>,
    },
    /// Something gets another name and may replace a file or link.
    Move {
        from: RelPath,
        to: RelPath,
        what: Base,
        replaced: Base,
        /// Where the replaced file goes.
        temp: RelPath,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<EntryImage>,
    },
    /// A directory appears.
    MakeDir { path: RelPath, mode: Option<u32> },
    /// An empty directory disappears.
    RemoveDir { path: RelPath, mode: u32 },
}

#[derive(Serialize, Deserialize)]
struct Index {
    steps: Vec<JournalStep>,
}

impl Header {
    pub(crate) fn to_line(&self) -> Vec<u8> {
        // Plain data that always serialises, without raw line breaks.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    pub(crate) fn from_line(line: &[u8]) -> Option<Header> {
        serde_json::from_slice(line).ok()
    }
}

/// Index and trailer, to be written at `offset`.
pub(crate) fn seal(steps: &[JournalStep], offset: u64) -> Vec<u8> {
    #[derive(Serialize)]
    struct Index<'a> {
        steps: &'a [JournalStep],
    }
    let mut bytes = serde_json::to_vec(&Index { steps }).unwrap_or_default();
    let (len, hash) = (bytes.len() as u64, ContentHash::of(&bytes));
    bytes.extend_from_slice(&offset.to_le_bytes());
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(hash.as_bytes());
    bytes.extend_from_slice(TRAILER_MAGIC);
    bytes
}

/// The steps of a complete entry; none if it was never completed.
pub(crate) fn open_seal(file: &[u8]) -> Option<Vec<JournalStep>> {
    let (rest, trailer) = file.split_at_checked(file.len().checked_sub(TRAILER_BYTES)?)?;
    let (offset, trailer) = trailer.split_first_chunk()?;
    let (len, trailer) = trailer.split_first_chunk()?;
    let (hash, magic) = trailer.split_first_chunk::<HASH_BYTES>()?;
    let offset = usize::try_from(u64::from_le_bytes(*offset)).ok()?;
    let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
    let index = rest.get(offset..).filter(|index| index.len() == len)?;
    if magic != TRAILER_MAGIC || ContentHash::of(index).as_bytes() != hash {
        return None;
    }
    serde_json::from_slice::<Index>(index).ok().map(|index| index.steps)
}

/// An entry in memory.
pub(crate) struct Loaded {
    pub(crate) steps: Vec<JournalStep>,
    bytes: Vec<u8>,
    images_at: usize,
}

impl Loaded {
    /// None if the entry was never completed.
    pub(crate) fn new(bytes: Vec<u8>) -> Option<Loaded> {
        let steps = open_seal(&bytes)?;
        let images_at = memchr::memchr(b'\n', &bytes)? + 1;
        Some(Loaded { steps, bytes, images_at })
    }

    /// The stored bytes of an image.
    pub(crate) fn image(&self, image: &EntryImage) -> Option<&[u8]> {
        let start = usize::try_from(image.offset).ok()?.checked_add(self.images_at)?;
        let end = usize::try_from(image.stored).ok()?.checked_add(start)?;
        self.bytes.get(start..end)
    }
}

/// The temporary files that an unfinished entry may have left; none if it does not even say.
pub(crate) fn temps_of(bytes: &[u8]) -> Option<Vec<RelPath>> {
    let end = memchr::memchr(b'\n', bytes)?;
    Header::from_line(&bytes[..end]).map(|header| header.temps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_entry_is_recognised_at_every_length() {
        let path = RelPath::parse("a").unwrap();
        let steps = vec![JournalStep::MakeDir { path, mode: Some(0o755) }];
        let header = b"header\n";
        let whole = [&header[..], &seal(&steps, header.len() as u64)].concat();
        assert_eq!(open_seal(&whole), Some(steps));
        for cut in 0..whole.len() {
            assert_eq!(open_seal(&whole[..cut]), None);
        }
        for at in header.len()..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 1;
            assert_eq!(open_seal(&broken), None, "{at}");
        }
    }
}
