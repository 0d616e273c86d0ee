//! The right to write to a session.

use std::fmt;
use std::pin::Pin;

use crate::SessionId;

/// Records that the lease has ended.
type Release = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The right to write to a session, which one holder has at a time. Dropping it releases the lease;
/// so does the end of the process, however it comes.
pub struct Lease {
    session: SessionId,
    release: Option<Release>,
}

impl Lease {
    /// A lease on a session; `release` is called when it ends. For implementations of
    /// [`crate::Store`].
    pub fn new<Freed: Future<Output = ()> + Send + 'static>(
        session: SessionId,
        release: impl FnOnce() -> Freed + Send + Sync + 'static,
    ) -> Self {
        Self { session, release: Some(Box::new(|| Box::pin(release()))) }
    }

    /// Releases the lease, and returns when that is written. A process that is about to end
    /// should not leave it to [`Drop`].
    pub async fn release(mut self) {
        if let Some(release) = self.release.take() {
            release().await;
        }
    }

    pub fn session(&self) -> &SessionId {
        &self.session
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Where no runtime is left to do it, the end of the process does.
        if let Some(release) = self.release.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(release());
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("session", &self.session).finish_non_exhaustive()
    }
}
