//! One thread of a walk.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::io::Errno;

use super::admission::{Admission, admission};
use super::bounds::WalkShared;
use super::entry::{Dir, WalkEntry};
use super::queue::{Job, Queue};
use super::{Flow, UNREADABLE_LIMIT, Visitor, WalkReport};
use crate::entry_names::{EntryNames, NamedEntry};
use crate::ignore_rules::{IgnoreRules, RuleFiles};
use crate::resolve::open_name;
use crate::root::DIR_FLAGS;
use crate::{EntryKind, RelPath};

/// Directories with more entries than this are shared out among the threads in pieces of this
/// size.
const PIECE: usize = 128;

/// How many entries are visited between two questions whether to go on. A visitor may spend
/// milliseconds on each.
const CHECK_EVERY: usize = 16;

/// A single directory is listed up to `max_entries`, and at least up to this many, because hidden
/// and ignored entries do not count. This bounds the memory a hostile directory can take.
const LISTING_FLOOR: usize = 100_000;

/// A thread's own state: its visitor, its counts and the memory it reuses.
pub(super) struct Worker<'w, V> {
    shared: &'w WalkShared<'w>,
    queue: &'w Queue,
    visitor: V,
    report: WalkReport,
    unreadable: BTreeSet<RelPath>,
    listing: EntryNames,
    /// Positions in the listing of the entries to visit.
    kept: Vec<usize>,
    /// The path of the entry that is being judged.
    path: Vec<u8>,
    found: Vec<Job>,
}

/// Ends the walk on the other threads if a visitor panics on this one.
struct StopOnPanic<'q>(&'q Queue);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

