//! The partitions of the log, one for each month in which sessions began, and what is removed when it is old.

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, TryFutureExt as _};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};

use super::lease::lives;
use super::manage::remove;
use super::{PostgresDatabase, PostgresInner};
use crate::months::Month;
use crate::{SessionId, StoreError};

/// One replica at a time makes or removes partitions. The number is ours among all that use the database.
const LOCK: i64 = 0x7061_7274_6974_696f;
/// Partitions that are made before they are needed.
const AHEAD: i64 = 2;
/// Ids from before are not made by a clock that can be trusted: their sessions share one partition, as do those from
/// the future.
const FIRST: &str = "2024_01";
const PREFIX: &str = "events_";
/// Sessions that are removed in one transaction.
const REMOVED_AT_ONCE: i64 = 100;

/// What a removal of old sessions has removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Sessions, those in partitions included.
    pub sessions: u64,
    /// Partitions as a whole.
    pub partitions: u64,
}

impl PostgresDatabase {
    /// Removes sessions to which nothing was written for some days, by the database's clock, with everything
    /// derived from them. Those that a replica holds, or whose inbox is not empty, stay.
    pub fn remove_older_than(&self, days: u32) -> BoxFuture<'_, Result<Removed, StoreError>> {
        let removing = async move {
            let mut conn = self.inner.pool.acquire().await?;
            let mut removed = remove_partitions(&mut conn, days).await?;
            loop {
                let count = remove_some(&mut conn, days).await?;
                removed.sessions += count;
                if count == 0 {
                    return Ok(removed);
                }
            }
        };
        let told = |error: sqlx::Error| self.inner.place.error("removing old sessions", &error);
        removing.map_err(told).boxed()
    }
}

/// Makes the partitions of this month and the next ones, by the database's clock.
pub(super) async fn make_ahead(inner: &PostgresInner) -> Result<(), sqlx::Error> {
    let mut conn = inner.pool.acquire().await?;
    let now = month_of_database(&mut conn).await?;
    // Clocks of replicas may be a little behind.
    for month in (-1..=AHEAD).map(|months| now.plus(months)) {
        make(inner, &mut conn, month).await?;
    }
    Ok(())
}

/// Sees to it that there is a partition for a session that is about to begin.
pub(super) async fn make_for(inner: &PostgresInner, id: &SessionId) -> Result<(), sqlx::Error> {
    let month = Month::of_session(id);
    if inner.months().contains(&month) {
        return Ok(());
    }
    let mut conn = inner.pool.acquire().await?;
    let last = month_of_database(&mut conn).await?.plus(AHEAD);
    let is_plausible = Month::parse(FIRST).is_some_and(|first| first <= month) && month <= last;
    if is_plausible {
        make(inner, &mut conn, month).await?;
    }
    Ok(())
}

async fn month_of_database(conn: &mut PgConnection) -> Result<Month, sqlx::Error> {
    let now = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    Ok(Month::of(sqlx::query_scalar(now).fetch_one(conn).await?))
}

async fn make(
    inner: &PostgresInner,
    conn: &mut PgConnection,
    month: Month,
) -> Result<(), sqlx::Error> {
    let name = format!("{PREFIX}{}", month.name());
    let mut tx = conn.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *tx).await?;
    let is_there = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL").bind(&name);
    if !is_there.fetch_one(&mut *tx).await? {
        let (from, to) = (month.first_id(), month.plus(1).first_id());
        // Sessions of the month may have begun where all others are.
        let sql = format!(
            "CREATE TABLE {name} (LIKE events INCLUDING ALL);
             WITH moved AS (DELETE FROM events_other
                 WHERE session >= '{from}' AND session < '{to}' RETURNING *)
             INSERT INTO {name} SELECT * FROM moved;
             ALTER TABLE events ATTACH PARTITION {name} FOR VALUES FROM ('{from}') TO ('{to}')"
        );
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    inner.months().insert(month);
    Ok(())
}

