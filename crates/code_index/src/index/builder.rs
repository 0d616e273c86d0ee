//! Making an index.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::batch::IndexBatch;
use super::format::{ALWAYS, FOLDS, Footer, MAGIC};
use super::merge::Merge;
use super::path_order::path_order;
use super::run::{PostingRun, RunWriter, Spool};
use super::stamp::{Flags, IndexStamp};

/// Postings that all threads together hold before they set them aside. With what sorting them
/// takes this is less than 80 MB.
const POSTINGS_IN_MEMORY: usize = 6_000_000;
/// Bytes that are written at a time.
const BUFFER: usize = 1 << 20;

/// Makes an index of any size in bounded memory. Threads add files through batches of their own.
pub struct IndexBuilder<'s> {
    spool: &'s dyn Spool,
    runs: Mutex<Vec<PostingRun>>,
    postings_in_memory: usize,
    /// How many batches share that.
    batches: AtomicUsize,
}

#[derive(Debug, Clone, Copy)]
pub struct IndexedFile<'a> {
    /// Its path, as `RelPath::as_bytes` gives it.
    pub path: &'a [u8],
    /// What it looked like before it was read.
    pub stamp: IndexStamp,
    /// What was found in it.
    pub flags: Flags,
}

/// What an index holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of the index.
    pub bytes: u64,
    /// Different trigrams.
    pub trigrams: u64,
    /// Trigrams of all files together.
    pub postings: u64,
}

impl<'s> IndexBuilder<'s> {
    /// A builder that sets aside in `spool` what does not fit into memory.
    pub fn new(spool: &'s dyn Spool) -> Self {
        Self::with_room_for(POSTINGS_IN_MEMORY, spool)
    }

    /// A builder that sets its postings aside in smaller or larger portions.
    pub(super) fn with_room_for(postings_in_memory: usize, spool: &'s dyn Spool) -> Self {
        Self { spool, runs: Mutex::default(), postings_in_memory, batches: AtomicUsize::new(0) }
    }

    /// A thread's part.
    pub fn batch(&self) -> IndexBatch<'_> {
        self.batches.fetch_add(1, Ordering::Relaxed);
        IndexBatch::new(self)
    }

    pub(super) fn batch_is_gone(&self) {
        self.batches.fetch_sub(1, Ordering::Relaxed);
    }

    /// The postings that a batch may hold.
    pub(super) fn room_of_batch(&self) -> usize {
        self.postings_in_memory / self.batches.load(Ordering::Relaxed).max(1)
    }

    pub(super) fn add_run(&self, run: RunWriter) -> io::Result<()> {
        let run = run.finish(self.spool)?;
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).push(run);
        Ok(())
    }

    /// Writes the index, on `threads` threads, once all batches are finished. `files` are all
    /// files in path order; those that were added to batches were so by their places in it.
    pub fn finish(
        self,
        files: &[IndexedFile<'_>],
        metadata: &[u8],
        threads: usize,
        out: impl Write + Send,
    ) -> io::Result<Totals> {
        let count = u32::try_from(files.len()).map_err(|_| refused("there are too many files"))?;
        if !files.is_sorted_by(|a, b| path_order(a.path, b.path).is_lt()) {
            return Err(refused("the files are not in path order"));
        }
        let mut flagged = self.batch();
        for (file, indexed) in (0..count).zip(files) {
            let always = indexed.flags.is_always_candidate().then_some(ALWAYS);
            let folds = indexed.flags.contains(Flags::FOLDS).then_some(FOLDS);
            let lists: Vec<u32> = always.into_iter().chain(folds).collect();
            if !lists.is_empty() {
                flagged.add(file, &lists)?;
            }
        }
        flagged.finish()?;
        let mut runs = self.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        if runs.iter().any(|run| run.files.1 >= count) {
            return Err(refused("a file was added that is not in the list of files"));
        }
        // Runs of neighbouring files then only have to be put one after the other.
        runs.sort_unstable_by_key(|run| run.files);
        let mut out = io::BufWriter::with_capacity(BUFFER, out);
        out.write_all(MAGIC)?;
        let merged = Merge::new(self.spool, &runs, count).run(threads, &mut out)?;
        let paths = files.iter().map(|file| file.path.len() as u64).sum();
        if paths > u64::from(u32::MAX) {
            return Err(refused("the paths of the files are too long together"));
        }
        let footer = Footer {
            files: count,
            entries: merged.trigrams,
            postings: merged.list_bytes,
            paths,
            metadata: metadata.len() as u64,
        };
        out.write_all(&merged.entries)?;
        let mut end = Vec::new();
        push_files(files, &mut end);
        end.extend_from_slice(metadata);
        end.extend_from_slice(&merged.directory);
        footer.push_to(&mut end);
        out.write_all(&end)?;
        out.flush()?;
        Ok(Totals {
            bytes: footer.index_bytes(),
            trigrams: u64::from(merged.trigrams),
            postings: merged.postings,
        })
    }
}

fn push_files(files: &[IndexedFile<'_>], out: &mut Vec<u8>) {
    files.iter().for_each(|file| out.extend_from_slice(file.path));
    let mut end = 0;
    for file in files {
        end += file.path.len() as u32;
        out.extend(end.to_le_bytes());
    }
    files.iter().for_each(|file| out.extend(file.stamp.to_bytes()));
    out.extend(files.iter().map(|file| file.flags.bits()));
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
