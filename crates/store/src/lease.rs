//! The right to write to a session.

use std::fmt;

use crate::SessionId;

/// As long as it is held, nobody else can claim the session. Dropping it gives the session free;
/// so does the end of the process, however it comes.
pub struct Lease {
    session: SessionId,
    release: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Lease {
    /// A lease on a session; `release` is called when it ends. For those who write a store.
    pub fn new(session: SessionId, release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { session, release: Some(Box::new(release)) }
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release();
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("session", &self.session).finish_non_exhaustive()
    }
}
