//! What clients ask of a session goes through its inbox, so that any replica can be asked, and a crash neither loses
//! nor repeats it.

use std::sync::Arc;
use std::time::Duration;

use protocol::{ApprovalRequest, ApprovalResponse, Content, Rewind, SessionEvent};
use session::{RewindFiles, RewindPoint};
use store::{Hint, ItemState, SessionId};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};

use super::request::{InboxRequest, refused};
use super::{OpenSession, ReplicaLink};
use crate::hub::{AgentNames, HubError, Sent, SessionHub};

/// How long a client waits for the holder of a session. Another replica takes a session up within this time if its
/// holder has died.
const ANSWER_TIME: Duration = Duration::from_secs(15);
/// How often an item is looked at, since hints may be lost.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What tells a request from its repetition.
#[derive(Clone, Debug)]
pub(crate) enum RequestKey {
    /// The client has named it, and may ask again.
    Named(String),
    /// It is no repetition.
    New,
}

/// An open question with the entry of the log that asks it.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) place: u64,
    pub(crate) asked: ApprovalRequest,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    /// It is done; the log ended here then.
    Done(u64),
    /// It waits for the running turn.
    Queued(u64),
    /// There is nothing left of the session.
    Gone,
}

impl SessionHub {
    /// Says something, through the inbox.
    pub(in crate::hub) async fn ask_to_say(
        self: &Arc<Self>,
        id: &SessionId,
        content: Vec<Content>,
        key: RequestKey,
    ) -> Result<Sent, HubError> {
        match self.ask(id, key, &InboxRequest::Message { content }).await? {
            Settled::Done(sequence) => Ok(Sent::Written(sequence)),
            Settled::Queued(number) => Ok(Sent::Queued(number)),
            Settled::Gone => Err(HubError::UnknownSession { id: id.to_string() }),
        }
    }

