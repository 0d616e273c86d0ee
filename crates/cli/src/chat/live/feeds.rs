//! What a session tells while it is worked on.

use std::io;
use std::sync::Arc;

use context_manager::AgentOptions;
use protocol::{ActivityEvent, LogEntry};
use session::{ApprovalManager, Inbox, Session};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tool_system::{Subscription, ToolExecutor};

use super::super::ChatScreen;

/// Where tools tell what they do.
pub(super) enum ActivitySource {
    /// In this process.
    Here(Subscription),
    /// In a service.
    Elsewhere(UnboundedReceiver<Arc<ActivityEvent>>),
}

/// What a session tells, as long as the same agent works in it.
pub(crate) struct Feeds {
    pub(super) written: Option<UnboundedReceiver<LogEntry>>,
    pub(super) activity: Option<ActivitySource>,
    pub(super) approvals: Option<Arc<ApprovalManager>>,
    /// Tells that the open questions are others than before.
    pub(super) questions: Option<watch::Receiver<()>>,
    pub(super) inbox: Option<Arc<Inbox>>,
    pub(super) executor: Option<ToolExecutor>,
    pub(super) options: Option<AgentOptions>,
}

impl Feeds {
    pub(crate) fn of(session: &Session) -> Self {
        Self {
            written: Some(session.log().watch()),
            activity: Some(ActivitySource::Here(session.executor().activity().subscribe_all())),
            approvals: Some(Arc::clone(session.approvals())),
            questions: Some(session.approvals().changes()),
            inbox: Some(Arc::clone(session.inbox())),
            executor: Some(session.executor().clone()),
            options: Some(session.options().clone()),
        }
    }

    /// A session that a service runs.
    pub(crate) fn elsewhere(
        written: UnboundedReceiver<LogEntry>,
        activity: UnboundedReceiver<Arc<ActivityEvent>>,
        approvals: Arc<ApprovalManager>,
    ) -> Self {
        Self {
            written: Some(written),
            activity: Some(ActivitySource::Elsewhere(activity)),
            questions: Some(approvals.changes()),
            approvals: Some(approvals),
            ..Self::none()
        }
    }

    /// Before there is a session.
    pub(crate) fn none() -> Self {
        Self {
            written: None,
            activity: None,
            approvals: None,
            questions: None,
            inbox: None,
            executor: None,
            options: None,
        }
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
    activity: &mut Option<ActivitySource>,
) -> Option<Arc<ActivityEvent>> {
    match activity {
        Some(ActivitySource::Here(activity)) => activity.next().await,
        Some(ActivitySource::Elsewhere(activity)) => activity.recv().await,
        None => None,
    }
}

/// Waits until the open questions are others.
pub(super) async fn next_question(questions: &mut Option<watch::Receiver<()>>) {
    if let Some(questions) = questions
        && questions.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
