//! Sorted postings of some files on their way into an index, outside of memory.

use std::io;
use std::ops::Range;

use super::format::{BUCKETS, bucket_of, first_of};
use super::varint;

/// Room outside of memory for what is sorted. Threads use it at the same time.
pub trait Spool: Sync {
    /// Appends `bytes` and says where they begin.
    fn append(&self, bytes: &[u8]) -> io::Result<u64>;

    /// Fills `buffer` with what was appended at `offset`.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// Where a run of sorted postings lies.
///
/// For each trigram in order it has the distance to the one before it in the same bucket, the
/// number of files less one, the first file and the gaps to the others less one, all as varints.
pub(super) struct PostingRun {
    at: u64,
    /// Where each bucket begins, and where the last one ends.
    starts: Vec<u32>,
    /// The smallest and the largest file in it.
    pub(super) files: (u32, u32),
}

impl PostingRun {
    /// The bytes of some buckets.
    pub(super) fn length(&self, buckets: &Range<usize>) -> usize {
        (self.starts[buckets.end] - self.starts[buckets.start]) as usize
    }

    /// Reads some buckets.
    pub(super) fn read(&self, spool: &dyn Spool, buckets: Range<usize>) -> io::Result<Cursor> {
        let mut bytes = vec![0; self.length(&buckets)];
        if !bytes.is_empty() {
            spool.read_at(self.at + u64::from(self.starts[buckets.start]), &mut bytes)?;
        }
        let base = self.starts[buckets.start];
        let starts = &self.starts[buckets.start..=buckets.end];
        let ends: Vec<usize> = starts.iter().map(|start| (start - base) as usize).collect();
        Ok(Cursor { bytes, at: 0, ends, bucket: buckets.start, passed: 0, trigram: 0 })
    }
}

/// Writes a run.
pub(super) struct RunWriter {
    bytes: Vec<u8>,
    starts: Vec<u32>,
    last: u32,
    files: (u32, u32),
}

impl RunWriter {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            starts: Vec::with_capacity(BUCKETS + 1),
            last: 0,
            files: (u32::MAX, 0),
        }
    }

    /// Adds the files of the next trigram, in order and at least one.
    pub(super) fn push(&mut self, trigram: u32, files: impl ExactSizeIterator<Item = u32>) {
        let bucket = bucket_of(trigram);
        if self.starts.len() <= bucket {
            self.starts.resize(bucket + 1, self.bytes.len() as u32);
            self.last = first_of(bucket);
        }
        varint::push(&mut self.bytes, trigram - self.last);
        self.last = trigram;
        varint::push(&mut self.bytes, files.len() as u32 - 1);
        let mut next = 0;
        for (at, file) in files.enumerate() {
            varint::push(&mut self.bytes, file - next);
            next = file + 1;
            if at == 0 {
                self.files.0 = self.files.0.min(file);
            }
        }
        self.files.1 = self.files.1.max(next.saturating_sub(1));
    }

    pub(super) fn finish(mut self, spool: &dyn Spool) -> io::Result<PostingRun> {
        self.starts.resize(BUCKETS + 1, self.bytes.len() as u32);
        let at = spool.append(&self.bytes)?;
        Ok(PostingRun { at, starts: self.starts, files: self.files })
    }
}

/// Goes through some buckets of a run.
pub(super) struct Cursor {
    bytes: Vec<u8>,
    at: usize,
    /// Where the first bucket begins and each one ends.
    ends: Vec<usize>,
    bucket: usize,
    /// How many buckets are behind.
    passed: usize,
    trigram: u32,
}

impl Cursor {
    /// Goes to the next trigram; none at the end.
    pub(super) fn next_trigram(&mut self) -> io::Result<Option<u32>> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        while self.at >= self.ends[self.passed] {
            self.trigram = first_of(self.bucket + self.passed);
            self.passed += 1;
        }
        let gap = self.number()?;
        self.trigram = self.trigram.checked_add(gap).ok_or_else(torn)?;
        Ok(Some(self.trigram))
    }

    /// Appends the files of the present trigram.
    pub(super) fn files(&mut self, into: &mut Vec<u32>) -> io::Result<()> {
        let others = self.number()?;
        let mut rest = &self.bytes[self.at..];
        let mut next = 0u32;
        for _ in 0..=others {
            let gap = varint::take(&mut rest).ok_or_else(torn)?;
            let file = next.checked_add(gap).ok_or_else(torn)?;
            into.push(file);
            next = file.checked_add(1).ok_or_else(torn)?;
        }
        self.at = self.bytes.len() - rest.len();
        Ok(())
    }

    fn number(&mut self) -> io::Result<u32> {
        let mut rest = &self.bytes[self.at..];
        let number = varint::take(&mut rest).ok_or_else(torn)?;
        self.at = self.bytes.len() - rest.len();
        Ok(number)
    }
}

fn torn() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "a temporary file of the index was changed while indexing",
    )
}
