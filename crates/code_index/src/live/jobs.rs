//! What an index does in the background, one thing at a time.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;

use workspace::Error;

use super::{IndexShared, IndexState};

/// A piece of work. The order is that of urgency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum IndexJob {
    /// Find the index and bring it up to date.
    Open,
    /// Look at every file.
    Look,
    /// Read the files that changed, so that they can be ruled out as well.
    Digest,
    /// Build the index anew.
    Build,
    /// Find the table of symbols, or make it.
    Symbols,
}

/// The work that waits, and the thread that does it.
#[derive(Default)]
pub(super) struct Queue {
    wanted: BTreeSet<IndexJob>,
    running: Option<IndexJob>,
    has_thread: bool,
    stopped: Arc<AtomicBool>,
}

impl Queue {
    /// Ends the thread as soon as possible.
    pub(super) fn stop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn stop_sign(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stopped)
    }

    /// Whether this is waiting or being done.
    pub(super) fn has(&self, job: IndexJob) -> bool {
        self.wanted.contains(&job) || self.running == Some(job)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_none() && (self.wanted.is_empty() || !self.has_thread)
    }
}

impl IndexShared {
    /// Has something done in the background.
    pub(super) fn want(self: &Arc<Self>, state: &mut IndexState, job: IndexJob) {
        state.jobs.wanted.insert(job);
        if !state.jobs.has_thread {
            let shared = Arc::clone(self);
            let thread = thread::Builder::new().name("index".into());
            // Without a thread nothing is lost but speed; the next question tries again.
            state.jobs.has_thread = thread.spawn(move || shared.work()).is_ok();
        }
        self.job.notify_all();
    }

    /// Waits until nothing is left to do in the background.
    pub(super) fn wait_until_idle(&self) {
        let idle = self.done.wait_while(self.state(), |state| !state.jobs.is_idle());
        drop(idle.unwrap_or_else(PoisonError::into_inner));
    }

    fn work(&self) {
        workspace::lower_priority();
        let stopped = self.state().jobs.stop_sign();
        loop {
            let waiting = self.job.wait_while(self.state(), |state| {
                state.jobs.wanted.is_empty() && !stopped.load(Ordering::Relaxed)
            });
            let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            state.jobs.running = state.jobs.wanted.pop_first();
            let job = state.jobs.running;
            drop(state);
            if let Some(job) = job {
                self.perform(job);
            }
            self.state().jobs.running = None;
            self.done.notify_all();
        }
    }

    /// Does it. An error is kept for the status; searches go on without an index.
    pub(super) fn perform(&self, job: IndexJob) {
        let outcome = catch_unwind(AssertUnwindSafe(|| match job {
            IndexJob::Open => self.open(),
            IndexJob::Look => self.look(),
            IndexJob::Digest => self.digest(),
            IndexJob::Build => self.build(&|_, _| {}).map(drop),
            IndexJob::Symbols => self.find_symbols(),
        }));
        let trouble = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(Error::Cancelled { .. })) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("{job:?} failed unexpectedly")),
        };
        let mut state = self.state();
        match (&trouble, job) {
            (None, _) => {}
            (Some(_), IndexJob::Symbols) => state.symbols_failed(),
            (Some(_), _) => state.complete = false,
        }
        state.changed_meanwhile = None;
        state.progress = None;
        state.trouble = trouble;
    }
}
