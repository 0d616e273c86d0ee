//! A way to end a running command from another thread.

use std::os::fd::{AsFd, BorrowedFd};

use net::Signal;

use crate::error::{SandboxError, io};

/// Ends the commands it was given to. Clones are the same handle.
#[derive(Clone, Debug)]
pub struct Canceller(Signal);

impl Canceller {
    /// A handle that has not been used yet.
    pub fn new() -> Result<Canceller, SandboxError> {
        Signal::new().map(Canceller).map_err(io("making a cancel handle"))
    }

    /// Ends the command with everything it started. A command that begins later ends at once.
    pub fn cancel(&self) {
        self.0.give();
    }
}

impl AsFd for Canceller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
