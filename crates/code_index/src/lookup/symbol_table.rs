//! All definitions of a project, by name, in a form that is read where it lies.
//!
//! The table is written once by a pass over all files and then only read, as bytes that may come
//! from a memory map. It is never believed: its bytes are checked as they are read, so that a damaged
//! table gives fewer answers and no panic, and an answer is given only after a look at the file.
//!
//! Names are kept in blocks and not in an automaton of the `fst` crate. On 1.58 million names, made by
//! joining identifiers of published crates, that one was 3 % larger (23.8 MB instead of 23.1), took
//! 2.0 s to build instead of 0.3 s, and 380 ms to go through instead of 45 ms, which every question
//! for a name that does not exist does (the best of six runs of a program outside of this repository).
//! It looked a name up in 1.2 µs instead of 2.5 µs, where "find_definition after the pass" of
//! `cargo xtask bench search` allows 2 ms.
//!
//! ```text
//! names       blocks of 16: what is shared with the name before, the rest of it, its places
//! blocks      where each block begins
//! files       size, time and inode of each, and where its path ends
//! paths       one after the other
//! containers  where each ends, and then one after the other
//! footer      where the parts end, and what this is
//! ```

mod building;
mod bytes;
mod known_places;
mod runs;

use std::time::{Duration, SystemTime};

pub use building::TableReport;
pub(crate) use building::{TableOptions, write_symbol_table};
use bytes::{TableReader, number_at};
pub(crate) use known_places::KnownPlaces;
use workspace::{EntryMeta, RelPath};

use crate::symbols::SymbolKind;

/// Names in a block: few enough to be read through, many enough to share their beginnings.
const NAMES_PER_BLOCK: usize = 16;
/// What the file ends with: the kind of file and the version of its form.
const MAGIC: [u8; 8] = *b"TKsyms\x00\x04";
/// Numbers in the footer, eight bytes each.
const FOOTER_NUMBERS: usize = 6;
const FOOTER_BYTES: usize = FOOTER_NUMBERS * 8 + MAGIC.len();
/// Bytes of a file's size, time and inode, and of the end of its path.
const FILE_BYTES: usize = 32;

/// The stamp that equals that of no file.
const NO_STAMP: FileStamp = FileStamp { size: u64::MAX, modified: u64::MAX, ino: u64::MAX };

/// A file system may keep times no finer than this.
const COARSEST_CLOCK: Duration = Duration::from_secs(2);

/// Shows whether a file is still the one that was parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    /// Size in bytes.
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: u64,
    /// The inode number.
    pub(crate) ino: u64,
}

impl FileStamp {
    /// The stamp of a file as it is. One that was changed a moment ago could change again without
    /// looking different, so that it gets a stamp that no file has.
    pub(crate) fn of(meta: &EntryMeta) -> FileStamp {
        if SystemTime::now().duration_since(meta.modified).is_ok_and(|age| age < COARSEST_CLOCK) {
            return NO_STAMP;
        }
        let since = meta.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let modified = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        FileStamp { size: meta.size, modified, ino: meta.ino }
    }
}

/// A place in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableEntry {
    pub(crate) file: u32,
    /// The line of the name, from 1.
    pub(crate) line: u32,
    /// The column of the name in bytes, from 1.
    pub(crate) column: u32,
    /// What it is.
    pub(crate) kind: SymbolKind,
    /// What it stands in.
    pub(crate) container: Option<String>,
}

/// A table that is open.
#[derive(Debug)]
pub(crate) struct SymbolTable<B> {
    bytes: B,
    ends: PartEnds,
}

/// Where the parts end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PartEnds {
    names_end: usize,
    blocks_end: usize,
    files_end: usize,
    paths_end: usize,
    container_ends_end: usize,
    containers_end: usize,
}

impl<B: AsRef<[u8]>> SymbolTable<B> {
    /// Opens a table. None if the bytes are none, or not whole.
    pub(crate) fn open(bytes: B) -> Option<SymbolTable<B>> {
        let all = bytes.as_ref();
        let footer = all.len().checked_sub(FOOTER_BYTES)?;
        if all[footer + FOOTER_NUMBERS * 8..] != MAGIC {
            return None;
        }
        let number = |index: usize| usize::try_from(number_at(all, footer + index * 8)?).ok();
        let ends = PartEnds {
            names_end: number(0)?,
            blocks_end: number(1)?,
            files_end: number(2)?,
            paths_end: number(3)?,
            container_ends_end: number(4)?,
            containers_end: number(5)?,
        };
        let in_order = [
            0,
            ends.names_end,
            ends.blocks_end,
            ends.files_end,
            ends.paths_end,
            ends.container_ends_end,
            ends.containers_end,
        ];
        if !in_order.is_sorted() || ends.containers_end != footer {
            return None;
        }
        let whole = (ends.blocks_end - ends.names_end).is_multiple_of(8)
            && (ends.files_end - ends.blocks_end).is_multiple_of(FILE_BYTES)
            && (ends.container_ends_end - ends.paths_end).is_multiple_of(8);
        whole.then_some(SymbolTable { bytes, ends })
    }

