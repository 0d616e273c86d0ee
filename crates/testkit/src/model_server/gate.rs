//! A gate that a reply passes piece by piece, when the test says so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use super::lock;

/// Holds back the pieces of text of a reply until the test lets them go.
///
/// Clones are the same gate. Dropping the server opens it.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<GateShared>);

#[derive(Debug, Default)]
struct GateShared {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    /// How many pieces may still pass.
    allowed: usize,
    is_open: bool,
}

impl PartialEq for Gate {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets so many more pieces go.
    pub fn pass(&self, pieces: usize) {
        lock(&self.0.state).allowed += pieces;
        self.0.changed.notify_all();
    }

    /// Lets everything go, also what comes later.
    pub fn open(&self) {
        lock(&self.0.state).is_open = true;
        self.0.changed.notify_all();
    }

    /// Waits until a piece may pass; `false` if the client has gone meanwhile.
    pub(super) fn wait(&self, is_gone: &AtomicBool) -> bool {
        let is_held =
            |state: &mut GateState| !state.is_open && state.allowed == 0 && !is_gone.load(ORDER);
        let waiting = self.0.changed.wait_while(lock(&self.0.state), is_held);
        let mut state = waiting.unwrap_or_else(std::sync::PoisonError::into_inner);
        state.allowed = state.allowed.saturating_sub(1);
        !is_gone.load(ORDER)
    }

    /// Wakes what waits, since the client has gone.
    pub(super) fn give_up(&self, is_gone: &AtomicBool) {
        // Under the lock, or the wait could begin between its look and its sleep.
        let state = lock(&self.0.state);
        is_gone.store(true, ORDER);
        drop(state);
        self.0.changed.notify_all();
    }
}

const ORDER: Ordering = Ordering::SeqCst;
