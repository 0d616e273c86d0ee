//! What the replicas of one service tell each other through their database.

use async_trait::async_trait;
use protocol::{LogEntry, SessionEvent};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::{QuestionBoard, RuleBoard, SessionId, StoreError};

/// What the replicas of one service tell each other through their database.
///
/// Whatever must not be lost is a row there. A [`Hint`] only says that it may be worth looking.
#[async_trait]
pub trait Exchange: QuestionBoard + RuleBoard {
    /// Puts something into a session's inbox. `key` is unique for the session for ever: the first item
    /// with it wins, and the answer says which item that was, so that a repeated request gets the same
    /// answer.
    async fn put(&self, session: &SessionId, key: &str, item: Value) -> Result<Put, StoreError>;

    /// What lies in the inbox of a session and is still waiting, in order.
    async fn inbox(&self, session: &SessionId) -> Result<Vec<InboxItem>, StoreError>;

    /// Appends events to a session that this replica holds, and marks items as done in the same
    /// transaction, so that a crash cannot lose or repeat one. If one of the items is not waiting any
    /// more, nothing is written ([`StoreError::ItemGone`]).
    async fn append_taking(
        &self,
        session: &SessionId,
        events: Vec<SessionEvent>,
        done: &[i64],
    ) -> Result<Vec<LogEntry>, StoreError>;

    /// What became of an item; none if there is no such item.
    async fn item_state(
        &self,
        session: &SessionId,
        number: i64,
    ) -> Result<Option<ItemState>, StoreError>;

    /// Refuses a waiting item of a session that this replica holds.
    async fn refuse(
        &self,
        session: &SessionId,
        number: i64,
        reason: &str,
    ) -> Result<(), StoreError>;

    /// Takes back an item that is still waiting. False if it is too late.
    async fn withdraw(&self, session: &SessionId, number: i64) -> Result<bool, StoreError>;

    /// Entries after a position, in order, at most `limit`. Entries that are damaged or unknown to
    /// this version are left out, but never the last of a full page alone: an empty answer means that
    /// there is nothing more.
    async fn entries_after(
        &self,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogEntry>, StoreError>;

    /// The replica that holds a session's lease, if it lives.
    async fn holder(&self, session: &SessionId) -> Result<Option<ReplicaInfo>, StoreError>;

    /// Sessions of these projects whose replica ended in the middle of a turn, or that have items in
    /// their inbox and no living holder; those that wait longest first.
    async fn orphans(
        &self,
        projects: &[String],
        limit: u32,
    ) -> Result<Vec<(String, SessionId)>, StoreError>;

    /// What this and other replicas have written, as hints: nothing may depend on one arriving. After
    /// [`Hint::Missed`], or when the receiver says that it has lagged, everything has to be looked at.
    fn hints(&self) -> broadcast::Receiver<Hint>;

    /// A small fact about a session that all replicas show. Written by the replica that holds it; what
    /// an earlier holder writes late is refused.
    async fn set_standing(&self, session: &SessionId, standing: Value) -> Result<(), StoreError>;

    /// The facts about these sessions, of those that have one.
    async fn standing(&self, sessions: &[SessionId])
    -> Result<Vec<(SessionId, Value)>, StoreError>;

    /// Says goodbye: what this replica holds can be claimed by others at once. Its own leases are lost.
    async fn leave(&self) -> Result<(), StoreError>;

    /// Is cancelled when this replica could not renew its presence in time and must stop its turns:
    /// others may take them over from here on. It then joins again as another replica with leases of
    /// its own, and a new token; so ask for the token before each claim.
    fn lost(&self) -> CancellationToken;

    /// This replica, as others see it.
    fn this_replica(&self) -> ReplicaInfo;

    /// The replicas that live, by name.
    async fn replicas(&self) -> Result<Vec<ReplicaInfo>, StoreError>;
}

/// Which item holds a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// The number of the item that holds the key.
    pub number: i64,
    /// Whether this call has put it there.
    pub is_first: bool,
}

/// Something in the inbox of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct InboxItem {
    /// Grows with every item.
    pub number: i64,
    /// What makes it unique in its session.
    pub key: String,
    /// What was put there.
    pub item: Value,
    /// When, by the database's clock: milliseconds since 1970, UTC.
    pub at: i64,
}

/// What became of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemState {
    /// No replica has taken it yet.
    Waiting,
    /// It was taken by an append.
    Done {
        /// The last position of that append.
        through: u64,
    },
    Refused {
        /// Why, as text for the user.
        reason: String,
    },
    /// It was taken back before any replica took it.
    Withdrawn,
}

/// A replica of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaInfo {
    /// Differs between replicas, and for one that has joined again.
    pub id: String,
    /// What its operator calls it.
    pub name: String,
    /// Where other replicas reach it, if it said so.
    pub addr: Option<String>,
}

/// That something may be worth looking at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// A log has grown, at least up to this position.
    Log {
        session: SessionId,
        /// The position of an entry that is there.
        sequence: u64,
    },
    /// Something was put into, or taken back from, an inbox, or an item of it was settled.
    Inbox { session: SessionId },
    /// What is said about a session has changed.
    Standing { session: SessionId },
    /// A question outside of sessions was asked, answered or settled.
    Questions,
    /// Hints may have been lost: look at everything again.
    Missed,
}