    /// Answers a question of a session. The first answer counts, whichever replica it comes to.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        id: &SessionId,
        question: &Question,
        response: ApprovalResponse,
    ) -> Result<(), HubError> {
        let Question { place, asked } = question;
        let name = format!("answer:{}:{}:{place}", asked.step_id, asked.proposal_hash);
        let request = InboxRequest::Answer { place: *place, response: Box::new(response) };
        self.ask_once(id, name, &request).await
    }

    /// Ends the running turn. Answers whether one ran.
    pub(in crate::hub) async fn ask_to_interrupt(
        self: &Arc<Self>,
        id: &SessionId,
    ) -> Result<bool, HubError> {
        match self.ask(id, RequestKey::New, &InboxRequest::Interrupt).await {
            Ok(settled) => Ok(matches!(settled, Settled::Done(_))),
            Err(HubError::Refused { code, .. }) if code == HubError::NOT_WORKING => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(in crate::hub) async fn ask_to_go_on(
        self: &Arc<Self>,
        id: &SessionId,
    ) -> Result<(), HubError> {
        self.ask(id, RequestKey::New, &InboxRequest::Continue).await.map(drop)
    }

    pub(in crate::hub) async fn ask_to_change(
        self: &Arc<Self>,
        id: &SessionId,
        names: AgentNames,
    ) -> Result<(), HubError> {
        self.ask(id, RequestKey::New, &InboxRequest::Change { names }).await.map(drop)
    }

    pub(in crate::hub) async fn ask_to_delete(
        self: &Arc<Self>,
        id: &SessionId,
    ) -> Result<(), HubError> {
        self.ask(id, RequestKey::New, &InboxRequest::Delete).await.map(drop)
    }

    /// Goes back to before a message.
    pub(in crate::hub) async fn ask_to_rewind(
        self: &Arc<Self>,
        id: &SessionId,
        to: u64,
        files: RewindFiles,
    ) -> Result<(RewindPoint, Rewind), HubError> {
        let restores_files = files == RewindFiles::Restore;
        let request = InboxRequest::Rewind { to, restores_files };
        let settled = self.ask(id, RequestKey::New, &request).await?;
        let gone = || HubError::UnknownSession { id: id.to_string() };
        let Settled::Done(sequence) = settled else { return Err(gone()) };
        let store = &self.project_of(id).await?.parts.store;
        let said = store.entry(id, to).await?.and_then(|entry| RewindPoint::of(&entry));
        let rewound = store.entry(id, sequence).await?.map(|entry| entry.event);
        match (said, rewound) {
            (Some(said), Some(SessionEvent::Rewound(rewind))) => Ok((said, rewind)),
            _ => Err(gone()),
        }
    }

    /// Takes a message back that waits. Answers with its text.
    pub(in crate::hub) async fn ask_to_withdraw(
        self: &Arc<Self>,
        id: &SessionId,
        name: u64,
    ) -> Result<String, HubError> {
        let queued = self.queue(id).into_iter().find(|queued| queued.id == name);
        let (Some(queued), Ok(message)) = (queued, i64::try_from(name)) else {
            return Err(HubError::NotWaiting);
        };
        self.ask(id, RequestKey::New, &InboxRequest::Withdraw { message }).await?;
        Ok(queued.text)
    }

    /// Asks for something that counts only once.
    async fn ask_once(
        self: &Arc<Self>,
        id: &SessionId,
        name: String,
        request: &InboxRequest,
    ) -> Result<(), HubError> {
        let link = self.linked()?;
        let mut hints = link.exchange.hints();
        let put = link.exchange.put(id, &name, value_of(request)?).await?;
        if !put.is_first {
            return Err(HubError::AnsweredAlready);
        }
        self.settled(link, id, put.number, request, &mut hints).await.map(drop)
    }

    async fn ask(
        self: &Arc<Self>,
        id: &SessionId,
        key: RequestKey,
        request: &InboxRequest,
    ) -> Result<Settled, HubError> {
        // A session of a project that is not served here is unknown here.
        self.project_of(id).await?;
        let link = self.linked()?;
        let mut hints = link.exchange.hints();
        let name = match &key {
            RequestKey::Named(name) => format!("named:{name}"),
            RequestKey::New => crate::random_secret().map_err(|_| HubError::NoRandomness)?,
        };
        let put = link.exchange.put(id, &name, value_of(request)?).await?;
        let settled = self.settled(link, id, put.number, request, &mut hints).await;
        match (settled, key) {
            // Nothing that the client was told has failed may happen later.
            (Err(HubError::NoAnswer), RequestKey::New) => {
                match link.exchange.withdraw(id, put.number).await {
                    Ok(false) => self.settled(link, id, put.number, request, &mut hints).await,
                    _ => Err(HubError::NoAnswer),
                }
            }
            (settled, _) => settled,
        }
    }

    /// Waits until an item is done or refused.
    async fn settled(
        self: &Arc<Self>,
        link: &ReplicaLink,
        id: &SessionId,
        number: i64,
        request: &InboxRequest,
        hints: &mut broadcast::Receiver<Hint>,
    ) -> Result<Settled, HubError> {
        let end = Instant::now() + ANSWER_TIME;
        self.have_taken(link, id).await?;
        while Instant::now() < end {
            match link.exchange.item_state(id, number).await? {
                None => return Ok(Settled::Gone),
                Some(ItemState::Done { through }) => {
                    self.show_through(id, through).await?;
                    return Ok(Settled::Done(through));
                }
                Some(ItemState::Withdrawn) => return Err(HubError::Withdrawn),
                Some(ItemState::Refused { reason }) => return Err(refused(&reason)),
                Some(ItemState::Waiting) => {}
            }
            if matches!(request, InboxRequest::Message { .. })
                && let Some(name) = self.waits(id, number)
            {
                return Ok(Settled::Queued(name));
            }
            hinted(hints, id, end.min(Instant::now() + LOOK_AGAIN)).await;
        }
        Err(HubError::NoAnswer)
    }

    /// Has a replica look into the inbox: the holder, or this one if there is none.
    async fn have_taken(
        self: &Arc<Self>,
        link: &ReplicaLink,
        id: &SessionId,
    ) -> Result<(), HubError> {
        if self.live_session(id).is_none() && !link.is_draining() {
            // Whoever has it is told by the database.
            match self.open(id).await {
                Ok(_) | Err(HubError::Closing) => {}
                // Its holder may have deleted it meanwhile; then there is no item either.
                Err(error) if error.is_in_use() || error.is_gone() => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(live) = self.live_session(id) {
            live.look_into_inbox();
        }
        Ok(())
    }

    /// The name of a message in the queue, if it waits for a running turn.
    fn waits(&self, id: &SessionId, number: i64) -> Option<u64> {
        let name = u64::try_from(number).ok()?;
        let waits = match self.open_session(id)? {
            OpenSession::Here(live) => live.waits(name),
            OpenSession::Elsewhere(remote) => {
                remote.standing.queue.iter().any(|queued| queued.id == name)
            }
        };
        waits.then_some(name)
    }

    /// Whoever asks this replica next sees the log up to here.
    async fn show_through(&self, id: &SessionId, sequence: u64) -> Result<(), HubError> {
        if let Some(live) = self.live_session(id) {
            live.shown_through(sequence).await;
        } else if let Some(feed) = self.known_feed(id) {
            feed.follow(&*self.linked()?.exchange).await?;
        }
        Ok(())
    }
}

fn value_of(request: &InboxRequest) -> Result<serde_json::Value, HubError> {
    serde_json::to_value(request)
        .map_err(|error| HubError::NotWritten { reason: error.to_string() })
}

/// Waits for a hint about a session, but not for longer than this.
async fn hinted(hints: &mut broadcast::Receiver<Hint>, id: &SessionId, end: Instant) {
    loop {
        match timeout_at(end, hints.recv()).await {
            Ok(Ok(
                Hint::Log { session, .. } | Hint::Inbox { session } | Hint::Standing { session },
            )) if session != *id => {}
            Ok(Ok(Hint::Questions)) => {}
            Err(_) | Ok(Ok(_) | Err(RecvError::Lagged(_))) => return,
            // The exchange is about to end: there is nothing to wait for but the time.
            Ok(Err(RecvError::Closed)) => return tokio::time::sleep_until(end).await,
        }
    }
}
