//! The entries of one directory, read through its descriptor without an allocation per entry. "Without an
//! index, of ripgrep's time" of `cargo xtask bench search` walks through it.

use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, RawDir, statat};
use rustix::io::{Errno, Result};

use crate::EntryKind;

/// Large enough that most directories need one call for their entries and one to see the end.
const BUFFER_BYTES: usize = 64 * 1024;

/// Names and kinds of entries, packed. Filling it again reuses the memory.
#[derive(Default)]
pub(crate) struct EntryNames {
    names: Vec<u8>,
    slots: Vec<Slot>,
    buffer: Vec<u8>,
}

/// Where a name lies in the packed bytes. The byte after `end` is NUL.
struct Slot {
    start: usize,
    end: usize,
    kind: EntryKind,
}

/// One entry of a directory.
#[derive(Clone, Copy)]
pub(crate) struct NamedEntry<'a> {
    with_nul: &'a [u8],
    pub(crate) kind: EntryKind,
}

impl<'a> NamedEntry<'a> {
    pub(crate) fn name(&self) -> &'a [u8] {
        &self.with_nul[..self.with_nul.len() - 1]
    }

    /// The name for system calls.
    pub(crate) fn c_name(&self) -> Result<&'a CStr> {
        CStr::from_bytes_with_nul(self.with_nul).map_err(|_| Errno::INVAL)
    }
}

impl EntryNames {
    /// Replaces the contents by the entries of `dir`, without `.` and `..`, in the order of the
    /// file system. Stops after `limit` entries and returns whether the directory was complete.
    pub(crate) fn read(&mut self, dir: BorrowedFd<'_>, limit: usize) -> Result<bool> {
        self.clear();
        self.buffer.reserve(BUFFER_BYTES);
        let mut entries = RawDir::new(dir, self.buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                // The directory was removed while it was open.
                Err(Errno::NOENT) => break,
                Err(errno) => return Err(errno),
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if self.slots.len() == limit {
                return Ok(false);
            }
            if let Some(kind) = kind_of(dir, name, entry.file_type()) {
                let start = self.names.len();
                self.names.extend_from_slice(name.to_bytes_with_nul());
                self.slots.push(Slot { start, end: self.names.len() - 1, kind });
            }
        }
        Ok(true)
    }

    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.slots.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn push(&mut self, entry: NamedEntry<'_>) {
        let start = self.names.len();
        self.names.extend_from_slice(entry.with_nul);
        self.slots.push(Slot { start, end: self.names.len() - 1, kind: entry.kind });
    }

    pub(crate) fn get(&self, index: usize) -> NamedEntry<'_> {
        let slot = &self.slots[index];
        NamedEntry { with_nul: &self.names[slot.start..=slot.end], kind: slot.kind }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = NamedEntry<'_>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// A copy of some of the entries, to hand to another thread.
    pub(crate) fn copy_range(&self, range: Range<usize>) -> EntryNames {
        let mut copy = EntryNames::default();
        range.for_each(|index| copy.push(self.get(index)));
        copy
    }

    /// Orders the entries by name.
    pub(crate) fn sort(&mut self) {
        let names = &self.names;
        self.slots.sort_unstable_by_key(|slot| &names[slot.start..slot.end]);
    }
}

/// The kind of an entry; asks the system only if the listing does not say. None if the entry has
/// vanished since.
fn kind_of(dir: BorrowedFd<'_>, name: &CStr, listed: FileType) -> Option<EntryKind> {
    EntryKind::from_file_type(listed).or_else(|| {
        let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        EntryKind::from_file_type(FileType::from_raw_mode(stat.st_mode))
    })
}
