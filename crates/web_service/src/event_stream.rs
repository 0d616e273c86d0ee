//! What one client is sent, event by event.
//!
//! The stream is pulled: the next event is made when the connection has room for it, from what has
//! changed by then. A client that reads slowly has no queue that could grow or be cut; it gets fewer and
//! newer batches.

mod follow;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use serde::Serialize;
use store::SessionId;
use team::SessionAct;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

pub(crate) use follow::Follow;

use crate::api::{QuestionBrief, QuestionNames, SessionBrief};
use crate::api_error::ApiError;
use crate::app::WebApp;
use crate::cursor::{EventCursor, MAX_FOLLOWED};
use crate::feed::{FeedBatch, Known};
use crate::hub::{HubChanges, SessionFeed};
use crate::view::{HubView, RightsWatch};

/// How often a client hears something even if nothing happens. It is an event and not a comment, which
/// a page cannot see: a page that hears nothing for longer connects again.
pub(crate) const BEAT: Duration = Duration::from_secs(10);

/// The stream of one client.
pub(crate) struct EventStream {
    hub: HubView,
    closing: CancellationToken,
    signal: watch::Receiver<HubChanges>,
    /// Tells when the client may see something else.
    rights: RightsWatch,
    cursor: EventCursor,
    follows_all: bool,
    followed: Vec<FollowedSession>,
    /// The session that was looked at last, so that each gets its turn.
    at: usize,
    states: HashMap<String, SessionBrief>,
    /// The names of the open ones; none until they were told once.
    questions: Option<QuestionNames>,
    /// The changes of whole sessions that were told, as the hub counts them.
    standing: Option<u64>,
    is_greeted: bool,
    beat: Instant,
}

struct FollowedSession {
    feed: Arc<SessionFeed>,
    known: Known,
}

/// The first event of a stream.
#[derive(Serialize)]
struct Hello {
    beat_ms: u128,
}

/// No more than that the service is there.
#[derive(Serialize)]
struct Beat {}

#[derive(Serialize)]
struct OpenQuestions<'a> {
    questions: &'a [QuestionBrief],
}

impl EventStream {
    /// A stream that begins where the client has stopped.
    pub(crate) async fn open(app: &WebApp, hub: HubView, follow: Follow) -> Result<Self, ApiError> {
        // Before anything is looked at, so that no change falls in between.
        let (signal, rights) = (hub.watch(), hub.watch_rights());
        let mut stream = Self {
            hub,
            closing: app.closing.clone(),
            signal,
            rights,
            cursor: EventCursor::default(),
            follows_all: follow.all,
            followed: Vec::new(),
            at: 0,
            states: HashMap::new(),
            questions: None,
            standing: None,
            is_greeted: false,
            beat: Instant::now() + BEAT,
        };
        for (id, from) in follow.sessions {
            let session = match stream.hub.session(&id, SessionAct::Read).await {
                Ok(session) => session,
                // It was deleted while the client was away.
                Err(_) if follow.is_resumed => continue,
                Err(error) => return Err(error.into()),
            };
            let feed = session.feed();
            feed.load().await?;
            let from = from.unwrap_or_else(|| feed.with(|feed| feed.through()));
            stream.follow(feed, from);
        }
        Ok(stream)
    }

    fn follow(&mut self, feed: Arc<SessionFeed>, from: u64) {
        let revision = feed.with(|feed| feed.revision_at(from));
        self.cursor.advance(feed.id(), from);
        // What the client has of items that were changing when it left is not known.
        let known = Known { revision, is_whole: false };
        self.followed.push(FollowedSession { feed, known });
    }

