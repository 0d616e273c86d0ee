//! The log of one session as it is written, for clients that draw it themselves: a terminal that joins.
//!
//! It is pulled like [`EventStream`](crate::event_stream::EventStream): entries are read from the store when the
//! connection has room for them, so a slow client costs nothing and misses nothing.

use std::sync::Arc;

use axum::body::Bytes;
use protocol::{ActivityEvent, ContentHash};
use serde::Serialize;
use session::ApprovalManager;
use team::SessionAct;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tool_system::Subscription;

use crate::api::SessionBrief;
use crate::api_error::ApiError;
use crate::app::WebApp;
use crate::event_stream::{BEAT, framed};
use crate::hub::{OpenSession, SessionFeed};
use crate::view::{RightsWatch, SessionView};

/// The stream of one client.
pub(crate) struct LogStream {
    session: SessionView,
    feed: Arc<SessionFeed>,
    closing: CancellationToken,
    /// Tells of changes of this session.
    changes: watch::Receiver<u64>,
    /// Tells when the client may see something else.
    rights: RightsWatch,
    /// The client has the log up to here.
    sent: u64,
    /// The agent of the session, while it is open here.
    agent: Option<FollowedAgent>,
    /// The names of the open ones; none until they were told once: a client may have some from before.
    questions: Option<Vec<(String, ContentHash)>>,
    brief: Option<SessionBrief>,
    beat: Instant,
}

/// An agent and what its tools tell beside the log. Another model is another agent.
struct FollowedAgent {
    approvals: Arc<ApprovalManager>,
    activity: Subscription,
}

impl LogStream {
    /// The log from after an entry on.
    pub(crate) async fn open(
        app: &WebApp,
        session: SessionView,
        after: u64,
    ) -> Result<Self, ApiError> {
        let feed = session.feed();
        // Before anything is looked at, so that no change falls in between.
        let (changes, rights) = (feed.watch(), session.view().watch_rights());
        feed.load().await?;
        Ok(Self {
            session,
            feed,
            rights,
            closing: app.closing.clone(),
            changes,
            sent: after,
            agent: None,
            questions: None,
            brief: None,
            beat: Instant::now() + BEAT,
        })
    }

    /// The next event; none when the service ends or the session is deleted.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.rights.has_changed() {
                self.look_anew().await?;
            }
            self.changes.borrow_and_update();
            // A client that connects again is told that there is no such session.
            if self.feed.is_deleted() {
                return None;
            }
            self.listen();
            match self.entry().await {
                Ok(None) => {}
                Ok(event) => return event,
                // The log cannot be read: the client connects again and gets a proper answer.
                Err(_) => return None,
            }
            if let Some(event) = self.changed_questions().or_else(|| self.changed_state()) {
                return Some(event);
            }
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return None,
                () = self.rights.changed() => self.look_anew().await?,
                changed = self.changes.changed() => changed.ok()?,
                Some(event) = next_activity(&mut self.agent) => {
                    return Some(event_of("activity", None, &*event));
                }
                () = sleep_until(self.beat) => {
                    self.beat = Instant::now() + BEAT;
                    return Some(event_of("beat", None, &()));
                }
            }
        }
    }

    /// The client may see something else than before. None if that is not this session any more: a client that connects
    /// again is told that there is none.
    async fn look_anew(&mut self) -> Option<()> {
        // Before the look, so that no change falls in between.
        let rights = self.session.view().watch_rights();
        let hub = self.session.view().renewed().await?;
        self.rights = rights.until_end_of(&hub);
        self.session = hub.session(self.feed.id(), SessionAct::Read).await.ok()?;
        Some(())
    }

    /// Listens to the session once it is open, and again when it was opened anew or has another model.
    fn listen(&mut self) {
        let live = self.session.live();
        let approvals = live.as_ref().map(|live| live.approvals());
        let is_same = match (&approvals, &self.agent) {
            (Some(approvals), Some(known)) => Arc::ptr_eq(approvals, &known.approvals),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            self.agent = live.zip(approvals).map(|(live, approvals)| {
                let activity = live.executor().activity().subscribe_all();
                FollowedAgent { approvals, activity }
            });
        }
    }

    async fn entry(&mut self) -> Result<Option<Bytes>, store::StoreError> {
        let through = self.feed.with(|feed| feed.through());
        while self.sent < through {
            self.sent += 1;
            if let Some(entry) = self.feed.recent(self.sent) {
                return Ok(Some(event_of("entry", Some(self.sent), &*entry)));
            }
            let entry = self.session.entry(self.sent).await?;
            // One that is missing is damaged for good.
            if let Some(entry) = entry {
                return Ok(Some(event_of("entry", Some(self.sent), &entry)));
            }
        }
        Ok(None)
    }

    fn changed_questions(&mut self) -> Option<Bytes> {
        let open = self.session.opened();
        let names = open.as_ref().map(OpenSession::question_names).unwrap_or_default();
        if self.questions.as_ref() == Some(&names) {
            return None;
        }
        self.questions = Some(names);
        let open = open.as_ref().map(OpenSession::questions).unwrap_or_default();
        Some(event_of("questions", None, &open))
    }

    fn changed_state(&mut self) -> Option<Bytes> {
        let brief = self.session.opened().map(|open| open.brief());
        if brief.is_none() || self.brief == brief {
            return None;
        }
        self.brief = brief;
        self.brief.as_ref().map(|brief| event_of("session", None, brief))
    }
}

async fn next_activity(agent: &mut Option<FollowedAgent>) -> Option<Arc<ActivityEvent>> {
    match agent {
        Some(agent) => agent.activity.next().await,
        None => std::future::pending().await,
    }
}

fn event_of(name: &str, id: Option<u64>, data: &impl Serialize) -> Bytes {
    // All of it is made of texts and numbers, which always can be written as JSON.
    framed(id, name, &serde_json::to_string(data).unwrap_or_default())
}
