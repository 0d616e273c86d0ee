//! A signal from one thread to another that waits for sockets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::EventfdFlags;

/// Becomes readable when it is given, and stays so until it is taken. Clones are the same signal.
#[derive(Clone, Debug)]
pub struct Signal(Arc<OwnedFd>);

impl Signal {
    /// A signal that has not been given.
    pub fn new() -> io::Result<Signal> {
        let fd = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Signal(Arc::new(fd)))
    }

    /// Gives the signal.
    pub fn give(&self) {
        // It fails only if the counter is full, and then it has been given.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
