//! Sessions in a PostgreSQL database, for a service that runs on several machines.
//!
//! A team has one database with many projects. Each process that uses it is a replica (`presence`); which of them
//! may write to a session is decided by a lease in the session's row, whose epoch every append names.

mod check;
mod connect;
mod counting;
mod hints;
mod inbox;
mod learn;
mod lease;
mod manage;
mod migrate;
mod partitions;
mod people;
mod presence;
mod questions;
mod read;
mod rules;
mod search;
mod write;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{LogEntry, Opened, SessionEvent};
use sqlx::PgPool;

use self::connect::Place;
use self::hints::HintSender;
pub use self::partitions::Removed;
use self::presence::{HeldLease, Presence};
use crate::id::now_ms;
use crate::months::Month;
use crate::{
    CheckMode, CheckReport, DayStats, DaysFilter, DecisionFilter, Favourites, FoundMessages,
    Imported, Lease, ListFilter, Loaded, LoggedDecision, ProjectStores, SessionCost, SessionId,
    SessionInfo, Stats, StatsFilter, Store, StoreError,
};

/// Connections of one replica, if nothing else is said.
const DEFAULT_CONNECTIONS: u32 = 16;
/// How long a question waits for an answer. The server gives up on its own a little earlier, unless the way to it is
/// broken and it cannot say so.
const MOST_TIME: Duration = Duration::from_secs(65);

const READING: &str = "reading the session";
const LISTING: &str = "listing sessions";
const COUNTING: &str = "reading what was done";

/// What time it is: milliseconds since 1970, UTC.
type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// How to open a database.
#[derive(Clone)]
pub struct PostgresOptions {
    /// Where it is: `postgres://user:password@host:port/database`.
    pub url: String,
    /// What this replica is called where others name it.
    pub name: String,
    /// Where other replicas reach this one, if they can.
    pub addr: Option<String>,
    /// The most connections that are open at once, besides the one that keeps the presence.
    pub connections: u32,
    /// The clock of this machine. It says when events are written and is part of new ids; it decides nothing.
    clock: Clock,
}

impl PostgresOptions {
    /// A replica with this name, with defaults for the rest.
    pub fn new(url: impl Into<String>, name: impl Into<String>) -> Self {
        let (url, name) = (url.into(), name.into());
        let clock = Arc::new(now_ms);
        Self { url, name, addr: None, connections: DEFAULT_CONNECTIONS, clock }
    }

    /// With another clock, in milliseconds since 1970: for tests of machines whose clock is wrong.
    pub fn with_clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may hold a password.
        f.debug_struct("PostgresOptions").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A database in which this process is one of the replicas. Clones are the same replica.
#[derive(Clone)]
pub struct PostgresDatabase {
    inner: Arc<PostgresInner>,
}

/// The sessions of one project in a database. Clones are the same store.
#[derive(Clone)]
pub struct PostgresStore {
    inner: Arc<PostgresInner>,
    project: Arc<str>,
}

struct PostgresInner {
    pool: PgPool,
    place: Place,
    presence: Arc<Presence>,
    hints: Arc<HintSender>,
    clock: Clock,
    /// Months whose partition is known to be there.
    months: Mutex<HashSet<Month>>,
}

impl PostgresInner {
    fn months(&self) -> MutexGuard<'_, HashSet<Month>> {
        self.months.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        (self.clock)()
    }

    fn new_id(&self) -> Result<SessionId, StoreError> {
        SessionId::generate_at(self.now())
    }
}

/// Lets work go on to its end, even if the caller's future is dropped.
async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let task = tokio::spawn(work);
    task.await.unwrap_or_else(|error| Err(StoreError::failed("working on a session", error)))
}

