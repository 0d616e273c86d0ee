//! The work that the threads of a walk share.

use std::ffi::CString;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::entry::Dir;
use crate::entry_names::EntryNames;

/// A piece of work.
pub(super) enum Job {
    /// Read the entries of an open directory.
    Read(Arc<Dir>),
    /// Open a subdirectory by name, then read it.
    Enter(Arc<Dir>, CString),
    /// Visit some entries of a directory that is too large for one thread.
    Visit(Arc<Dir>, EntryNames),
}

/// A stack of jobs. Taking the newest first keeps the walk depth-first, and with it the number of
/// open descriptors small.
pub(super) struct Queue {
    state: Mutex<QueueState>,
    wake: Condvar,
}

struct QueueState {
    jobs: Vec<Job>,
    /// Threads that are working on a job and may still add others.
    busy: usize,
    waiting: usize,
    stopped: bool,
}

impl Queue {
    pub(super) fn new(first: Job) -> Queue {
        let state = QueueState { jobs: vec![first], busy: 0, waiting: 0, stopped: false };
        Queue { state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Takes a thread's first job.
    pub(super) fn first(&self) -> Option<Job> {
        self.take(self.lock())
    }

    /// Ends a job: adds those that came out of it, to be taken in order, and takes the next one.
    /// One lock per directory is all the threads contend for.
    pub(super) fn next(&self, found: &mut Vec<Job>) -> Option<Job> {
        let mut state = self.lock();
        state.busy -= 1;
        state.jobs.extend(found.drain(..).rev());
        self.take(state)
    }

    /// Lets every thread end.
    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.wake.notify_all();
    }

    /// Waits for a job. None once there is none and no thread can add another.
    fn take(&self, mut state: MutexGuard<'_, QueueState>) -> Option<Job> {
        loop {
            if state.stopped {
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                if state.waiting > 0 && !state.jobs.is_empty() {
                    self.wake.notify_one();
                }
                return Some(job);
            }
            if state.busy == 0 {
                state.stopped = true;
                self.wake.notify_all();
                return None;
            }
            state.waiting += 1;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
