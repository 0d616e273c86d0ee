//! Sessions in an SQLite file.
//!
//! One connection, on a thread of its own (`sqlx` sees to that), behind a lock. `write` is the path
//! that every event takes; the rest may take its time.

mod check;
mod counting;
mod db;
mod learn;
mod lease;
mod manage;
mod open;
mod packed;
mod read;
mod salvage;
mod schema;
mod search;
mod write;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{LogEntry, Opened, SessionEvent};
use sqlx::Connection as _;
use tokio::sync::Mutex;

use self::db::Db;
use crate::owner::Owner;
use crate::{
    CheckMode, CheckReport, DayStats, DaysFilter, DecisionFilter, Favourites, FoundMessages,
    Imported, Lease, ListFilter, Loaded, LoggedDecision, SessionCost, SessionId, SessionInfo,
    Stats, StatsFilter, Store, StoreError,
};

/// A store in one file. Clones are the same store.
///
/// The file is made by SQLite with the usual permissions; the directory it lies in keeps others out
/// and must exist. Two files beside it, `-wal` and `-shm`, belong to it.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    /// The path as given; files that replace a broken one lie beside it.
    base: PathBuf,
    owner: Owner,
    notes: Vec<String>,
    /// The numbers of the leases that are held right now.
    held: std::sync::Mutex<HashMap<SessionId, i64>>,
    db: Mutex<Db>,
}

impl SqliteStore {
    /// Opens the file, and makes it if there is none. A file that cannot be used is left as it is;
    /// another is begun beside it, with everything that can be read from the first.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let base = path.as_ref().to_owned();
        let (db, notes) = open::open(&base).await?;
        let owner = Owner::this_process()?;
        let inner = Inner { base, owner, notes, held: Default::default(), db: Mutex::new(db) };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What the user should know about how the file was opened; usually nothing.
    pub fn notes(&self) -> &[String] {
        &self.inner.notes
    }

    /// Closes the file in good order. Not doing so loses nothing; the next start is a little slower.
    /// As long as clones or leases are left, the file stays open.
    pub async fn close(self) -> Result<(), StoreError> {
        let Some(inner) = Arc::into_inner(self.inner) else { return Ok(()) };
        let file = inner.base.display().to_string();
        let db = inner.db.into_inner();
        db.conn.close().await.map_err(|error| db::explain(file, "closing the sessions", &error))
    }

    /// Lets work go on to its end, even if the caller's future is dropped: a transaction must not be
    /// left open halfway.
    async fn to_the_end<T, W>(&self, work: impl FnOnce(Arc<Inner>) -> W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let task = tokio::spawn(work(self.inner.clone()));
        task.await.unwrap_or_else(|error| Err(StoreError::failed("working on a session", error)))
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("base", &self.inner.base).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn create(&self, first: &Opened) -> Result<SessionId, StoreError> {
        let first = first.clone();
        self.to_the_end(|inner| async move { manage::create(&inner, &first).await }).await
    }

    async fn create_as(
        &self,
        id: &SessionId,
        first: &Opened,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, StoreError> {
        let (id, first) = (id.clone(), first.clone());
        self.to_the_end(|inner| async move { manage::create_as(&inner, &id, first, events).await })
            .await
    }

    async fn append(
        &self,
        id: &SessionId,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, StoreError> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let id = id.clone();
        self.to_the_end(|inner| async move { write::append(&inner, &id, events).await }).await
    }

    async fn load(&self, id: &SessionId) -> Result<Loaded, StoreError> {
        manage::load(&self.inner, id).await
    }

    async fn entry(&self, id: &SessionId, sequence: u64) -> Result<Option<LogEntry>, StoreError> {
        read::entry(&mut *self.inner.db.lock().await, id, sequence).await
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<SessionInfo>, StoreError> {
        read::list(&self.inner, &mut *self.inner.db.lock().await, filter).await
    }

    async fn info(&self, id: &SessionId) -> Result<Option<SessionInfo>, StoreError> {
        read::info(&self.inner, &mut *self.inner.db.lock().await, id).await
    }

    async fn find(&self, text: &str) -> Result<SessionId, StoreError> {
        manage::find(&self.inner, text).await
    }

    async fn rename(&self, id: &SessionId, title: &str) -> Result<LogEntry, StoreError> {
        let (id, title) = (id.clone(), title.to_owned());
        self.to_the_end(|inner| async move { manage::rename(&inner, &id, &title).await }).await
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let id = id.clone();
        self.to_the_end(|inner| async move { manage::delete(&inner, &id).await }).await
    }

    async fn fork(&self, id: &SessionId, at: Option<u64>) -> Result<SessionId, StoreError> {
        let id = id.clone();
        self.to_the_end(move |inner| async move { manage::fork(&inner, &id, at).await }).await
    }

    async fn export(&self, id: &SessionId) -> Result<String, StoreError> {
        manage::export(&self.inner, id).await
    }

    async fn import(&self, jsonl: &str) -> Result<Imported, StoreError> {
        let jsonl = jsonl.to_owned();
        self.to_the_end(|inner| async move { manage::import(&inner, &jsonl).await }).await
    }

    async fn import_as(&self, id: &SessionId, jsonl: &str) -> Result<Imported, StoreError> {
        let (id, jsonl) = (id.clone(), jsonl.to_owned());
        self.to_the_end(|inner| async move { manage::import_as(&inner, id, &jsonl).await }).await
    }

    async fn check(
        &self,
        id: Option<&SessionId>,
        mode: CheckMode,
    ) -> Result<CheckReport, StoreError> {
        let id = id.cloned();
        self.to_the_end(move |inner| async move { check::check(&inner, id.as_ref(), mode).await })
            .await
    }

    async fn stats(&self, filter: &StatsFilter) -> Result<Stats, StoreError> {
        let filter = filter.clone();
        self.to_the_end(|inner| async move { counting::stats(&inner, &filter).await }).await
    }

    async fn spent(&self, filter: &StatsFilter) -> Result<Vec<SessionCost>, StoreError> {
        let filter = filter.clone();
        self.to_the_end(|inner| async move { counting::spent(&inner, &filter).await }).await
    }

    async fn days(&self, filter: &DaysFilter) -> Result<Vec<DayStats>, StoreError> {
        let filter = filter.clone();
        self.to_the_end(|inner| async move { counting::days(&inner, &filter).await }).await
    }

    async fn decisions(&self, filter: &DecisionFilter) -> Result<Vec<LoggedDecision>, StoreError> {
        let filter = filter.clone();
        self.to_the_end(|inner| async move { counting::decisions(&inner, &filter).await }).await
    }

    async fn search(&self, words: &str, limit: usize) -> Result<FoundMessages, StoreError> {
        let words = words.to_owned();
        self.to_the_end(move |inner| async move { search::search(&inner, &words, limit).await })
            .await
    }

    async fn favourites(&self) -> Result<Favourites, StoreError> {
        self.to_the_end(|inner| async move { learn::favourites(&mut *inner.db.lock().await).await })
            .await
    }

    async fn clear_favourites(&self) -> Result<(), StoreError> {
        self.to_the_end(|inner| async move {
            learn::clear_favourites(&mut *inner.db.lock().await).await
        })
        .await
    }

    async fn claim(&self, id: &SessionId) -> Result<Lease, StoreError> {
        let id = id.clone();
        self.to_the_end(|inner| async move { lease::claim(&inner, &id).await }).await
    }
}
