//! Visiting files whose paths are known.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use workspace::{Flow, Opener, RelPath, WalkReport, Workspace};

use super::{FileVisitor, FoundFile};
use crate::SearchScope;
use crate::live::ListedFiles;

/// Files that a thread takes at once: few, so that the threads end together, but neighbours.
const PIECE: usize = 64;

/// Below this many files, a second thread costs more than it does.
const FILES_PER_THREAD: usize = 16;

/// What the threads have in common.
struct ListVisit<'a> {
    workspace: &'a Workspace,
    files: &'a [RelPath],
    next: AtomicUsize,
    stopped: AtomicBool,
    timed_out: AtomicBool,
    cancelled: AtomicBool,
}

/// Visits the files of a list in their order, except that several threads are at it.
pub(super) fn visit<V: FileVisitor>(
    workspace: &Workspace,
    listed: ListedFiles,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
    mut visitor: impl FnMut() -> V,
) -> (WalkReport, Vec<V>) {
    let ListedFiles { files, mut report } = listed;
    let threads = (files.len() / FILES_PER_THREAD).clamp(1, workspace::available_threads());
    let shared = ListVisit {
        workspace,
        files: &files,
        next: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        timed_out: AtomicBool::new(false),
        cancelled: AtomicBool::new(false),
    };
    let mut visitors: Vec<V> = (0..threads).map(|_| visitor()).collect();
    if let Some((first, others)) = visitors.split_first_mut() {
        thread::scope(|threads| {
            for other in others {
                threads.spawn(|| shared.run(other, scope.deadline, cancel));
            }
            shared.run(first, scope.deadline, cancel);
        });
    }
    report.timed_out = shared.timed_out.load(Ordering::Relaxed);
    report.cancelled = shared.cancelled.load(Ordering::Relaxed);
    (report, visitors)
}

impl ListVisit<'_> {
    fn run(
        &self,
        visitor: &mut impl FileVisitor,
        deadline: Instant,
        cancel: &(dyn Fn() -> bool + Sync),
    ) {
        let opener = Opener::new(self.workspace);
        while !self.stopped.load(Ordering::Relaxed) {
            let start = self.next.fetch_add(PIECE, Ordering::Relaxed);
            let Some(rest) = self.files.get(start..).filter(|rest| !rest.is_empty()) else {
                return;
            };
            for path in rest.iter().take(PIECE) {
                if cancel() {
                    return self.stop(&self.cancelled);
                }
                if Instant::now() >= deadline {
                    return self.stop(&self.timed_out);
                }
                let file = FoundFile::Listed { opener: &opener, path };
                if visitor.visit(&file) == Flow::Stop {
                    return self.stopped.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    fn stop(&self, cause: &AtomicBool) {
        cause.store(true, Ordering::Relaxed);
        self.stopped.store(true, Ordering::Relaxed);
    }
}
