//! A way to end a running command from another thread.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::EventfdFlags;

use crate::error::{SandboxError, io};

/// Ends the commands it was given to. Clones are the same handle.
#[derive(Clone, Debug)]
pub struct Canceller(Arc<OwnedFd>);

impl Canceller {
    /// A handle that has not been used yet.
    pub fn new() -> Result<Canceller, SandboxError> {
        let fd = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Canceller(Arc::new(fd.map_err(|errno| io("making a cancel handle")(errno.into()))?)))
    }

    /// Ends the command with everything it started. A command that begins later ends at once.
    pub fn cancel(&self) {
        // It fails only if the counter is full, and then it has been said.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

impl AsFd for Canceller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
