//! The ignore-aware walk over a directory tree, on descriptors.
//!
//! A directory is opened by its name in its parent's descriptor and never through a link, so that
//! swapping a directory for a link in mid-walk leads nowhere. Links are reported, not followed.

mod admission;
mod bounds;
mod entry;
mod queue;
mod worker;

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Instant;

pub use entry::WalkEntry;

use crate::ignore_rules::{IgnoreRules, RuleFiles};
use crate::{Error, RelPath, Workspace};
use bounds::WalkShared;
use entry::Dir;
use queue::{Job, Queue};
use worker::Worker;

/// The depth of a walk unless asked otherwise.
pub const DEFAULT_MAX_DEPTH: usize = 32;

/// The number of entries after which a walk gives up unless asked otherwise.
pub const DEFAULT_MAX_ENTRIES: usize = 1_000_000;

/// How many unreadable paths a report names.
pub const UNREADABLE_LIMIT: usize = 100;

/// No path deeper than this can be named in a system call, whatever the options say.
const MAX_WALK_DEPTH: usize = crate::MAX_PATH_BYTES / 2;

/// What a walk covers and when it ends.
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// The directory to begin in. It is walked even if it is itself ignored or hidden.
    pub start: RelPath,
    /// Whether to visit names that begin with a dot.
    pub hidden: bool,
    /// Whether to honour `.gitignore`, `.ignore` and `.git/info/exclude`.
    pub respect_ignore: bool,
    /// How many levels beneath `start` are visited.
    pub max_depth: usize,
    /// How many entries are visited. Below this bound the visited set does not depend on the
    /// number of threads; which entries are kept when it is reached does, unless there is one
    /// thread.
    pub max_entries: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Names of directories to leave out at any depth. `.git` directories always are.
    pub exclude_dirs: Vec<String>,
    /// Number of threads; 0 means as many as the system runs at once. With one thread entries are
    /// visited in a fixed order: a directory's own by name, then its subdirectories.
    pub threads: usize,
}

impl Default for WalkOptions {
    fn default() -> WalkOptions {
        WalkOptions {
            start: RelPath::root(),
            hidden: false,
            respect_ignore: true,
            max_depth: DEFAULT_MAX_DEPTH,
            max_entries: DEFAULT_MAX_ENTRIES,
            deadline: None,
            exclude_dirs: Vec::new(),
            threads: 0,
        }
    }
}

/// Whether a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// End the walk on all threads as soon as possible.
    Stop,
}

/// Receives the entries of a walk. Each thread has its own.
pub trait Visitor: Send {
    /// Looks at one entry.
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow;
}

impl<F: FnMut(&WalkEntry<'_>) -> Flow + Send> Visitor for F {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        self(entry)
    }
}

/// What a walk covered and what it left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WalkReport {
    /// Regular files visited.
    pub files: u64,
    /// Directories visited, without the start.
    pub directories: u64,
    /// Entries left out by ignore rules; the contents of an ignored directory are not counted.
    pub ignored: u64,
    /// Entries left out because their name begins with a dot.
    pub hidden: u64,
    /// The first directory, in path order, that was not entered because of `max_depth`.
    pub depth_limited: Option<RelPath>,
    /// Whether `max_entries` ended the walk.
    pub entries_limited: bool,
    /// Whether the deadline ended the walk.
    pub timed_out: bool,
    /// Whether the caller cancelled the walk.
    pub cancelled: bool,
    /// Directories that could not be read, in path order, at most [`UNREADABLE_LIMIT`].
    pub unreadable: Vec<RelPath>,
}

impl Workspace {
    /// Visits the tree beneath `options.start`. `visitor` makes one visitor per thread; they are
    /// given back with what they gathered. `cancel` is asked often and must be quick.
    ///
    /// Within one thread's share nothing is promised about order; sort what you collect.
    pub fn walk<V: Visitor>(
        &self,
        options: &WalkOptions,
        cancel: &(dyn Fn() -> bool + Sync),
        mut visitor: impl FnMut() -> V,
    ) -> Result<(WalkReport, Vec<V>), Error> {
        let start = self.open_dir(&options.start)?;
        let rules = if options.respect_ignore { self.rules_around(&options.start) } else { None };
        let start = Dir::start(start, rules)?;
        let threads = match options.threads {
            0 => available_threads(),
            given => given,
        };
        let queue = Queue::new(Job::Read(Arc::new(start)));
        let shared =
            WalkShared::new(options, options.max_depth.min(MAX_WALK_DEPTH), threads == 1, cancel);
        let mut workers: Vec<Worker<'_, V>> =
            (0..threads).map(|_| Worker::new(&shared, &queue, visitor())).collect();
        run_all(&mut workers);
        let mut report = shared.report();
        let mut unreadable = BTreeSet::new();
        let mut visitors = Vec::with_capacity(threads);
        for worker in workers {
            visitors.push(worker.finish(&mut report, &mut unreadable));
        }
        report.unreadable = unreadable.into_iter().take(UNREADABLE_LIMIT).collect();
        Ok((report, visitors))
    }

    /// The rules of the directories above `start`, up to the root and no further.
    fn rules_around(&self, start: &RelPath) -> Option<Arc<IgnoreRules>> {
        let mut rules = None;
        let mut path = RelPath::root();
        for name in start.components() {
            if let Ok(dir) = self.open_dir(&path) {
                rules = IgnoreRules::load(rules, dir.as_fd(), &path, RuleFiles::MAYBE_ALL);
            }
            path = path.join_entry(name);
        }
        rules
    }
}

/// How many threads the system runs at once. Finding out means reading several files, which would
/// be a large part of a small walk, so it is done once.
pub fn available_threads() -> usize {
    static THREADS: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));
    *THREADS
}

/// Runs the first worker on this thread and the others beside it. A panic in one of them stops
/// the others and is passed on.
fn run_all<V: Visitor>(workers: &mut [Worker<'_, V>]) {
    let Some((first, others)) = workers.split_first_mut() else { return };
    thread::scope(|scope| {
        let handles: Vec<_> =
            others.iter_mut().map(|worker| scope.spawn(|| worker.run())).collect();
        first.run();
        for handle in handles {
            if let Err(panic) = handle.join() {
                resume_unwind(panic);
            }
        }
    });
}
