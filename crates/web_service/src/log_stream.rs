//! The log of one session as it is written, for clients that draw it themselves: a terminal that joins.
//!
//! It is pulled like [`EventStream`](crate::event_stream::EventStream): entries are read from the store when the
//! connection has room for them, so a slow client costs nothing and misses nothing.

use std::sync::Arc;

use axum::body::Bytes;
use protocol::{ActivityEvent, ApprovalRequest};
use serde::Serialize;
use store::SessionId;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tool_system::Subscription;

use crate::api::SessionBrief;
use crate::api_error::ApiError;
use crate::app::WebApp;
use crate::event_stream::{BEAT, framed};
use crate::hub::{LiveSession, ServedProject, SessionFeed, SessionHub};

/// The stream of one client.
pub(crate) struct LogStream {
    hub: Arc<SessionHub>,
    project: Arc<ServedProject>,
    feed: Arc<SessionFeed>,
    closing: CancellationToken,
    signal: watch::Receiver<u64>,
    /// The client has the log up to here.
    sent: u64,
    /// What the tools of the open session tell beside the log.
    activity: Option<(Arc<LiveSession>, Subscription)>,
    /// None until they were told once: a client may have some from before.
    questions: Option<Vec<ApprovalRequest>>,
    brief: Option<SessionBrief>,
    beat: Instant,
}

impl LogStream {
    /// The log from after an entry on.
    pub(crate) async fn open(app: &WebApp, id: &SessionId, after: u64) -> Result<Self, ApiError> {
        let hub = Arc::clone(&app.hub);
        // Before anything is looked at, so that no change falls in between.
        let signal = hub.signal().watch();
        let project = hub.project_of(id).await?;
        let feed = hub.feed(&project, id);
        feed.load().await?;
        Ok(Self {
            hub,
            project,
            feed,
            closing: app.closing.clone(),
            signal,
            sent: after,
            activity: None,
            questions: None,
            brief: None,
            beat: Instant::now() + BEAT,
        })
    }

    /// The next event; none when the service ends.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.signal.borrow_and_update();
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
                changed = self.signal.changed() => changed.ok()?,
                Some(event) = next_activity(&mut self.activity) => {
                    return Some(event_of("activity", None, &*event));
                }
                () = sleep_until(self.beat) => {
                    self.beat = Instant::now() + BEAT;
                    return Some(event_of("beat", None, &()));
                }
            }
        }
    }

    /// Listens to the tools of the session once it is open, and again when it was opened anew.
    fn listen(&mut self) {
        let live = self.hub.live_session(self.feed.id());
        let is_same = match (&live, &self.activity) {
            (Some(live), Some((known, _))) => Arc::ptr_eq(live, known),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            self.activity = live.map(|live| {
                let told = live.executor().activity().subscribe_all();
                (live, told)
            });
        }
    }

    async fn entry(&mut self) -> Result<Option<Bytes>, store::StoreError> {
        let through = self.feed.with(|feed| feed.through());
        while self.sent < through {
            self.sent += 1;
            let entry = self.project.parts.store.entry(self.feed.id(), self.sent).await?;
            // One that is missing is damaged for good.
            if let Some(entry) = entry {
                return Ok(Some(event_of("entry", Some(self.sent), &entry)));
            }
        }
        Ok(None)
    }

    fn changed_questions(&mut self) -> Option<Bytes> {
        let open = match &self.activity {
            Some((live, _)) => live.approvals().pending(),
            None => Vec::new(),
        };
        if self.questions.as_ref() == Some(&open) {
            return None;
        }
        let told = event_of("questions", None, &open);
        self.questions = Some(open);
        Some(told)
    }

    fn changed_state(&mut self) -> Option<Bytes> {
        let brief = self.activity.as_ref().map(|(live, _)| SessionBrief::of(live));
        if brief.is_none() || self.brief == brief {
            return None;
        }
        self.brief = brief;
        self.brief.as_ref().map(|brief| event_of("session", None, brief))
    }
}

async fn next_activity(
    activity: &mut Option<(Arc<LiveSession>, Subscription)>,
) -> Option<Arc<ActivityEvent>> {
    match activity {
        Some((_, activity)) => activity.next().await,
        None => std::future::pending().await,
    }
}

fn event_of(name: &str, id: Option<u64>, data: &impl Serialize) -> Bytes {
    // All of it is made of texts and numbers, which always can be written as JSON.
    framed(id, name, &serde_json::to_string(data).unwrap_or_default())
}
