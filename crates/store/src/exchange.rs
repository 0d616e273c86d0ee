//! What the replicas of one service tell each other through their database.

use async_trait::async_trait;
use protocol::{LogEntry, SessionEvent};
use tokio_util::sync::CancellationToken;

use crate::{SessionId, StoreError};

/// What became of [`Exchange::put`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// The number of the item that has the key.
    pub number: i64,
    /// Whether it is this one.
    pub is_first: bool,
}

/// An item of an inbox.
#[derive(Clone, Debug, PartialEq)]
pub struct InboxItem {
    /// Grows with every item of a session.
    pub number: i64,
    /// Unique in the session.
    pub key: String,
    /// What is asked for.
    pub item: serde_json::Value,
    /// Milliseconds since 1970, UTC.
    pub at: i64,
}

/// What became of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemState {
    /// Nothing yet.
    Waiting,
    /// It was taken; the log ended at this position then.
    Done {
        /// The last position of the append that took it.
        sequence: u64,
    },
    /// It will not be done.
    Refused {
        /// Why.
        reason: String,
    },
}

/// A process that serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaInfo {
    /// Unique for ever.
    pub id: String,
    /// For people.
    pub name: String,
}

/// Something may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// A log is longer.
    Log {
        /// Whose.
        session: SessionId,
        /// Its last position.
        sequence: u64,
    },
    /// An inbox has another item.
    Inbox {
        /// Whose.
        session: SessionId,
    },
    /// A standing was set.
    Standing,
    /// Hints were lost: look at everything again.
    Missed,
}

/// What the replicas of one service tell each other through their database.
#[async_trait]
pub trait Exchange: Send + Sync {
    /// Puts something into a session's inbox. `key` is unique for the session for ever: the first item with it wins,
    /// and the answer says which item that was.
    async fn put(
        &self,
        session: &SessionId,
        key: &str,
        item: serde_json::Value,
    ) -> Result<Put, StoreError>;
    /// What lies in the inbox of a session, in order, not yet done.
    async fn inbox(&self, session: &SessionId) -> Result<Vec<InboxItem>, StoreError>;
    /// Appends events, and marks items as done in the same transaction.
    async fn append_taking(
        &self,
        session: &SessionId,
        events: Vec<SessionEvent>,
        done: &[i64],
    ) -> Result<Vec<LogEntry>, StoreError>;
    /// What became of an item.
    async fn item_state(
        &self,
        session: &SessionId,
        number: i64,
    ) -> Result<Option<ItemState>, StoreError>;
    /// Says that an item will not be done.
    async fn refuse(
        &self,
        session: &SessionId,
        number: i64,
        reason: &str,
    ) -> Result<(), StoreError>;
    /// Takes back an item that has not been taken. False if it is too late.
    async fn withdraw(&self, session: &SessionId, number: i64) -> Result<bool, StoreError>;
    /// Entries after a position, in order, at most `limit`.
    async fn entries_after(
        &self,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogEntry>, StoreError>;
    /// The replica that holds a session's lease, if it lives.
    async fn holder(&self, session: &SessionId) -> Result<Option<ReplicaInfo>, StoreError>;
    /// Sessions of these projects whose replica died in mid-turn, or that have items in their inbox and no living
    /// holder.
    async fn orphans(
        &self,
        projects: &[String],
        limit: u32,
    ) -> Result<Vec<(String, SessionId)>, StoreError>;
    /// What others have written or asked, as hints: nothing may depend on one arriving.
    fn hints(&self) -> tokio::sync::broadcast::Receiver<Hint>;
    /// A small fact about a session that all replicas show: written by the holder, read by all.
    async fn set_standing(
        &self,
        session: &SessionId,
        standing: serde_json::Value,
    ) -> Result<(), StoreError>;
    /// The facts that were set last.
    async fn standing(
        &self,
        sessions: &[SessionId],
    ) -> Result<Vec<(SessionId, serde_json::Value)>, StoreError>;
    /// Says goodbye: claims of this replica are free at once.
    async fn leave(&self) -> Result<(), StoreError>;
    /// Fires when this replica could not renew in time and must stop its turns.
    fn lost(&self) -> CancellationToken;
}
