//! What a session tells while it is worked on.

use std::io;
use std::sync::Arc;

use context_manager::AgentOptions;
use protocol::{ActivityEvent, LogEntry};
use session::{ApprovalManager, Inbox, Session};
use tokio::sync::mpsc::UnboundedReceiver;
use tool_system::{Subscription, ToolExecutor};

use super::super::ChatScreen;

/// What a session tells, as long as the same agent works in it.
pub(crate) struct Feeds {
    pub(super) written: Option<UnboundedReceiver<LogEntry>>,
    pub(super) activity: Option<Subscription>,
    pub(super) approvals: Option<Arc<ApprovalManager>>,
    pub(super) inbox: Option<Arc<Inbox>>,
    pub(super) executor: Option<ToolExecutor>,
    pub(super) options: Option<AgentOptions>,
}

impl Feeds {
    pub(crate) fn of(session: &Session) -> Self {
        Self {
            written: Some(session.log().watch()),
            activity: Some(session.executor().activity().subscribe_all()),
            approvals: Some(Arc::clone(session.approvals())),
            inbox: Some(Arc::clone(session.inbox())),
            executor: Some(session.executor().clone()),
            options: Some(session.options().clone()),
        }
    }

    /// Before there is a session.
    pub(crate) fn none() -> Self {
        let (written, activity) = (None, None);
        Self { written, activity, approvals: None, inbox: None, executor: None, options: None }
    }

    /// Waits for the next thing that the session tells, and shows it.
    pub(crate) async fn show_next(&mut self, screen: &mut ChatScreen) -> io::Result<()> {
        tokio::select! {
            biased;
            Some(event) = next_activity(&mut self.activity) => screen.activity(&event),
            Some(entry) = next_entry(&mut self.written) => screen.show(&entry),
            else => std::future::pending().await,
        }
    }

    /// An entry of the log that was written already.
    pub(crate) fn written_before(&mut self) -> Option<LogEntry> {
        self.written.as_mut()?.try_recv().ok()
    }
}

pub(super) async fn next_entry(
    written: &mut Option<UnboundedReceiver<LogEntry>>,
) -> Option<LogEntry> {
    match written {
        Some(written) => written.recv().await,
        None => None,
    }
}

pub(super) async fn next_activity(
    activity: &mut Option<Subscription>,
) -> Option<Arc<ActivityEvent>> {
    match activity {
        Some(activity) => activity.next().await,
        None => None,
    }
}
