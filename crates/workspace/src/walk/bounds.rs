//! The bounds of a walk, kept by all its threads together.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use super::{WalkOptions, WalkReport};

/// What all threads of a walk have in common.
pub(super) struct WalkShared<'w> {
    pub(super) options: &'w WalkOptions,
    pub(super) max_depth: usize,
    /// Whether entries are visited in a fixed order.
    pub(super) sorted: bool,
    cancel: &'w (dyn Fn() -> bool + Sync),
    /// Entries that may still be visited.
    budget: AtomicUsize,
    entries_limited: AtomicBool,
    timed_out: AtomicBool,
    cancelled: AtomicBool,
    /// Set once, whatever the cause; every thread ends soon after.
    stopped: AtomicBool,
}

impl<'w> WalkShared<'w> {
    pub(super) fn new(
        options: &'w WalkOptions,
        max_depth: usize,
        sorted: bool,
        cancel: &'w (dyn Fn() -> bool + Sync),
    ) -> WalkShared<'w> {
        WalkShared {
            options,
            max_depth,
            sorted,
            cancel,
            budget: AtomicUsize::new(options.max_entries),
            entries_limited: AtomicBool::new(false),
            timed_out: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
        }
    }

    /// A report with what ended the walk; the counts are added by the workers.
    pub(super) fn report(&self) -> WalkReport {
        WalkReport {
            entries_limited: self.entries_limited.load(Ordering::Relaxed),
            timed_out: self.timed_out.load(Ordering::Relaxed),
            cancelled: self.cancelled.load(Ordering::Relaxed),
            ..WalkReport::default()
        }
    }

    /// Takes up to `wanted` entries out of the budget.
    pub(super) fn grant(&self, wanted: usize) -> usize {
        let take = |left: usize| Some(left - left.min(wanted));
        let left = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        left.unwrap_or_else(|left| left).min(wanted)
    }

    /// Takes note that entries are left out because of their number. Entries granted before are
    /// still visited, so that their number is exact.
    pub(super) fn note_entries_limited(&self) {
        self.entries_limited.store(true, Ordering::Relaxed);
    }

    /// Whether the budget is used up and more was asked for: no further work is worth beginning.
    pub(super) fn exhausted(&self) -> bool {
        self.entries_limited.load(Ordering::Relaxed) && self.budget.load(Ordering::Relaxed) == 0
    }

    /// Ends the walk because a visitor asked for it.
    pub(super) fn stop_for_visitor(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn stop(&self, cause: &AtomicBool) {
        cause.store(true, Ordering::Relaxed);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the walk is to end at once.
    pub(super) fn stopped(&self) -> bool {
        if !self.stopped.load(Ordering::Relaxed) {
            if (self.cancel)() {
                self.stop(&self.cancelled);
            } else if self.options.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.stop(&self.timed_out);
            }
        }
        self.stopped.load(Ordering::Relaxed)
    }
}