    /// How many files it covers.
    pub(crate) fn files(&self) -> usize {
        (self.ends.files_end - self.ends.blocks_end) / FILE_BYTES
    }

    /// The path and the stamp of a file, by its number.
    pub(crate) fn file(&self, number: u32) -> Option<(RelPath, FileStamp)> {
        let index = number as usize;
        if index >= self.files() {
            return None;
        }
        let at = self.ends.blocks_end + index * FILE_BYTES;
        let value = |slot: usize| number_at(self.all(), at + slot * 8);
        let stamp = FileStamp { size: value(0)?, modified: value(1)?, ino: value(2)? };
        let end = usize::try_from(value(3)?).ok()?;
        let start = match index {
            0 => 0,
            _ => usize::try_from(number_at(self.all(), at - 8)?).ok()?,
        };
        let paths = self.all().get(self.ends.files_end..self.ends.paths_end)?;
        let path = RelPath::parse(&workspace::bytes_to_text(paths.get(start..end)?)).ok()?;
        Some((path, stamp))
    }

    /// The places that define `name`, by file and line.
    pub(crate) fn lookup(&self, name: &str) -> Vec<TableEntry> {
        let mut found = Vec::new();
        let blocks = (self.ends.blocks_end - self.ends.names_end) / 8;
        // The last block whose first name is not after the one sought.
        let (mut low, mut high) = (0, blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            let first = self.block(middle).and_then(|mut block| block.next_name(&mut Vec::new()));
            match first {
                Some((first, _)) if first.as_slice() <= name.as_bytes() => low = middle + 1,
                _ => high = middle,
            }
        }
        let Some(mut block) = low.checked_sub(1).and_then(|index| self.block(index)) else {
            return found;
        };
        let mut before = Vec::new();
        for _ in 0..NAMES_PER_BLOCK {
            let Some((current, places)) = block.next_name(&mut before) else { break };
            if current == name.as_bytes() {
                self.read_places(places, &mut found);
                break;
            }
        }
        found
    }

    /// Calls `look` with every name and its first place, in order, until it says no.
    pub(crate) fn each_name(&self, mut look: impl FnMut(&[u8], &TableEntry) -> bool) {
        let Some(names) = self.all().get(..self.ends.names_end) else { return };
        let mut reader = TableReader::new(names);
        let mut before = Vec::new();
        let mut place = Vec::new();
        while let Some((name, places)) = reader.next_name(&mut before) {
            place.clear();
            self.read_places(places, &mut place);
            if place.first().is_some_and(|first| !look(&name, first)) {
                return;
            }
        }
    }

    /// Calls `look` with every name that has a place of a wanted kind, in order, until it says no.
    pub(crate) fn names(
        &self,
        is_wanted: impl Fn(SymbolKind) -> bool,
        mut look: impl FnMut(&[u8]) -> bool,
    ) {
        let Some(names) = self.all().get(..self.ends.names_end) else { return };
        let mut reader = TableReader::new(names);
        let mut before = Vec::new();
        while let Some((name, places)) = reader.next_name(&mut before) {
            let mut places = TableReader::new(places);
            let mut file = 0;
            let kinds = std::iter::from_fn(|| places.next_place(&mut file)).map(|place| place.kind);
            let mut kinds = kinds.filter_map(|kind| SymbolKind::ALL.get(usize::from(kind)));
            if kinds.any(|kind| is_wanted(*kind)) && !look(&name) {
                return;
            }
        }
    }

    fn all(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    fn block(&self, index: usize) -> Option<TableReader<'_>> {
        let at = self.ends.names_end + index * 8;
        let start = usize::try_from(number_at(self.all(), at)?).ok()?;
        Some(TableReader::new(self.all().get(start..self.ends.names_end)?))
    }

    fn read_places(&self, places: &[u8], found: &mut Vec<TableEntry>) {
        let mut reader = TableReader::new(places);
        let mut file = 0u32;
        while let Some(place) = reader.next_place(&mut file) {
            let Some(&kind) = SymbolKind::ALL.get(usize::from(place.kind)) else { return };
            let container = place.container.checked_sub(1).and_then(|id| self.container(id));
            found.push(TableEntry {
                file: place.file,
                line: place.line,
                column: place.column,
                kind,
                container,
            });
        }
    }

    fn container(&self, id: u32) -> Option<String> {
        let ends = self.all().get(self.ends.paths_end..self.ends.container_ends_end)?;
        let end_of = |index: usize| usize::try_from(number_at(ends, index * 8)?).ok();
        let index = id as usize;
        let start = if index == 0 { 0 } else { end_of(index - 1)? };
        let text = self.all().get(self.ends.container_ends_end..self.ends.containers_end)?;
        Some(String::from_utf8_lossy(text.get(start..end_of(index)?)?).into_owned())
    }
}

#[cfg(test)]
mod tests;
