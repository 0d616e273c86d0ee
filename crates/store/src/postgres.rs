//! Sessions in a PostgreSQL database, for a service that runs on several machines.
//!
//! A team has one database with many projects. Each process that uses it is a replica (`presence`); which of them
//! may write to a session is decided by a lease in the session's row, whose epoch every append names.

mod connect;
mod hints;
mod migrate;
mod people;
mod presence;

use std::fmt;
use std::sync::Arc;

use sqlx::PgPool;

use self::connect::Place;
use self::hints::HintSender;
use self::presence::Presence;
use crate::StoreError;

/// Connections of one replica, if nothing else is said.
const DEFAULT_CONNECTIONS: u32 = 16;

/// How to open a database.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// Where it is: `postgres://user:password@host:port/database`.
    pub url: String,
    /// What this replica is called where others name it.
    pub name: String,
    /// Where other replicas reach this one, if they can.
    pub addr: Option<String>,
    /// The most connections that are open at once, besides the one that keeps the presence.
    pub connections: u32,
}

impl PostgresOptions {
    /// A replica with this name, with defaults for the rest.
    pub fn new(url: impl Into<String>, name: impl Into<String>) -> Self {
        Self { url: url.into(), name: name.into(), addr: None, connections: DEFAULT_CONNECTIONS }
    }
}

/// A database in which this process is one of the replicas. Clones are the same replica.
#[derive(Clone)]
pub struct PostgresDatabase {
    inner: Arc<Inner>,
}

/// The sessions of one project in a database. Clones are the same store.
#[derive(Clone)]
pub struct PostgresStore {
    inner: Arc<Inner>,
    project: Arc<str>,
}

struct Inner {
    pool: PgPool,
    place: Place,
    presence: Arc<Presence>,
    hints: Arc<HintSender>,
}

impl PostgresDatabase {
    /// Connects, brings the tables up to date and joins the replicas. Has to be called on a runtime
    /// that lives as long as the database is used.
    pub async fn open(options: PostgresOptions) -> Result<Self, StoreError> {
        let (connect, place) = connect::connect_options(&options.url)?;
        let pool = connect::pool(connect.clone(), &place, options.connections).await?;
        migrate::migrate(&pool, &place).await?;
        let presence = Arc::new(Presence::new(options.name, options.addr)?);
        let joined = presence.join(&pool).await;
        joined.map_err(|error| place.error("joining the replicas", &error))?;
        presence::keep(presence.clone(), connect)?;
        let hints = Arc::new(HintSender::new(presence.hints().clone()));
        hints::start(&hints, &pool);
        Ok(Self { inner: Arc::new(Inner { pool, place, presence, hints }) })
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
}

impl Drop for Inner {
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
