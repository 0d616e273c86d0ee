//! The trait of all stores.

use std::sync::Arc;

use async_trait::async_trait;
use protocol::{LogEntry, Opened, SessionEvent};

use crate::{
    CheckMode, CheckReport, DayStats, DaysFilter, DecisionFilter, Favourites, FoundMessages, Lease,
    ListFilter, LoggedDecision, SessionCost, SessionId, SessionInfo, Stats, StatsFilter,
    StoreError,
};

/// Keeps sessions and their logs.
#[async_trait]
pub trait Store: Send + Sync {
    /// Begins a session; its log holds that it was opened.
    async fn create(&self, first: &Opened) -> Result<SessionId, StoreError>;

    /// Begins a session under an id that [`SessionId::generate`] made, with events that follow its
    /// opening, all or nothing. Returns the entries with the opening first.
    async fn create_as(
        &self,
        id: &SessionId,
        first: &Opened,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, StoreError>;

    /// Writes events at the end of a session's log, all or none, and returns them with their
    /// positions. They are safe from the end of the process once this returns, even if the caller
    /// stops waiting.
    async fn append(
        &self,
        id: &SessionId,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, StoreError>;

    /// Everything of a session's log that can be read.
    async fn load(&self, id: &SessionId) -> Result<Loaded, StoreError>;

    /// One entry of a session's log; none if it is not there, damaged or unknown to this version.
    async fn entry(&self, id: &SessionId, sequence: u64) -> Result<Option<LogEntry>, StoreError>;

    /// Sessions in short, the one written last first.
    async fn list(&self, filter: &ListFilter) -> Result<Vec<SessionInfo>, StoreError>;

    /// One session in short; none if it is not there, or its summary cannot be read.
    async fn info(&self, id: &SessionId) -> Result<Option<SessionInfo>, StoreError>;

    /// The session that a user means: by its id, the beginning or end of it, or its title.
    async fn find(&self, text: &str) -> Result<SessionId, StoreError>;

    /// Gives a session a name.
    async fn rename(&self, id: &SessionId, title: &str) -> Result<LogEntry, StoreError>;

    /// Removes a session and everything derived from it.
    async fn delete(&self, id: &SessionId) -> Result<(), StoreError>;

    /// Begins a session with the log of another up to an entry, or all of it. The cut is moved back
    /// to where no answer and no call is left half done.
    async fn fork(&self, id: &SessionId, at: Option<u64>) -> Result<SessionId, StoreError>;

    /// A session as JSONL: a header, then one entry a line.
    async fn export(&self, id: &SessionId) -> Result<String, StoreError>;

    /// Makes a session from what [`Store::export`] wrote. Lines that cannot be read are left out and
    /// named.
    async fn import(&self, jsonl: &str) -> Result<Imported, StoreError>;

    /// Makes a session under an id that it has elsewhere, as [`copy_sessions`](crate::copy_sessions) does. Fails if
    /// there is one already.
    async fn import_as(&self, id: &SessionId, jsonl: &str) -> Result<Imported, StoreError>;

    /// Looks for damage in one session or all, and repairs it if asked to. Nothing that was written is
    /// ever thrown away.
    async fn check(
        &self,
        id: Option<&SessionId>,
        mode: CheckMode,
    ) -> Result<CheckReport, StoreError>;

    /// What was used, how often and for how long.
    async fn stats(&self, filter: &StatsFilter) -> Result<Stats, StoreError>;

    /// What sessions have spent themselves. What a fork has in common with the session that it was made from was spent
    /// there, whether that is still there or not.
    async fn spent(&self, filter: &StatsFilter) -> Result<Vec<SessionCost>, StoreError>;

    /// What was done on each day, the first one first. Days on which nothing was done are left out.
    async fn days(&self, filter: &DaysFilter) -> Result<Vec<DayStats>, StoreError>;

    /// Answers to questions of sessions, the latest first; of the same moment, those of the session with the greater
    /// id first.
    async fn decisions(&self, filter: &DecisionFilter) -> Result<Vec<LoggedDecision>, StoreError>;

    /// The messages and answers that hold all of some words, one of each session, the newest first.
    async fn search(&self, words: &str, limit: usize) -> Result<FoundMessages, StoreError>;

    /// What has been learned from sessions so far.
    async fn favourites(&self) -> Result<Favourites, StoreError>;

    /// Forgets what was learned. The logs stay; what is learned starts anew from here.
    async fn clear_favourites(&self) -> Result<(), StoreError>;

    /// Makes the caller the only one who may write to a session, until the lease is dropped or its
    /// process ends.
    async fn claim(&self, id: &SessionId) -> Result<Lease, StoreError>;
}

/// A database with the sessions of several projects.
#[async_trait]
pub trait ProjectStores: Send + Sync {
    /// The projects that have sessions at this moment, by name.
    async fn project_stores(&self) -> Result<Vec<(String, Arc<dyn Store>)>, StoreError>;
}

/// What could be read of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The entries in order. Each stands there exactly as it was written; positions are missing only
    /// where entries are damaged or unknown.
    pub entries: Vec<LogEntry>,
    /// What could not be read, as text for the user. Empty if the log is whole.
    pub damage: Vec<String>,
}

/// A session that was made from an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Its id, which is a new one.
    pub id: SessionId,
    /// What could not be read, as text for the user. Empty if everything could.
    pub damage: Vec<String>,
}
