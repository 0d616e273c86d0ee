//! Where a test keeps its sessions: an SQLite file or a database of PostgreSQL, which any number of stores can open.

use std::sync::Arc;

use store::{PostgresDatabase, PostgresOptions, SqliteStore, Store};
use tempfile::TempDir;

pub(crate) const FILE: &str = "sessions.db";
/// The project whose sessions tests look at.
pub(crate) const PROJECT: &str = "project";
/// Connections of one store. Many tests run at once on one server.
pub(crate) const CONNECTIONS: u32 = 4;

pub(crate) enum Stage {
    Sqlite(TempDir),
    Postgres(testkit::PostgresDatabase),
}

impl Stage {
    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    /// None where there is no PostgreSQL.
    pub(crate) fn postgres() -> Option<Self> {
        Some(Self::Postgres(testkit::Postgres::shared()?.database()))
    }

    /// Where it is, for another process.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Sqlite(dir) => dir.path().join(FILE).display().to_string(),
            Self::Postgres(database) => database.url().to_owned(),
        }
    }

    /// Opens what [`Self::place`] names.
    pub(crate) async fn open_at(place: &str) -> Arc<dyn Store> {
        if place.starts_with("postgres://") {
            let options = PostgresOptions::new(place, "other process");
            return Arc::new(replica_with(options).await.store(PROJECT));
        }
        Arc::new(SqliteStore::open(place).await.unwrap())
    }

    /// Opens it as another process would.
    pub(crate) async fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(dir) => Arc::new(open_file(dir).await),
            Self::Postgres(database) => Arc::new(replica(database, "replica").await.store(PROJECT)),
        }
    }
}

/// One more replica on a database.
pub(crate) async fn replica(database: &testkit::PostgresDatabase, name: &str) -> PostgresDatabase {
    replica_with(PostgresOptions::new(database.url(), name)).await
}

pub(crate) async fn replica_with(mut options: PostgresOptions) -> PostgresDatabase {
    options.connections = CONNECTIONS;
    PostgresDatabase::open(options).await.unwrap()
}

/// Makes of each function two tests, one for each database.
macro_rules! on_both {
    ($($(#[$about:meta])* async fn $name:ident($stage:ident) $body:block)+) => {$(
        $(#[$about])*
        mod $name {
            #[allow(unused_imports, reason = "not every test needs all that its file does")]
            use super::*;

            async fn holds($stage: crate::stage::Stage) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                holds(crate::stage::Stage::sqlite()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgresql() {
                let Some(stage) = crate::stage::Stage::postgres() else { return };
                holds(stage).await;
            }
        }
    )+};
}
pub(crate) use on_both;

/// A store in a directory that is removed with it.
pub(crate) async fn new_file() -> (TempDir, SqliteStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = open_file(&dir).await;
    (dir, store)
}

pub(crate) async fn open_file(dir: &TempDir) -> SqliteStore {
    SqliteStore::open(dir.path().join(FILE)).await.unwrap()
}