impl<'w, V: Visitor> Worker<'w, V> {
    pub(super) fn new(shared: &'w WalkShared<'w>, queue: &'w Queue, visitor: V) -> Worker<'w, V> {
        Worker {
            shared,
            queue,
            visitor,
            report: WalkReport::default(),
            unreadable: BTreeSet::new(),
            listing: EntryNames::default(),
            kept: Vec::new(),
            path: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Works until the walk is over.
    pub(super) fn run(&mut self) {
        let _guard = StopOnPanic(self.queue);
        let mut job = self.queue.first();
        while let Some(current) = job {
            if self.shared.stopped() || self.shared.exhausted() {
                return self.queue.stop();
            }
            self.perform(current);
            job = self.queue.next(&mut self.found);
        }
    }

    /// Adds this thread's counts to the whole and gives back the visitor.
    pub(super) fn finish(self, report: &mut WalkReport, unreadable: &mut BTreeSet<RelPath>) -> V {
        report.files += self.report.files;
        report.directories += self.report.directories;
        report.ignored += self.report.ignored;
        report.hidden += self.report.hidden;
        let limits = [report.depth_limited.take(), self.report.depth_limited];
        report.depth_limited = limits.into_iter().flatten().min();
        unreadable.extend(self.unreadable);
        self.visitor
    }

    fn perform(&mut self, job: Job) {
        match job {
            Job::Read(dir) => self.read(dir),
            Job::Enter(parent, name) => self.enter(&parent, &name),
            Job::Visit(dir, entries) => {
                self.visit_range(&dir, &entries, 0..entries.len());
            }
        }
    }

    fn enter(&mut self, parent: &Dir, name: &CString) {
        let opened = open_name(parent.as_fd(), name.as_c_str(), DIR_FLAGS);
        match opened.and_then(|fd| Dir::inside(parent, name.as_bytes(), fd)) {
            Ok(dir) => self.read(Arc::new(dir)),
            // Gone, no longer a directory, or its own ancestor: nothing to walk.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(_) => self.note_unreadable(parent.path.join_entry(name.as_bytes())),
        }
    }

    fn note_unreadable(&mut self, path: RelPath) {
        self.unreadable.insert(path);
        if self.unreadable.len() > UNREADABLE_LIMIT {
            self.unreadable.pop_last();
        }
    }

    fn read(&mut self, mut dir: Arc<Dir>) {
        let mut listing = std::mem::take(&mut self.listing);
        let limit = self.shared.options.max_entries.max(LISTING_FLOOR);
        match listing.read(dir.as_fd(), limit) {
            Ok(true) => {}
            Ok(false) => self.shared.note_entries_limited(),
            Err(_) => self.note_unreadable(dir.path.clone()),
        }
        if self.shared.sorted {
            listing.sort();
        }
        if self.shared.options.respect_ignore {
            load_rules(&mut dir, &listing);
        }
        let first = if listing.len() > 2 * PIECE { PIECE } else { listing.len() };
        for start in (first..listing.len()).step_by(PIECE) {
            let piece = listing.copy_range(start..listing.len().min(start + PIECE));
            self.found.push(Job::Visit(dir.clone(), piece));
        }
        self.visit_range(&dir, &listing, 0..first);
        self.listing = listing;
    }

    fn visit_range(&mut self, dir: &Arc<Dir>, entries: &EntryNames, range: Range<usize>) {
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        self.begin_path(dir);
        kept.extend(range.filter(|&index| self.keeps(dir, entries.get(index))));
        let granted = self.shared.grant(kept.len());
        for (visited, &index) in kept[..granted].iter().enumerate() {
            if visited % CHECK_EVERY == 0 && self.shared.stopped() {
                break;
            }
            let entry = entries.get(index);
            self.count(dir, entry);
            if self.visitor.visit(&WalkEntry::new(dir, entry)) == Flow::Stop {
                self.shared.stop_for_visitor();
                break;
            }
        }
        if granted < kept.len() {
            self.shared.note_entries_limited();
        }
        self.kept = kept;
    }

    fn count(&mut self, dir: &Arc<Dir>, entry: NamedEntry<'_>) {
        match entry.kind {
            EntryKind::File => self.report.files += 1,
            EntryKind::Directory => {
                self.report.directories += 1;
                self.descend(dir, entry);
            }
            _ => {}
        }
    }

    fn descend(&mut self, dir: &Arc<Dir>, entry: NamedEntry<'_>) {
        if dir.depth + 1 < self.shared.max_depth {
            if let Ok(name) = entry.c_name() {
                self.found.push(Job::Enter(dir.clone(), name.to_owned()));
            }
            return;
        }
        let path = dir.path.join_entry(entry.name());
        if self.report.depth_limited.as_ref().is_none_or(|first| path < *first) {
            self.report.depth_limited = Some(path);
        }
    }

    /// Prepares `path` for [`Worker::keeps`].
    fn begin_path(&mut self, dir: &Dir) {
        self.path.clear();
        self.path.extend_from_slice(dir.path.as_bytes());
        if !dir.path.is_root() {
            self.path.push(b'/');
        }
    }

    /// Whether an entry is to be visited.
    fn keeps(&mut self, dir: &Dir, entry: NamedEntry<'_>) -> bool {
        if dir.depth >= self.shared.max_depth {
            return false;
        }
        let dir_len = self.path.len();
        self.path.extend_from_slice(entry.name());
        let is_dir = entry.kind == EntryKind::Directory;
        let options = self.shared.options;
        let admission = admission(options, dir.rules.as_deref(), &self.path, entry.name(), is_dir);
        self.path.truncate(dir_len);
        match admission {
            Admission::Ignored => self.report.ignored += 1,
            Admission::Hidden => self.report.hidden += 1,
            Admission::Visited | Admission::Excluded => {}
        }
        admission == Admission::Visited
    }
}

/// Gives a directory its own rules, if its listing has rule files.
fn load_rules(dir: &mut Arc<Dir>, listing: &EntryNames) {
    let mut files = RuleFiles::default();
    listing.iter().for_each(|entry| files.note(entry.name()));
    let rules = IgnoreRules::load(dir.rules.clone(), dir.as_fd(), &dir.path, files);
    // No other thread holds the directory yet.
    if let Some(dir) = Arc::get_mut(dir) {
        dir.rules = rules;
    }
}