impl PostgresDatabase {
    /// Connects, brings the tables up to date and joins the replicas. Has to be called on a runtime
    /// that lives as long as the database is used.
    pub fn open(options: PostgresOptions) -> BoxFuture<'static, Result<Self, StoreError>> {
        // Behind a pointer, so that it is compiled here and not again where it is called.
        let opening = async move {
            let (connect, place) = connect::connect_options(&options.url)?;
            let pool = connect::pool(connect.clone(), &place, options.connections).await?;
            migrate::migrate(&pool, &place).await?;
            let presence = Arc::new(Presence::new(options.name, options.addr)?);
            let joined = presence.join(&presence.id(), &pool).await;
            joined.map_err(|error| place.error("joining the replicas", &error))?;
            presence::keep(presence.clone(), connect).await?;
            let hints = Arc::new(HintSender::new(presence.hints().clone()));
            hints::start(&hints, &pool);
            let clock = options.clock;
            let months = Mutex::default();
            let inner = Arc::new(PostgresInner { pool, place, presence, hints, clock, months });
            let made = partitions::make_ahead(&inner).await;
            made.map_err(|error| inner.place.error("preparing the database", &error))?;
            Ok(Self { inner })
        };
        opening.boxed()
    }

    /// Where it is, without a password.
    pub fn place(&self) -> String {
        self.inner.place.to_string()
    }

    /// The projects that have sessions, by name.
    pub async fn projects(&self) -> Result<Vec<String>, StoreError> {
        let query = sqlx::query_scalar("SELECT DISTINCT project FROM sessions ORDER BY project");
        let found = query.fetch_all(&self.inner.pool).await;
        found.map_err(|error| self.inner.place.error("listing projects", &error))
    }

    /// The sessions of one project.
    pub fn store(&self, project: &str) -> PostgresStore {
        PostgresStore { inner: self.inner.clone(), project: project.into() }
    }

    /// The connections, for tables beside those of sessions.
    pub fn pool(&self) -> &PgPool {
        &self.inner.pool
    }

    /// An error of the database as one for users; `doing` says what was being done.
    pub fn error(&self, doing: &str, error: &sqlx::Error) -> StoreError {
        self.inner.place.error(doing, error)
    }

    /// The lease of a session that this process has.
    fn held(&self, session: &SessionId) -> Result<HeldLease, StoreError> {
        let held = self.inner.presence.held().get(session).filter(|lease| !lease.is_lost).cloned();
        held.ok_or_else(|| StoreError::LeaseLost { session: session.clone() })
    }

    async fn bounded<T>(
        &self,
        doing: &str,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, StoreError> {
        self.inner.bounded(doing, work).await
    }
}

impl PostgresInner {
    /// Waits for an answer, but not for ever.
    async fn bounded<T>(
        &self,
        doing: &str,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, StoreError> {
        let late = || sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
        let done = tokio::time::timeout(MOST_TIME, work).await.unwrap_or_else(|_| Err(late()));
        done.map_err(|error| self.place.error(doing, &error))
    }
}

impl Drop for PostgresInner {
    fn drop(&mut self) {
        self.presence.close();
    }
}

impl fmt::Debug for PostgresDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresDatabase").field(&self.inner.place).finish()
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.inner.place;
        f.debug_struct("PostgresStore")
            .field("place", place)
            .field("project", &self.project)
            .finish()
    }
}

