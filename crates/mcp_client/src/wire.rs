//! What carries messages to a server, whichever way it is reached.

use serde_json::Value;

/// A way to a running server. What comes back is given to its [`crate::peer::Peer`].
pub(crate) trait Wire: Send + Sync {
    /// Hands a message on without waiting. After an error no byte of it was or will be sent.
    fn send(&self, message: &Value) -> Result<SentAt, NotSent>;

    /// These are the tools of the server, as it lists them: some want arguments to travel in a way of their own.
    fn listed(&self, _tools: &[Value]) {}

    /// Whether the server may have read what was sent there, now that it has ended. What it has not read it never will.
    fn may_be_read(&self, _at: SentAt) -> bool {
        true
    }

    /// Ends the connection, and the server with everything it started if it is ours.
    fn stop(&self);
}

/// Where in all that was sent a message begins, as far as its wire counts that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SentAt(pub(crate) u64);

/// Why a message is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// The server does not take messages any more.
    Gone,
    /// As much as may wait for it waits already.
    TooMany,
}
