//! Bringing what is known of the files up to date.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

use workspace::{
    EntryKind, Error, Events, Flow, RelPath, Visitor, WalkEntry, WalkOptions, WalkReport, Watcher,
};

use super::files::{Digest, LiveFiles};
use super::jobs::IndexJob;
use super::scan::{scan, stamp};
use super::{IndexShared, IndexState, Phase};
use crate::index::{Extractor, IndexStamp, SearchableContent, Trigrams};

/// More changes than this at once are left to a look at every file, in the background.
const MANY: usize = 500;

/// Changed files that may be read at each question before they are worth reading once for all.
const DIGEST_FROM: usize = 32;

/// Changed files from which on a new index pays, and their share of all files.
const REBUILD_FROM: usize = 1000;
const REBUILD_SHARE: usize = 20;

impl IndexShared {
    /// Finds the index. In a process that stays, it is brought up to date at once.
    pub(super) fn open(&self) -> Result<(), Error> {
        let base = self.find_base()?;
        let mut state = self.state();
        let Some(base) = base else {
            state.phase = Phase::Absent;
            return Ok(());
        };
        state.files = LiveFiles::of(Arc::new(base));
        state.phase = Phase::Ready;
        state.complete = false;
        if self.options.stays {
            state.watcher = Watcher::new(&self.workspace).ok().map(Arc::new);
            drop(state);
            return self.look();
        }
        Ok(())
    }

    /// Looks at every file and corrects what is known.
    pub(super) fn look(&self) -> Result<(), Error> {
        let mut state = self.state();
        state.changed_meanwhile = Some(BTreeSet::new());
        let (watcher, losses) = (state.watcher.clone(), state.losses);
        let stopped = state.jobs.stop_sign();
        drop(state);
        let cancel = || stopped.load(Ordering::Relaxed);
        let scanned = scan(&self.workspace, watcher.as_deref(), &self.walk_options(), &cancel)?;
        let mut state = self.state();
        let changed = state.changed_meanwhile.take().unwrap_or_default();
        state.files.replace_beneath(&RelPath::root(), scanned.files, &changed);
        state.looked_at(scanned.report, scanned.watched, losses);
        Ok(())
    }

    /// Applies what the events tell. Nothing happens without a watcher.
    pub(super) fn refresh(self: &Arc<Self>, state: &mut IndexState) {
        let Some(watcher) = state.watcher.clone() else { return };
        let Events { mut touched, rules, lost } = watcher.drain();
        touched.append(&mut state.pending);
        if lost || !rules.is_empty() || touched.len() > MANY {
            return self.lose(state);
        }
        if let Some(meanwhile) = &mut state.changed_meanwhile {
            meanwhile.extend(touched.keys().cloned());
        }
        if self.apply(state, &watcher, touched).is_none() {
            self.lose(state);
        }
    }

    /// What is known no longer holds; until every file has been looked at, searches walk.
    fn lose(self: &Arc<Self>, state: &mut IndexState) {
        state.complete = false;
        state.losses += 1;
        self.want(state, IndexJob::Look);
    }

    /// Looks again at what was touched; none if there is too much of it.
    fn apply(
        &self,
        state: &mut IndexState,
        watcher: &Watcher,
        touched: BTreeMap<RelPath, bool>,
    ) -> Option<()> {
        // A renamed directory keeps its watch, so that its old name has to go before the new one
        // is taken in.
        let dirs = touched.iter().filter(|(_, is_dir)| **is_dir);
        dirs.for_each(|(path, _)| watcher.forget(path));
        let now = SystemTime::now();
        let mut by_dir: BTreeMap<RelPath, BTreeMap<RelPath, bool>> = BTreeMap::new();
        for (path, is_dir) in touched {
            // Whether a file counts does not change with its content, but with the rules, after
            // which nothing is complete until every file was looked at.
            if !is_dir
                && state.complete
                && state.files.knows(&path)
                && let Ok(meta) = self.workspace.metadata(&path)
                && meta.kind == EntryKind::File
            {
                state.files.written(path, stamp(&meta, now));
            } else if let Some(dir) = path.parent() {
                by_dir.entry(dir).or_default().insert(path, is_dir);
            }
        }
        for (dir, touched) in by_dir {
            // Since it began to be watched, a directory may have become one to leave alone.
            let present = if self.workspace.walk_enters(&dir, &self.walk_options()) {
                self.entries(&dir, &touched)
            } else {
                watcher.forget(&dir);
                SeenFiles::new()
            };
            for path in touched.into_keys() {
                state.files.gone(&path);
                match present.get(&path) {
                    Some((EntryKind::File, stamp)) => state.files.written(path, *stamp),
                    Some((EntryKind::Directory, _)) => self.enter(state, watcher, path)?,
                    _ => {}
                }
            }
        }
        Some(())
    }

