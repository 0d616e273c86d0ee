//! A hub that shares its sessions with the hubs of other processes, through one database.
//!
//! A session is open in at most one of them, its holder. What a client asks for goes into the session's inbox, whichever
//! replica the client talks to ([`asking`]); the holder takes it from there ([`inbox_task`]). What a session does and asks
//! is its [`Standing`], which the holder publishes and all others show. Sessions whose holder has died are taken up by
//! whichever replica is first ([`watching`]).

mod asking;
mod direct_call_questions;
mod draining;
mod inbox_task;
mod open_session;
mod request;
mod standing;
#[cfg(test)]
mod tests;
mod watching;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{Exchange, SessionId};

pub(crate) use asking::{Question, RequestKey};
pub(crate) use direct_call_questions::QuestionElsewhere;
pub(super) use inbox_task::work_on_inbox;
pub(crate) use open_session::OpenSession;
pub(crate) use standing::{QueuedText, ReplicaSession};
pub(super) use standing::{asked_in, publish};
pub(super) use watching::watch;

/// How a hub takes part in a service of several replicas.
pub struct ReplicaOptions {
    /// What the replicas tell each other.
    pub exchange: Arc<dyn Exchange>,
    /// How long turns may go on after the replica was asked to end.
    pub drain_time: Duration,
}

/// What a hub knows of the other replicas.
pub(crate) struct ReplicaLink {
    pub(crate) exchange: Arc<dyn Exchange>,
    drain_time: Duration,
    is_draining: AtomicBool,
    /// The sessions that are open in other replicas.
    remote: Mutex<HashMap<SessionId, Arc<ReplicaSession>>>,
    /// Open questions about calls by hand at other replicas.
    questions: Mutex<Vec<Arc<QuestionElsewhere>>>,
}

impl ReplicaLink {
    pub(super) fn new(options: ReplicaOptions) -> Arc<Self> {
        let ReplicaOptions { exchange, drain_time } = options;
        let (is_draining, remote, questions) = Default::default();
        Arc::new(Self { exchange, drain_time, is_draining, remote, questions })
    }

    /// Whether no new work is begun here.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// The session is open here, or nowhere.
    pub(super) fn forget(&self, id: &SessionId) {
        self.remote().remove(id);
    }

    fn remote(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<ReplicaSession>>> {
        self.remote.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
