//! Readers of all logs that a process writes, such as telemetry and counters.

use protocol::{LogEntry, TraceContext};
use store::SessionId;

/// Is told what is written to the logs of sessions, once it is safe.
///
/// It is called between the write and the next step of the turn, so it must not wait for anything.
pub trait LogObserver: Send + Sync {
    /// A session from the store is open here from now on, and this is its log.
    fn taken_up(&self, session: &SessionId, entries: &[LogEntry]);

    /// Entries were written.
    fn written(&self, session: &SessionId, entries: &[LogEntry]);

    /// The session is not open here any more.
    fn left(&self, session: &SessionId);

    /// The span of a call that runs, for an observer that traces sessions. `path` names the calls of `delegate` that
    /// lead to the sub-agent whose call it is.
    fn trace_context(
        &self,
        _session: &SessionId,
        _path: &[String],
        _call_id: &str,
    ) -> Option<TraceContext> {
        None
    }
}
