//! Locks that a panic does not close.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is behind a lock, whatever another thread did while it held it.
pub(crate) fn locked<T: ?Sized>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
