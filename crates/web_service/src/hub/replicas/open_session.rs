//! A session that is open, here or in another replica, as streams and lists show it.

use std::sync::Arc;

use protocol::{ApprovalRequest, ContentHash};
use store::SessionId;

use super::{Question, ReplicaSession};
use crate::api::SessionBrief;
use crate::hub::{LiveSession, ServedProject, SessionFeed, SessionHub};

#[derive(Clone)]
pub(crate) enum OpenSession {
    Here(Arc<LiveSession>),
    Elsewhere(Arc<ReplicaSession>),
}

impl OpenSession {
    pub(crate) fn id(&self) -> &SessionId {
        match self {
            Self::Here(live) => live.id(),
            Self::Elsewhere(remote) => remote.id(),
        }
    }

    pub(crate) fn project(&self) -> &Arc<ServedProject> {
        match self {
            Self::Here(live) => live.project(),
            Self::Elsewhere(remote) => remote.project(),
        }
    }

    pub(crate) fn brief(&self) -> SessionBrief {
        match self {
            Self::Here(live) => SessionBrief::of(live),
            Self::Elsewhere(remote) => remote.brief().clone(),
        }
    }

    /// The last entry before it was opened.
    pub(crate) fn opened_at(&self) -> u64 {
        match self {
            Self::Here(live) => live.opened_at(),
            Self::Elsewhere(remote) => remote.standing.opened_at,
        }
    }

    pub(crate) fn feed(&self, hub: &SessionHub) -> Arc<SessionFeed> {
        match self {
            Self::Here(live) => Arc::clone(live.feed()),
            Self::Elsewhere(remote) => hub.feed(remote.project(), remote.id()),
        }
    }

    /// Its open questions.
    pub(crate) fn questions(&self) -> Vec<ApprovalRequest> {
        match self {
            Self::Here(live) => live.approvals().pending(),
            Self::Elsewhere(remote) => {
                remote.questions().iter().map(|(_, asked)| ApprovalRequest::clone(asked)).collect()
            }
        }
    }

    /// One of its open questions, with the entry of the log that asks it.
    pub(crate) async fn question(&self, asked: ApprovalRequest) -> Option<Question> {
        let place = match self {
            Self::Here(live) => live.question_place(&asked).await?,
            Self::Elsewhere(remote) => {
                let is_it = |it: &&(u64, Arc<ApprovalRequest>)| {
                    it.1.step_id == asked.step_id && it.1.proposal_hash == asked.proposal_hash
                };
                remote.questions().iter().find(is_it)?.0
            }
        };
        Some(Question { place, asked })
    }

    /// What tells its open questions apart.
    pub(crate) fn question_names(&self) -> Vec<(String, ContentHash)> {
        match self {
            Self::Here(live) => live.approvals().pending_names(),
            Self::Elsewhere(remote) => remote.question_names(),
        }
    }
}

impl SessionHub {
    /// The session, if it is open here or in another replica.
    pub(crate) fn open_session(&self, id: &SessionId) -> Option<OpenSession> {
        let here = self.live_session(id).map(OpenSession::Here);
        here.or_else(|| self.remote_session(id).map(OpenSession::Elsewhere))
    }

    /// All sessions that are open.
    pub(crate) fn open_sessions(&self) -> Vec<OpenSession> {
        let live = self.live_sessions();
        let Some(link) = self.link() else {
            return live.into_iter().map(OpenSession::Here).collect();
        };
        let mut remote: Vec<_> = link.remote().values().cloned().collect();
        remote.retain(|remote| !live.iter().any(|live| live.id() == remote.id()));
        let here = live.into_iter().map(OpenSession::Here);
        here.chain(remote.into_iter().map(OpenSession::Elsewhere)).collect()
    }

    /// The session, if it is open in another replica.
    pub(crate) fn remote_session(&self, id: &SessionId) -> Option<Arc<ReplicaSession>> {
        self.link()?.remote().get(id).cloned()
    }
}
