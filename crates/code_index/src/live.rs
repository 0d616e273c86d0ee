//! The index of a living project: opened, kept up to date, built again when too much has changed.
//!
//! A question first drains the queue of file events, so that it knows of every change made before
//! it. What changed is looked at again, at the cost of those files alone. Everything that takes
//! longer happens on one thread in the background, and a question that comes meanwhile is answered
//! by a plain walk: no question waits for an index, and no answer depends on one being there.

mod build;
mod files;
mod jobs;
mod refresh;
mod scan;
mod status;
mod symbols;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use workspace::{Flow, RelPath, WalkOptions, WalkReport, Watcher, Workspace};

use crate::SearchScope;
use crate::index::TrigramPlan;
use files::LiveFiles;
use jobs::IndexJob;
use symbols::Symbols;

pub use build::Built;
pub use status::{IndexFacts, IndexStatus};
pub(crate) use symbols::MappedTable;

/// The name of the index in the cache directory.
const FILE: &str = "text.index";

/// A look at every file, behind the events, as often as this while questions are asked.
const RESCAN: Duration = Duration::from_secs(60);

/// How an index behaves.
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// Files from which on an index is built. Below that a walk is as quick.
    pub min_files: u64,
    /// Size in bytes above which the text of a file is not indexed; it is searched if asked for.
    pub max_file_bytes: u64,
    /// How deep the project is indexed.
    pub max_depth: usize,
    /// How many entries are visited.
    pub max_entries: usize,
    /// Whether this process stays: it watches for changes and builds what is missing. One that
    /// answers a single question uses what is there and looks at every file first.
    pub stays: bool,
}

/// The index of one project.
pub(crate) struct LiveIndex {
    shared: Arc<IndexShared>,
}

struct IndexShared {
    workspace: Arc<Workspace>,
    /// The directory for the index.
    cache: PathBuf,
    options: IndexOptions,
    state: Mutex<IndexState>,
    /// Notified when there is a job.
    job: Condvar,
    /// Notified when a job is done.
    done: Condvar,
}

struct IndexState {
    phase: Phase,
    files: LiveFiles,
    watcher: Option<Arc<Watcher>>,
    /// Whether `files` is all there is, once the events are drained.
    complete: bool,
    /// What the last look at every file came across.
    report: WalkReport,
    looked: Instant,
    /// How often events were lost.
    losses: u64,
    /// While a look at every file is under way: what has changed since it began.
    changed_meanwhile: Option<BTreeSet<RelPath>>,
    /// What is to be looked at again without a new event.
    pending: BTreeMap<RelPath, bool>,
    jobs: jobs::Queue,
    symbols: Symbols,
    progress: Option<status::IndexProgress>,
    /// Why the last job failed.
    trouble: Option<String>,
}

/// How far an index is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// No question was asked yet.
    Unopened,
    /// There is none.
    Absent,
    /// It can be used.
    Ready,
}

/// The files that can match, and what else is known.
pub(crate) struct ListedFiles {
    /// The files, by path.
    pub(crate) files: Vec<RelPath>,
    /// As a walk would have reported.
    pub(crate) report: WalkReport,
}

impl LiveIndex {
    pub(crate) fn new(workspace: Arc<Workspace>, cache: PathBuf, options: IndexOptions) -> Self {
        let state = IndexState {
            phase: Phase::Unopened,
            files: LiveFiles::default(),
            watcher: None,
            complete: false,
            report: WalkReport::default(),
            looked: Instant::now(),
            losses: 0,
            changed_meanwhile: None,
            pending: BTreeMap::new(),
            jobs: jobs::Queue::default(),
            symbols: Symbols::Absent,
            progress: None,
            trouble: None,
        };
        let state = Mutex::new(state);
        let (job, done) = Default::default();
        Self { shared: Arc::new(IndexShared { workspace, cache, options, state, job, done }) }
    }

    /// The files of `scope` that can match `plan`; none if the index cannot say at this moment.
    pub(crate) fn narrow(&self, plan: &TrigramPlan, scope: &SearchScope) -> Option<ListedFiles> {
        let state = self.ready(!plan.is_all(), scope)?;
        let start = scope.start.as_bytes();
        let accepts = |path: &[u8]| scope.filter.accepts_bytes(path, start);
        let files = state.files.candidates(plan, &scope.start, accepts);
        Some(ListedFiles { files, report: state.report_on(&scope.start) })
    }

