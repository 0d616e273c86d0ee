//! A finished index, read in place.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::format::{
    BUCKETS, Bucket, DictionaryEntry, Footer, SegmentError, SegmentParts, bucket_of, checksum,
};
use super::path_order::{is_beneath, path_order};
use super::postings::{ListKind, PostingList};
use super::stamp::{Flags, IndexStamp};

/// An index in bytes, for instance of a mapped file.
///
/// Opening it checks what it says of its files. The dictionary and the lists are checked as far as
/// they are used; where they are damaged, all files are candidates.
pub struct Segment<O> {
    owner: O,
    parts: SegmentParts,
    /// One bit per bucket of the dictionary whose checksum was found right.
    sound: [AtomicU64; BUCKETS / 64],
}

/// An index is malformed.
pub(super) struct Malformed;

/// A list of files that has been found but not read.
#[derive(Clone, Copy)]
pub(super) enum List<'a> {
    Single(u32),
    Many(PostingList<'a>),
}

impl List<'_> {
    /// How many files are on it.
    pub(super) fn length(&self) -> u32 {
        match *self {
            List::Single(_) => 1,
            List::Many(list) => list.length(),
        }
    }
}

impl<O: AsRef<[u8]>> Segment<O> {
    /// Opens an index.
    pub fn open(owner: O) -> Result<Self, SegmentError> {
        let parts = Footer::read(owner.as_ref())?;
        Ok(Self { owner, parts, sound: [const { AtomicU64::new(0) }; BUCKETS / 64] })
    }

    /// How many files it has.
    pub fn len(&self) -> usize {
        self.parts.files as usize
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.parts.files == 0
    }

    pub(super) fn files(&self) -> u32 {
        self.parts.files
    }

    /// What the one who made it had to say.
    pub fn metadata(&self) -> &[u8] {
        self.part(&self.parts.metadata)
    }

    /// The bytes of the whole index.
    pub fn bytes(&self) -> usize {
        self.owner.as_ref().len()
    }

    /// The path of a file. It is to be checked before use like any text from outside.
    pub fn path(&self, file: u32) -> Option<&[u8]> {
        let end = self.path_end(file)?;
        let start = match file.checked_sub(1) {
            Some(before) => self.path_end(before)?,
            None => 0,
        };
        self.part(&self.parts.paths).get(start..end)
    }

    fn path_end(&self, file: u32) -> Option<usize> {
        let (ends, _) = self.part(&self.parts.path_ends).as_chunks();
        ends.get(file as usize).map(|&end| u32::from_le_bytes(end) as usize)
    }

    /// What a file looked like when it was indexed.
    pub fn stamp(&self, file: u32) -> Option<IndexStamp> {
        let (stamps, _) = self.part(&self.parts.stamps).as_chunks();
        stamps.get(file as usize).map(IndexStamp::from_bytes)
    }

    /// What was found in a file.
    pub fn flags(&self, file: u32) -> Option<Flags> {
        self.part(&self.parts.flags).get(file as usize).copied().map(Flags::from_bits)
    }

    /// The file at `path`.
    pub fn find(&self, path: &[u8]) -> Option<u32> {
        let file = self.first_not(|other| path_order(other, path).is_lt());
        (self.path(file)? == path).then_some(file)
    }

    /// The files at or beneath `dir`.
    pub fn beneath(&self, dir: &[u8]) -> Range<u32> {
        let start = self.first_not(|path| path_order(path, dir).is_lt());
        let end = self.first_not(|path| path_order(path, dir).is_lt() || is_beneath(path, dir));
        start..end.max(start)
    }

    /// The first file whose path is not `before`, where all before it are.
    fn first_not(&self, before: impl Fn(&[u8]) -> bool) -> u32 {
        let (mut low, mut high) = (0, self.parts.files);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(self.path(middle).unwrap_or_default()) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The list of a trigram, if any file has it.
    pub(super) fn list(&self, trigram: u32) -> Result<Option<List<'_>>, Malformed> {
        let (lists_at, entries) = self.bucket(bucket_of(trigram)).ok_or(Malformed)?;
        let half = DictionaryEntry::half_of(trigram);
        let half_at = |entry: &[u8; DictionaryEntry::BYTES]| {
            DictionaryEntry::from_bytes(entry).map(|entry| entry.half)
        };
        let at = entries.partition_point(|entry| half_at(entry) < Some(half));
        let Some(entry) = entries.get(at) else { return Ok(None) };
        let entry = DictionaryEntry::from_bytes(entry).ok_or(Malformed)?;
        if entry.half != half {
            return Ok(None);
        }
        if entry.kind == ListKind::Single {
            return Ok(Some(List::Single(entry.place)));
        }
        let postings = &self.owner.as_ref()[..self.parts.postings.end];
        let bytes = usize::try_from(lists_at)
            .ok()
            .and_then(|at| at.checked_add(entry.place as usize))
            .and_then(|at| postings.get(at..))
            .ok_or(Malformed)?;
        let list = PostingList::at(bytes, entry.kind, self.parts.files).ok_or(Malformed)?;
        Ok(Some(List::Many(list)))
    }

    /// Where the lists of a bucket begin, and its entries.
    fn bucket(&self, bucket: usize) -> Option<(u64, &[[u8; DictionaryEntry::BYTES]])> {
        let (directory, _) = self.part(&self.parts.directory).as_chunks();
        let this = Bucket::from_bytes(directory.get(bucket)?);
        let (all, _) = self.part(&self.parts.entries).as_chunks();
        let end = match directory.get(bucket + 1) {
            Some(next) => Bucket::from_bytes(next).first_entry as usize,
            None => all.len(),
        };
        let entries = all.get(this.first_entry as usize..end)?;
        let (word, bit) = (&self.sound[bucket / 64], 1 << (bucket % 64));
        if word.load(Ordering::Relaxed) & bit == 0 {
            if checksum(entries.as_flattened()) != this.checksum {
                return None;
            }
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Some((this.lists_at, entries))
    }

    fn part(&self, range: &Range<usize>) -> &[u8] {
        self.owner.as_ref().get(range.clone()).unwrap_or_default()
    }
}