    /// The next event; none when the service ends.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        if !self.is_greeted {
            self.is_greeted = true;
            // The position stands here too, in case the connection breaks before the first items.
            let hello = Hello { beat_ms: BEAT.as_millis() };
            return Some(event(Some(&self.cursor), "hello", &hello));
        }
        loop {
            if self.rights.has_changed() {
                self.look_anew().await?;
            }
            // What changes from here on wakes the wait below.
            let standing = Some(self.signal.borrow_and_update().standing);
            if self.standing != standing {
                self.follow_new().await;
                if let Some(event) = self.changed_state().await {
                    return Some(event);
                }
                // A client whose questions cannot be asked for connects again and is told why.
                if let Some(event) = self.changed_questions().await.ok()? {
                    return Some(event);
                }
                self.standing = standing;
            }
            if let Some(event) = self.changed_items() {
                return Some(event);
            }
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return None,
                () = self.rights.changed() => self.look_anew().await?,
                changed = self.signal.changed() => changed.ok()?,
                () = sleep_until(self.beat) => {
                    self.beat = Instant::now() + BEAT;
                    return Some(event(None, "beat", &Beat {}));
                }
            }
        }
    }

    /// Users may see something else than before: what this one may not see any more is left, and the stream ends if
    /// that is everything.
    async fn look_anew(&mut self) -> Option<()> {
        // Before the look, so that no change falls in between.
        let rights = self.hub.watch_rights();
        self.hub = self.hub.renewed().await?;
        self.rights = rights.until_end_of(&self.hub);
        let mut followed = std::mem::take(&mut self.followed);
        for one in std::mem::take(&mut followed) {
            match self.hub.session(one.feed.id(), SessionAct::Read).await {
                Ok(_) => followed.push(one),
                Err(_) => self.cursor.leave(one.feed.id()),
            }
        }
        self.followed = followed;
        (self.at, self.standing) = (0, None);
        Some(())
    }

    /// Follows the sessions that were opened since, from the moment at which they were.
    async fn follow_new(&mut self) {
        if !self.follows_all {
            return;
        }
        for open in self.hub.open_sessions().await {
            let is_new = self.cursor.position(open.id()).is_none();
            if is_new && self.cursor.len() >= MAX_FOLLOWED {
                self.leave_closed().await;
            }
            if !is_new || self.cursor.len() >= MAX_FOLLOWED {
                continue;
            }
            let feed = self.hub.feed_of(&open);
            if feed.load().await.is_ok() {
                self.follow(feed, open.opened_at());
            }
        }
    }

    /// Leaves the sessions that were closed and told to their end. One that is opened again is followed again.
    async fn leave_closed(&mut self) {
        let open = self.hub.open_sessions().await;
        let Self { cursor, followed, at, .. } = self;
        followed.retain(|FollowedSession { feed, known }| {
            let is_told = feed.with(|feed| feed.revision()) == known.revision;
            let stays = !is_told || open.iter().any(|open| open.id() == feed.id());
            if !stays {
                cursor.leave(feed.id());
            }
            stays
        });
        *at = 0;
    }

    async fn changed_state(&mut self) -> Option<Bytes> {
        let open = self.hub.open_sessions().await;
        for one in &open {
            let brief = one.brief();
            if self.states.get(&brief.id) != Some(&brief) {
                let told = event(None, "session", &brief);
                self.states.insert(brief.id.clone(), brief);
                return Some(told);
            }
        }
        let is_open = |id: &str| open.iter().any(|open| open.id().as_str() == id);
        let gone = self.states.keys().find(|id| !is_open(id));
        let gone = gone.cloned()?;
        let brief = self.states.remove(&gone)?;
        Some(event(None, "closed", &brief))
    }

    async fn changed_questions(&mut self) -> Result<Option<Bytes>, ApiError> {
        // Every client looks with every change of every session, and questions can be large.
        let names = QuestionBrief::names(&self.hub).await?;
        if self.questions.as_ref() == Some(&names) {
            return Ok(None);
        }
        self.questions = Some(names);
        let questions = QuestionBrief::all(&self.hub).await?;
        Ok(Some(event(None, "questions", &OpenQuestions { questions: &questions })))
    }

    fn changed_items(&mut self) -> Option<Bytes> {
        for _ in 0..self.followed.len() {
            self.at = (self.at + 1) % self.followed.len();
            let FollowedSession { feed, known } = &mut self.followed[self.at];
            let batch = feed.with(|feed| {
                let is_changed = feed.revision() > known.revision;
                is_changed.then(|| feed.since(*known))
            });
            let Some(batch) = batch else { continue };
            *known = Known::after(&batch);
            // Entries that show nothing go with the next that do: for a client, batches lie end to end.
            if !batch.items.is_empty() || !batch.grown.is_empty() {
                let after = self.cursor.position(feed.id()).unwrap_or(batch.after);
                self.cursor.advance(feed.id(), batch.through);
                let data = items(feed.id(), &FeedBatch { after, ..batch });
                return Some(framed(Some(&self.cursor), "items", &data));
            }
        }
        None
    }
}

/// The items of a batch, which are JSON already.
fn items(session: &SessionId, batch: &FeedBatch) -> String {
    let FeedBatch { after, through, has_more, items, grown, .. } = batch;
    let (items, grown) = (items.join(","), grown.join(","));
    format!(
        r#"{{"session":"{session}","after":{after},"through":{through},"has_more":{has_more},"items":[{items}],"grown":[{grown}]}}"#
    )
}

fn event(cursor: Option<&EventCursor>, name: &str, data: &impl Serialize) -> Bytes {
    // Data is made of texts and numbers, which always can be written as JSON, on one line.
    framed(cursor, name, &serde_json::to_string(data).unwrap_or_default())
}

/// An event as it is sent. Its data is one line.
pub(crate) fn framed(id: Option<impl Display>, name: &str, data: &str) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {data}\n\n").into()
}