/// The condition that a session is not old, or not free.
fn stays() -> String {
    format!(
        "(written >= clock_timestamp() - make_interval(days => $1) \
         OR EXISTS (SELECT 1 FROM replicas WHERE replicas.id = replica AND {}) \
         OR EXISTS (SELECT 1 FROM inbox WHERE session = sessions.id AND inbox.state = 'waiting'))",
        lives()
    )
}

/// Removes the partitions of which all is old.
async fn remove_partitions(conn: &mut PgConnection, days: u32) -> Result<Removed, sqlx::Error> {
    let names = "SELECT relname::text FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid \
                 WHERE inhparent = 'events'::regclass ORDER BY relname";
    let names: Vec<String> = sqlx::query_scalar(names).fetch_all(&mut *conn).await?;
    let now = month_of_database(conn).await?;
    let mut removed = Removed::default();
    for name in names {
        let month = name.strip_prefix(PREFIX).and_then(Month::parse);
        // New sessions can begin in those of this month and the one before.
        if let Some(month) = month.filter(|month| month.plus(1) < now)
            && let Some(sessions) = remove_partition(conn, &name, month, days).await?
        {
            removed.sessions += sessions;
            removed.partitions += 1;
        }
    }
    Ok(removed)
}

/// Removes a partition with the sessions in it, and says how many; none if some of them stay.
async fn remove_partition(
    conn: &mut PgConnection,
    name: &str,
    month: Month,
    days: u32,
) -> Result<Option<u64>, sqlx::Error> {
    let mut tx = conn.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *tx).await?;
    let (from, to) = (month.first_id(), month.plus(1).first_id());
    // In the order of an append: it locks its session, then the table that it writes to.
    let all = "SELECT id FROM sessions WHERE id >= $1 AND id < $2 ORDER BY id FOR UPDATE";
    let all = sqlx::query_scalar(all).bind(from.as_str()).bind(to.as_str());
    let all: Vec<String> = all.fetch_all(&mut *tx).await?;
    let sql = format!("SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ANY($2) AND {})", stays());
    let stay = sqlx::query_scalar(AssertSqlSafe(sql)).bind(i32::try_from(days).unwrap_or(i32::MAX));
    if stay.bind(&all).fetch_one(&mut *tx).await? {
        return Ok(None);
    }
    let lock = format!("LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE");
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut *tx).await?;
    // A session may have been copied into the month until now.
    let now = "SELECT count(*) FROM sessions WHERE id >= $1 AND id < $2";
    let now = sqlx::query_scalar::<_, i64>(now).bind(from.as_str()).bind(to.as_str());
    if usize::try_from(now.fetch_one(&mut *tx).await?) != Ok(all.len()) {
        return Ok(None);
    }
    sqlx::raw_sql(AssertSqlSafe(format!("DROP TABLE {name}"))).execute(&mut *tx).await?;
    for id in all.iter().filter_map(|id| id.parse().ok()) {
        remove(&mut tx, &id).await?;
    }
    tx.commit().await?;
    Ok(Some(all.len() as u64))
}

/// Removes some old sessions one by one, and says how many.
async fn remove_some(conn: &mut PgConnection, days: u32) -> Result<u64, sqlx::Error> {
    let mut tx = conn.begin().await?;
    let sql = format!(
        "SELECT id FROM sessions WHERE NOT {} ORDER BY id LIMIT {REMOVED_AT_ONCE} \
         FOR UPDATE SKIP LOCKED",
        stays()
    );
    let old = sqlx::query_scalar(AssertSqlSafe(sql)).bind(i32::try_from(days).unwrap_or(i32::MAX));
    let old: Vec<String> = old.fetch_all(&mut *tx).await?;
    for id in old.iter().filter_map(|id| id.parse().ok()) {
        remove(&mut tx, &id).await?;
    }
    tx.commit().await?;
    Ok(old.len() as u64)
}
