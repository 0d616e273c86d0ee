//! Statistics and decisions: the rows that are derived from the logs, brought up to date with every question, and what
//! SQLite adds up from them.

use futures_util::TryStreamExt as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection as _, QueryBuilder, Row as _, Sqlite};

use super::Inner;
use super::learn::INHERITED;
use crate::call_reader::KINDS;
use crate::counting::{Counting, STEP_ENTRIES, VERSION};
use crate::event_data::EventData;
use crate::{
    DayStats, DaysFilter, DecisionFilter, LoggedDecision, SessionCost, SessionId, Stats,
    StatsFilter, StoreError, decision, stats_query,
};

const DOING: &str = "reading what was done";

/// They are made when they are first needed, so that a program that does not know them can use the file.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS counted (
        session TEXT NOT NULL, sequence INTEGER NOT NULL, at INTEGER NOT NULL, what TEXT NOT NULL,
        name TEXT NOT NULL, model TEXT NOT NULL, word TEXT, duration_ms INTEGER NOT NULL,
        tokens INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,
        cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, cost REAL,
        PRIMARY KEY (session, sequence)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS decided (
        session TEXT NOT NULL, sequence INTEGER NOT NULL, at INTEGER NOT NULL, by_user TEXT,
        subject TEXT NOT NULL, is_approved INTEGER NOT NULL, is_remembered INTEGER NOT NULL,
        PRIMARY KEY (session, sequence)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS decided_at ON decided (at, session, sequence);
    CREATE TABLE IF NOT EXISTS counted_through (
        session TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL, version INTEGER NOT NULL,
        kept TEXT NOT NULL
    ) WITHOUT ROWID;";

pub(super) async fn stats(inner: &Inner, filter: &StatsFilter) -> Result<Stats, StoreError> {
    let wanted = SqliteSelection::new(filter.since, filter.sessions.as_deref());
    wanted.catch_up(inner).await?;
    let db = &mut *inner.db.lock().await;
    let done = async {
        // All answers are about the same moment.
        let mut tx = db.conn.begin().await?;
        let groups = wanted.rows(&mut tx, &stats_query::groups()).await?;
        let words = wanted.rows(&mut tx, stats_query::WORDS).await?;
        let sessions = wanted.rows(&mut tx, &stats_query::sessions()).await?;
        stats_query::stats(&groups, &words, &sessions)
    };
    let done: Result<Stats, sqlx::Error> = done.await;
    done.map_err(|error| db.error(DOING, &error))
}

pub(super) async fn spent(
    inner: &Inner,
    filter: &StatsFilter,
) -> Result<Vec<SessionCost>, StoreError> {
    let wanted = SqliteSelection::new(filter.since, filter.sessions.as_deref());
    wanted.catch_up(inner).await?;
    let db = &mut *inner.db.lock().await;
    let rows = wanted.rows(&mut db.conn, stats_query::SPENT).await;
    let spent = rows.and_then(|rows| stats_query::spent(&rows));
    spent.map_err(|error| db.error(DOING, &error))
}

pub(super) async fn days(inner: &Inner, filter: &DaysFilter) -> Result<Vec<DayStats>, StoreError> {
    let wanted = SqliteSelection::new(filter.since, filter.sessions.as_deref());
    wanted.catch_up(inner).await?;
    let db = &mut *inner.db.lock().await;
    let done = async {
        let mut tx = db.conn.begin().await?;
        let ahead = filter.ahead_minutes;
        let groups = wanted.rows(&mut tx, &stats_query::day_groups(ahead)).await?;
        let durations = wanted.rows(&mut tx, &stats_query::day_durations(ahead)).await?;
        stats_query::days(&groups, &durations)
    };
    let done: Result<Vec<DayStats>, sqlx::Error> = done.await;
    done.map_err(|error| db.error(DOING, &error))
}

pub(super) async fn decisions(
    inner: &Inner,
    filter: &DecisionFilter,
) -> Result<Vec<LoggedDecision>, StoreError> {
    SqliteSelection::new(filter.since, None).catch_up(inner).await?;
    let db = &mut *inner.db.lock().await;
    let (at, session, sequence) = filter.behind.clone().unwrap_or((i64::MAX, String::new(), 0));
    let query = sqlx::query(AssertSqlSafe(decision::query(INHERITED, "")))
        .bind(filter.since.unwrap_or(i64::MIN))
        .bind(filter.before.unwrap_or(i64::MAX))
        .bind(filter.by.as_deref())
        .bind(at)
        .bind(session)
        .bind(sequence)
        .bind(i64::from(filter.limit))
        .bind(filter.leaving.as_ref().map(SessionId::as_str));
    let rows = query.fetch_all(&mut db.conn).await;
    let read =
        |rows: Vec<SqliteRow>| rows.iter().map(|row| LoggedDecision::from_row(row)).collect();
    rows.and_then(read).map_err(|error: sqlx::Error| db.error(DOING, &error))
}

/// The sessions that a question is about.
struct SqliteSelection {
    since: i64,
    /// As a list in JSON.
    only: Option<String>,
}

impl SqliteSelection {
    fn new(since: Option<i64>, only: Option<&[SessionId]>) -> Self {
        let ids = |ids: &[SessionId]| {
            let ids: Vec<&str> = ids.iter().map(SessionId::as_str).collect();
            serde_json::json!(ids).to_string()
        };
        Self { since: since.unwrap_or(i64::MIN), only: only.map(ids) }
    }

    /// Which rows of `sessions` they are.
    const CONDITION: &str =
        "updated >= $1 AND ($2 IS NULL OR own.id IN (SELECT value FROM json_each($2)))";

    /// The answer to a question about what they did since then.
    async fn rows(
        &self,
        conn: &mut SqliteConnection,
        question: &str,
    ) -> Result<Vec<SqliteRow>, sqlx::Error> {
        let sql = format!(
            "WITH wanted AS MATERIALIZED (SELECT id, updated, coalesce(title, opening) AS title, \
             {INHERITED} AS inherited FROM sessions AS own WHERE {}), \
             seen AS (SELECT counted.* FROM wanted JOIN counted ON session = id \
             WHERE sequence > inherited AND at >= $1 AND what <> 'forked') {question}",
            Self::CONDITION
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(self.since).bind(self.only.as_deref());
        query.fetch_all(conn).await
    }

    /// Reads what was written since the last question, in steps between which others get at the file.
    async fn catch_up(&self, inner: &Inner) -> Result<(), StoreError> {
        let mut db = inner.db.lock().await;
        let stale = self.stale(&mut db.conn).await;
        let stale = stale.map_err(|error| db.error(DOING, &error))?;
        drop(db);
        for (session, goal) in stale {
            loop {
                let mut db = inner.db.lock().await;
                let through = step(&mut db.conn, &session, goal).await;
                let through = through.map_err(|error| db.error(DOING, &error))?;
                drop(db);
                if through >= goal {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// The sessions that were not read to their end, and where that is.
    async fn stale(&self, conn: &mut SqliteConnection) -> Result<Vec<(String, i64)>, sqlx::Error> {
        if !has_tables(conn).await? {
            let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
            sqlx::raw_sql(TABLES).execute(&mut *tx).await?;
            tx.commit().await?;
        }
        let sql = format!(
            "SELECT id, own.last FROM sessions AS own LEFT JOIN counted_through AS done \
             ON session = id WHERE (done.last IS NOT own.last OR version <> $3) AND {}",
            Self::CONDITION
        );
        let query = sqlx::query_as(AssertSqlSafe(sql)).bind(self.since).bind(self.only.as_deref());
        query.bind(VERSION).fetch_all(conn).await
    }
}

async fn has_tables(conn: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let query = "SELECT count(*) FROM sqlite_schema WHERE name = 'counted_through'";
    Ok(sqlx::query_scalar::<_, i64>(query).fetch_one(conn).await? > 0)
}

/// Reads some more of a session, and says through which entry.
async fn step(conn: &mut SqliteConnection, session: &str, goal: i64) -> Result<i64, sqlx::Error> {
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    let known = "SELECT last, kept FROM counted_through WHERE session = ? AND version = ?";
    let known = sqlx::query_as(known).bind(session).bind(VERSION);
    let known: Option<(i64, String)> = known.fetch_optional(&mut *tx).await?;
    let resumed = known.and_then(|(last, kept)| Some((last, Counting::resume(&kept)?)));
    let (after, mut counting) = match resumed {
        Some(resumed) => resumed,
        None => {
            forget_in(&mut tx, session).await?;
            (0, Counting::default())
        }
    };
    let (mut read, mut through) = (0, after);
    {
        let kinds = KINDS.map(|kind| format!("'{kind}'")).join(", ");
        let sql = format!(
            "SELECT sequence, at, kind, data FROM events WHERE session = ? AND sequence > ? \
             AND sequence <= ? AND kind IN ({kinds}) ORDER BY sequence LIMIT {STEP_ENTRIES}"
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(session).bind(after).bind(goal);
        let mut rows = query.fetch(&mut *tx);
        while let Some(row) = rows.try_next().await? {
            read += 1;
            through = row.try_get("sequence")?;
            // Rows that are damaged are passed over; a check names them.
            let (Ok(at), Ok(kind), Ok(data)) = (
                row.try_get::<i64, _>("at"),
                row.try_get::<&str, _>("kind"),
                row.try_get::<EventData<'_>, _>("data"),
            ) else {
                continue;
            };
            counting.read(through, at, kind, data);
        }
    }
    if read < STEP_ENTRIES {
        through = goal.max(through);
    }
    insert(&mut tx, session, &counting).await?;
    let mark = "INSERT OR REPLACE INTO counted_through (session, last, version, kept) \
                VALUES (?, ?, ?, ?)";
    let mark = sqlx::query(mark).bind(session).bind(through).bind(VERSION);
    mark.bind(counting.kept()).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(through)
}

async fn insert(
    conn: &mut SqliteConnection,
    session: &str,
    counting: &Counting,
) -> Result<(), sqlx::Error> {
    if !counting.counted.is_empty() {
        let mut query = QueryBuilder::<Sqlite>::new("INSERT INTO counted ");
        query.push_values(&counting.counted, |mut values, row| {
            values.push_bind(session).push_bind(row.sequence).push_bind(row.at);
            values.push_bind(row.what).push_bind(&row.name).push_bind(&row.model);
            values.push_bind(&row.word).push_bind(row.duration_ms).push_bind(row.tokens);
            values.push_bind(row.input).push_bind(row.output);
            values.push_bind(row.cache_read).push_bind(row.cache_write).push_bind(row.cost);
        });
        query.build().execute(&mut *conn).await?;
    }
    if !counting.decided.is_empty() {
        let mut query = QueryBuilder::<Sqlite>::new("INSERT INTO decided ");
        query.push_values(&counting.decided, |mut values, row| {
            values.push_bind(session).push_bind(row.sequence).push_bind(row.at);
            values.push_bind(&row.by_user).push_bind(&row.subject);
            values.push_bind(row.is_approved).push_bind(row.is_remembered);
        });
        query.build().execute(&mut *conn).await?;
    }
    Ok(())
}

/// Takes a session out of what is counted, if anything is: it is read anew if it is still there.
pub(super) async fn forget(conn: &mut SqliteConnection, session: &str) -> Result<(), sqlx::Error> {
    if has_tables(conn).await? { forget_in(conn, session).await } else { Ok(()) }
}

async fn forget_in(conn: &mut SqliteConnection, session: &str) -> Result<(), sqlx::Error> {
    for query in [
        "DELETE FROM counted WHERE session = ?",
        "DELETE FROM decided WHERE session = ?",
        "DELETE FROM counted_through WHERE session = ?",
    ] {
        sqlx::query(query).bind(session).execute(&mut *conn).await?;
    }
    Ok(())
}