#[async_trait]
impl ProjectStores for PostgresDatabase {
    async fn project_stores(&self) -> Result<Vec<(String, Arc<dyn Store>)>, StoreError> {
        let store = |name: String| {
            let store: Arc<dyn Store> = Arc::new(self.store(&name));
            (name, store)
        };
        Ok(self.projects().await?.into_iter().map(store).collect())
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn create(&self, first: &Opened) -> Result<SessionId, StoreError> {
        let id = self.inner.new_id()?;
        self.create_as(&id, first, Vec::new()).await?;
        Ok(id)
    }

    async fn create_as(
        &self,
        id: &SessionId,
        first: &Opened,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, StoreError> {
        let (store, id, first) = (self.clone(), id.clone(), first.clone());
        to_the_end(async move { manage::create_as(&store, &id, first, events).await }).await
    }

    async fn append(
        &self,
        id: &SessionId,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, StoreError> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let (store, id) = (self.clone(), id.clone());
        to_the_end(async move {
            write::append(&store.inner, Some(&store.project), &id, events, &[]).await
        })
        .await
    }

    async fn load(&self, id: &SessionId) -> Result<Loaded, StoreError> {
        manage::load(self, id).await
    }

    async fn entry(&self, id: &SessionId, sequence: u64) -> Result<Option<LogEntry>, StoreError> {
        self.inner.bounded(READING, read::entry(self, id, sequence)).await
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<SessionInfo>, StoreError> {
        self.inner.bounded(LISTING, read::list(self, filter)).await
    }

    async fn info(&self, id: &SessionId) -> Result<Option<SessionInfo>, StoreError> {
        self.inner.bounded(LISTING, read::info(self, id)).await
    }

    async fn find(&self, text: &str) -> Result<SessionId, StoreError> {
        manage::find(self, text).await
    }

    async fn rename(&self, id: &SessionId, title: &str) -> Result<LogEntry, StoreError> {
        let (store, id, title) = (self.clone(), id.clone(), title.to_owned());
        to_the_end(async move { manage::rename(&store, &id, &title).await }).await
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let (store, id) = (self.clone(), id.clone());
        to_the_end(async move { manage::delete(&store, &id).await }).await
    }

    async fn fork(&self, id: &SessionId, at: Option<u64>) -> Result<SessionId, StoreError> {
        let (store, id) = (self.clone(), id.clone());
        to_the_end(async move { manage::fork(&store, &id, at).await }).await
    }

    async fn export(&self, id: &SessionId) -> Result<String, StoreError> {
        manage::export(self, id).await
    }

    async fn import(&self, jsonl: &str) -> Result<Imported, StoreError> {
        let (store, jsonl) = (self.clone(), jsonl.to_owned());
        to_the_end(async move { manage::import(&store, &jsonl).await }).await
    }

    async fn import_as(&self, id: &SessionId, jsonl: &str) -> Result<Imported, StoreError> {
        let (store, id, jsonl) = (self.clone(), id.clone(), jsonl.to_owned());
        to_the_end(async move { manage::import_as(&store, id, &jsonl).await }).await
    }

    async fn check(
        &self,
        id: Option<&SessionId>,
        mode: CheckMode,
    ) -> Result<CheckReport, StoreError> {
        let (store, id) = (self.clone(), id.cloned());
        to_the_end(async move { check::check(&store, id.as_ref(), mode).await }).await
    }

    async fn stats(&self, filter: &StatsFilter) -> Result<Stats, StoreError> {
        self.inner.bounded(COUNTING, counting::stats(self, filter)).await
    }

    async fn spent(&self, filter: &StatsFilter) -> Result<Vec<SessionCost>, StoreError> {
        self.inner.bounded(COUNTING, counting::spent(self, filter)).await
    }

    async fn days(&self, filter: &DaysFilter) -> Result<Vec<DayStats>, StoreError> {
        self.inner.bounded(COUNTING, counting::days(self, filter)).await
    }

    async fn decisions(&self, filter: &DecisionFilter) -> Result<Vec<LoggedDecision>, StoreError> {
        self.inner.bounded(COUNTING, counting::decisions(self, filter)).await
    }

    async fn search(&self, words: &str, limit: usize) -> Result<FoundMessages, StoreError> {
        self.inner.bounded("searching sessions", search::search(self, words, limit)).await
    }

    async fn favourites(&self) -> Result<Favourites, StoreError> {
        self.inner.bounded(COUNTING, learn::favourites(self)).await
    }

    async fn clear_favourites(&self) -> Result<(), StoreError> {
        self.inner.bounded("forgetting what was learned", learn::clear_favourites(self)).await
    }

    async fn claim(&self, id: &SessionId) -> Result<Lease, StoreError> {
        let (store, id) = (self.clone(), id.clone());
        to_the_end(async move { lease::claim(&store.inner, &store.project, &id).await }).await
    }
}
