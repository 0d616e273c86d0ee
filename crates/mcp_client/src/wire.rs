//! What carries messages to a server, whichever way it is reached.

use serde_json::Value;

/// A way to a running server. What comes back is given to its [`crate::peer::Peer`].
pub(crate) trait Wire: Send + Sync {
    /// Hands a message on without waiting. After an error no byte of it was or will be sent.
    fn send(&self, message: &Value) -> Result<(), NotSent>;

    /// Ends the connection, and the server with everything it started if it is ours.
    fn stop(&self);
}

/// The server does not take messages any more, or takes them too slowly.
#[derive(Debug)]
pub(crate) struct NotSent;