    /// Which of the touched entries of a directory are there and count.
    fn entries(&self, dir: &RelPath, touched: &BTreeMap<RelPath, bool>) -> SeenFiles {
        let options =
            WalkOptions { start: dir.clone(), max_depth: 1, threads: 1, ..self.walk_options() };
        let now = SystemTime::now();
        let visitor = || TouchedVisitor { touched, now, found: SeenFiles::new() };
        // A directory that cannot be read has no entries; its own going is told apart from this.
        let walked = self.workspace.walk(&options, &|| false, visitor);
        walked.map_or_else(
            |_| SeenFiles::new(),
            |(_, threads)| threads.into_iter().flat_map(|thread| thread.found).collect(),
        )
    }

    /// Takes in a directory that appeared; none if it is large.
    fn enter(&self, state: &mut IndexState, watcher: &Watcher, path: RelPath) -> Option<()> {
        let options = WalkOptions {
            start: path.clone(),
            max_depth: self.options.max_depth.checked_sub(path.depth())?,
            max_entries: MANY,
            ..self.walk_options()
        };
        let scanned = scan(&self.workspace, Some(watcher), &options, &|| false).ok()?;
        if scanned.report.entries_limited || !scanned.watched {
            return None;
        }
        state.files.replace_beneath(&path, scanned.files, &BTreeSet::new());
        Some(())
    }

    /// Has done in the background what keeps questions quick.
    pub(super) fn want_maintenance(self: &Arc<Self>, state: &mut IndexState) {
        let fresh = state.files.fresh();
        let too_many = REBUILD_FROM.max(state.files.len() / REBUILD_SHARE);
        if fresh > too_many && !state.jobs.has(IndexJob::Build) {
            self.want(state, IndexJob::Build);
        } else if fresh >= DIGEST_FROM
            && !state.jobs.has(IndexJob::Digest)
            && state.files.undigested(DIGEST_FROM).len() == DIGEST_FROM
        {
            self.want(state, IndexJob::Digest);
        }
    }

    /// Reads the files that changed, so that questions can rule them out.
    pub(super) fn digest(&self) -> Result<(), Error> {
        let state = self.state();
        let files = state.files.undigested(usize::MAX);
        let stopped = state.jobs.stop_sign();
        drop(state);
        let mut extractor = Extractor::new();
        for (path, writing) in files {
            if stopped.load(Ordering::Relaxed) {
                break;
            }
            let max = self.options.max_file_bytes;
            let digest = match self.workspace.open_listed(&path) {
                Ok(file) if file.meta.size > max || file.meta.nlink > 1 => Digest::Anything,
                Ok(mut file) => {
                    match file.read_all(max).as_deref().map(|text| extractor.read(text)) {
                        Ok(SearchableContent::Binary) => Digest::Nothing,
                        Ok(SearchableContent::Text { trigrams, folds }) => {
                            Digest::Text { trigrams: Trigrams::of(trigrams), folds }
                        }
                        Ok(SearchableContent::Opaque) | Err(_) => Digest::Anything,
                    }
                }
                // It is on its way out, and an event will say so.
                Err(_) => Digest::Anything,
            };
            self.state().files.digested(&path, writing, digest);
        }
        Ok(())
    }
}

impl IndexState {
    /// Every file has been looked at, since `losses` events had been lost.
    pub(super) fn looked_at(&mut self, report: WalkReport, watched: bool, losses: u64) {
        if !watched {
            self.watcher = None;
        }
        self.complete = self.losses == losses && !report.cancelled;
        self.report = report;
        self.looked = Instant::now();
    }
}

/// Entries that are there.
type SeenFiles = BTreeMap<RelPath, (EntryKind, IndexStamp)>;

struct TouchedVisitor<'a> {
    touched: &'a BTreeMap<RelPath, bool>,
    now: SystemTime,
    found: SeenFiles,
}

impl Visitor for TouchedVisitor<'_> {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        let path = entry.path();
        if self.touched.contains_key(&path)
            && let Ok(meta) = entry.meta()
        {
            self.found.insert(path, (meta.kind, stamp(&meta, self.now)));
        }
        Flow::Continue
    }
}
