//! Building the index of a project as it is.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use workspace::{Error, RelPath, StateDir, Watcher, Workspace, available_threads, lower_priority};

use super::files::Base;
use super::scan::{scan, stamp};
use super::status::IndexProgress;
use super::{FILE, IndexShared, Phase};
use crate::index::{
    Extractor, Flags, IndexBuilder, IndexStamp, IndexedFile, SearchableContent, Segment, Spool,
};

/// Files that a thread takes at once. Neighbours have much in common, which makes merging quick.
const PIECE: usize = 512;

/// What was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Built {
    /// Files in the index.
    pub files: u64,
    pub text_bytes: u64,
    /// Its own size.
    pub bytes: u64,
}

/// What an index says of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct About {
    max_depth: usize,
    max_file_bytes: u64,
    pub(super) text_bytes: u64,
    /// When it was built, in seconds since 1970.
    pub(super) built: u64,
}

impl About {
    pub(super) fn of(base: &Base) -> Option<About> {
        serde_json::from_slice(base.metadata()).ok()
    }
}

impl IndexShared {
    /// The index on the disk, if there is one of the right kind. One that is damaged counts as
    /// none.
    pub(super) fn find_base(&self) -> Result<Option<Base>, Error> {
        let cache = StateDir::existing(&self.workspace, &self.cache)?;
        let Some(cache) = cache else { return Ok(None) };
        let base = cache.map(FILE)?.and_then(|bytes| Segment::open(bytes).ok());
        Ok(base.filter(|base| {
            About::of(base).is_some_and(|about| {
                (about.max_depth, about.max_file_bytes)
                    == (self.options.max_depth, self.options.max_file_bytes)
            })
        }))
    }

    /// Builds the index anew and begins to use it.
    pub(super) fn build(&self, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Built, Error> {
        let cache = StateDir::open(&self.workspace, &self.cache)?;
        let mut state = self.state();
        if self.options.stays && state.watcher.is_none() {
            state.watcher = Watcher::new(&self.workspace).ok().map(Arc::new);
        }
        state.changed_meanwhile = Some(BTreeSet::new());
        let (watcher, losses) = (state.watcher.clone(), state.losses);
        let stopped = state.jobs.stop_sign();
        drop(state);
        let cancel = || stopped.load(Ordering::Relaxed);
        let scanned = scan(&self.workspace, watcher.as_deref(), &self.walk_options(), &cancel)?;
        let paths: Vec<RelPath> = scanned.files.into_iter().map(|(path, _)| path).collect();
        let spool = Scratch::new(cache.scratch()?);
        let builder = IndexBuilder::new(&spool);
        let told = |done, total| {
            self.state().progress = Some(IndexProgress { done, total });
            progress(done, total);
        };
        let reading = IndexReader {
            workspace: &self.workspace,
            paths: &paths,
            max_file_bytes: self.options.max_file_bytes,
            background: self.options.stays,
            stopped: &stopped,
            told: &told,
            next: AtomicUsize::new(0),
            done: AtomicU64::new(0),
            text_bytes: AtomicU64::new(0),
            facts: Mutex::new(vec![(IndexStamp::UNSETTLED, Flags::OPAQUE); paths.len()]),
        };
        let failed = |error| Error::Io { path: self.cache.display().to_string(), source: error };
        reading.run(&builder).map_err(failed)?;
        if cancel() {
            return Err(Error::Cancelled { path: RelPath::root().to_text() });
        }
        let text_bytes = reading.text_bytes.into_inner();
        let facts = reading.facts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let files: Vec<IndexedFile<'_>> = (paths.iter().zip(&facts))
            .map(|(path, (stamp, flags))| IndexedFile {
                path: path.as_bytes(),
                stamp: *stamp,
                flags: *flags,
            })
            .collect();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let about = About {
            max_depth: self.options.max_depth,
            max_file_bytes: self.options.max_file_bytes,
            text_bytes,
            built: since.as_secs(),
        };
        let about = serde_json::to_vec(&about).map_err(|error| failed(error.into()))?;
        let mut draft = cache.draft(FILE)?;
        let totals = builder.finish(&files, &about, available_threads(), &mut draft);
        let totals = totals.map_err(failed)?;
        draft.publish()?;
        let base = self.find_base()?.ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))?;
        let mut state = self.state();
        let changed = state.changed_meanwhile.take().unwrap_or_default();
        state.files.rebase(Arc::new(base));
        state.phase = Phase::Ready;
        state.progress = None;
        for path in changed {
            // What it is now is found out in the same way as when it changed.
            state.pending.insert(path, true);
        }
        state.looked_at(scanned.report, scanned.watched, losses);
        Ok(Built { files: files.len() as u64, text_bytes, bytes: totals.bytes })
    }
}