    /// Shows all files of `scope` with those of `plans`, one bit each, that they can match, or with
    /// nothing where nothing is known of the text; none if the index cannot say at this moment.
    pub(crate) fn list_with_plans(
        &self,
        plans: &[TrigramPlan],
        scope: &SearchScope,
        visit: &mut dyn FnMut(&[u8], Option<u32>),
    ) -> Option<WalkReport> {
        let state = self.ready(true, scope)?;
        let start = scope.start.as_bytes();
        let accepts = |path: &[u8]| scope.filter.accepts_bytes(path, start);
        state.files.for_each_with_plans(plans, &scope.start, accepts, visit);
        Some(state.report_on(&scope.start))
    }

    /// Shows the paths of all files of `scope` in path order, until told to stop; none if the index
    /// cannot say at this moment.
    pub(crate) fn list(
        &self,
        scope: &SearchScope,
        visit: &mut dyn FnMut(&[u8]) -> Flow,
    ) -> Option<WalkReport> {
        let state = self.ready(false, scope)?;
        let start = scope.start.as_bytes();
        state.files.for_each_path(&scope.start, |path| {
            if scope.filter.accepts_bytes(path, start) { visit(path) } else { Flow::Continue }
        });
        Some(state.report_on(&scope.start))
    }

    /// What is known of all files, if that is everything `scope` covers. Without a file watcher
    /// every file is looked at first, should that be `worth` it.
    fn ready(&self, worth: bool, scope: &SearchScope) -> Option<MutexGuard<'_, IndexState>> {
        let shared = &self.shared;
        if scope.hidden || scope.max_depth != shared.options.max_depth {
            return None;
        }
        let mut state = shared.state();
        if state.phase == Phase::Unopened {
            if shared.options.stays {
                shared.want(&mut state, IndexJob::Open);
                return None;
            }
            drop(state);
            shared.perform(IndexJob::Open);
            state = shared.state();
        }
        if state.phase != Phase::Ready {
            return None;
        }
        if state.watcher.is_some() {
            shared.refresh(&mut state);
        } else if worth {
            drop(state);
            shared.perform(IndexJob::Look);
            state = shared.state();
        } else {
            return None;
        }
        let limited = state.report.entries_limited
            || (state.report.depth_limited.is_some() && !scope.start.is_root());
        if !state.complete || limited {
            return None;
        }
        // A directory that is ignored or hidden is walked when a search starts in it.
        if !scope.start.is_root() && !state.files.knows_dir(&scope.start) {
            return None;
        }
        if shared.options.stays {
            if state.looked.elapsed() > RESCAN && !state.jobs.has(IndexJob::Look) {
                shared.want(&mut state, IndexJob::Look);
            }
            shared.want_maintenance(&mut state);
        }
        Some(state)
    }

    /// Takes note of how large the project is, as a walk has found out.
    pub(crate) fn walked(&self, report: &WalkReport, start: &RelPath) {
        let shared = &self.shared;
        if !shared.options.stays || !start.is_root() || report.files < shared.options.min_files {
            return;
        }
        let mut state = shared.state();
        if state.phase == Phase::Absent {
            shared.want(&mut state, IndexJob::Build);
        }
    }

    /// Finds the index and looks at every file.
    pub(crate) fn check(&self) -> IndexStatus {
        if self.shared.state().phase == Phase::Unopened {
            self.shared.perform(IndexJob::Open);
        }
        if self.shared.state().phase == Phase::Ready {
            self.shared.perform(IndexJob::Look);
        }
        self.status()
    }

    pub(crate) fn max_depth(&self) -> usize {
        self.shared.options.max_depth
    }

    /// Whether something is being done in the background.
    pub(crate) fn is_at_work(&self) -> bool {
        !self.shared.state().jobs.is_idle()
    }

    /// Waits until nothing is done in the background any more.
    pub(crate) fn wait_until_idle(&self) {
        self.shared.wait_until_idle();
    }

    /// Builds the index now, whatever the size of the project, and reports the progress.
    pub(crate) fn build(
        &self,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Built, workspace::Error> {
        self.shared.build(progress)
    }
}

impl Drop for LiveIndex {
    fn drop(&mut self) {
        self.shared.state().jobs.stop();
        self.shared.job.notify_all();
    }
}

impl IndexState {
    /// What a walk from `start` would have reported.
    fn report_on(&self, start: &RelPath) -> WalkReport {
        WalkReport { files: self.files.count_beneath(start) as u64, ..self.report.clone() }
    }
}

impl IndexShared {
    fn state(&self) -> MutexGuard<'_, IndexState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a walk over the whole project covers.
    fn walk_options(&self) -> WalkOptions {
        WalkOptions {
            max_depth: self.options.max_depth,
            max_entries: self.options.max_entries,
            ..WalkOptions::default()
        }
    }
}