/// Reading all files on several threads.
struct IndexReader<'a> {
    workspace: &'a Workspace,
    paths: &'a [RelPath],
    max_file_bytes: u64,
    background: bool,
    stopped: &'a AtomicBool,
    told: &'a (dyn Fn(u64, u64) + Sync),
    next: AtomicUsize,
    done: AtomicU64,
    text_bytes: AtomicU64,
    facts: Mutex<Vec<(IndexStamp, Flags)>>,
}

impl IndexReader<'_> {
    fn run(&self, builder: &IndexBuilder<'_>) -> io::Result<()> {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..available_threads())
                .map(|_| {
                    scope.spawn(|| {
                        if self.background {
                            lower_priority();
                        }
                        self.read_share(builder)
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    fn read_share(&self, builder: &IndexBuilder<'_>) -> io::Result<()> {
        let mut batch = builder.batch();
        let mut extractor = Extractor::new();
        let mut text = Vec::new();
        let mut facts = Vec::with_capacity(PIECE);
        while !self.stopped.load(Ordering::Relaxed) {
            let start = self.next.fetch_add(PIECE, Ordering::Relaxed);
            let end = self.paths.len().min(start + PIECE);
            let Some(piece) = self.paths.get(start..end).filter(|piece| !piece.is_empty()) else {
                break;
            };
            facts.clear();
            for (place, path) in (start..).zip(piece) {
                let (stamp, is_text) = self.read(path, &mut text);
                if !is_text {
                    facts.push((stamp, Flags::OPAQUE));
                    continue;
                }
                let content = extractor.read(&text);
                facts.push((stamp, content.flags()));
                if let SearchableContent::Text { trigrams, .. } = content {
                    self.text_bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
                    let place = u32::try_from(place).map_err(io::Error::other)?;
                    batch.add(place, trigrams)?;
                }
            }
            let mut all = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
            all[start..end].copy_from_slice(&facts);
            drop(all);
            let done = self.done.fetch_add(piece.len() as u64, Ordering::Relaxed);
            (self.told)(done + piece.len() as u64, self.paths.len() as u64);
        }
        batch.finish()
    }

    /// Reads a file into `text` and says what it looked like before, and whether its text is to be
    /// indexed. It is not if the file is too large, cannot be read, or has other names under which
    /// it can change without an event.
    fn read(&self, path: &RelPath, text: &mut Vec<u8>) -> (IndexStamp, bool) {
        let now = SystemTime::now();
        let Ok(file) = self.workspace.open_listed(path) else {
            return (IndexStamp::UNSETTLED, false);
        };
        let stamp = stamp(&file.meta, now);
        if file.meta.size > self.max_file_bytes || file.meta.nlink > 1 {
            return (stamp, false);
        }
        text.clear();
        let read = (&file.file).take(self.max_file_bytes.saturating_add(1)).read_to_end(text);
        (stamp, read.is_ok() && text.len() as u64 <= self.max_file_bytes)
    }
}

/// A file without a name for what does not fit into memory.
struct Scratch {
    file: File,
    end: AtomicU64,
}

impl Scratch {
    fn new(file: File) -> Scratch {
        Scratch { file, end: AtomicU64::new(0) }
    }
}

impl Spool for Scratch {
    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.file.write_all_at(bytes, at)?;
        Ok(at)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}
