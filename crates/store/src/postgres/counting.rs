//! Statistics and decisions: the rows that are derived from the logs, brought up to date with every question, and what
//! the database adds up from them.

use futures_util::TryStreamExt as _;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::PostgresStore;
use super::learn::INHERITED;
use super::read::event_data;
use super::write::storable;
use crate::call_reader::KINDS;
use crate::counting::{CountedRow, Counting, DecidedRow, STEP_ENTRIES, VERSION};
use crate::{
    DayStats, DaysFilter, DecisionFilter, LoggedDecision, SessionCost, SessionId, Stats,
    StatsFilter, decision, stats_query,
};

/// All questions of a transaction are about the same moment.
const ONE_MOMENT: &str = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";

pub(super) async fn stats(
    store: &PostgresStore,
    filter: &StatsFilter,
) -> Result<Stats, sqlx::Error> {
    let wanted = PostgresSelection::new(store, filter.since, filter.sessions.as_deref());
    let mut conn = store.inner.pool.acquire().await?;
    wanted.catch_up(&mut conn).await?;
    let mut tx = conn.begin().await?;
    sqlx::raw_sql(ONE_MOMENT).execute(&mut *tx).await?;
    let groups = wanted.rows(&mut tx, &stats_query::groups()).await?;
    let words = wanted.rows(&mut tx, stats_query::WORDS).await?;
    let sessions = wanted.rows(&mut tx, &stats_query::sessions()).await?;
    tx.commit().await?;
    stats_query::stats(&groups, &words, &sessions)
}

pub(super) async fn spent(
    store: &PostgresStore,
    filter: &StatsFilter,
) -> Result<Vec<SessionCost>, sqlx::Error> {
    let wanted = PostgresSelection::new(store, filter.since, filter.sessions.as_deref());
    let mut conn = store.inner.pool.acquire().await?;
    wanted.catch_up(&mut conn).await?;
    stats_query::spent(&wanted.rows(&mut conn, stats_query::SPENT).await?)
}

pub(super) async fn days(
    store: &PostgresStore,
    filter: &DaysFilter,
) -> Result<Vec<DayStats>, sqlx::Error> {
    let wanted = PostgresSelection::new(store, filter.since, filter.sessions.as_deref());
    let mut conn = store.inner.pool.acquire().await?;
    wanted.catch_up(&mut conn).await?;
    let mut tx = conn.begin().await?;
    sqlx::raw_sql(ONE_MOMENT).execute(&mut *tx).await?;
    let ahead = filter.ahead_minutes;
    let groups = wanted.rows(&mut tx, &stats_query::day_groups(ahead)).await?;
    let durations = wanted.rows(&mut tx, &stats_query::day_durations(ahead)).await?;
    tx.commit().await?;
    stats_query::days(&groups, &durations)
}

pub(super) async fn decisions(
    store: &PostgresStore,
    filter: &DecisionFilter,
) -> Result<Vec<LoggedDecision>, sqlx::Error> {
    let mut conn = store.inner.pool.acquire().await?;
    PostgresSelection::new(store, filter.since, None).catch_up(&mut conn).await?;
    let (at, session, sequence) = filter.behind.clone().unwrap_or((i64::MAX, String::new(), 0));
    let query = decision::query(INHERITED, "AND decided.project = $9");
    let query = sqlx::query(AssertSqlSafe(query))
        .bind(filter.since.unwrap_or(i64::MIN))
        .bind(filter.before.unwrap_or(i64::MAX))
        .bind(filter.by.as_deref().map(storable))
        .bind(at)
        .bind(storable(&session))
        .bind(sequence)
        .bind(i64::from(filter.limit))
        .bind(filter.leaving.as_ref().map(SessionId::as_str))
        .bind(&*store.project);
    let rows = query.fetch_all(&mut *conn).await?;
    rows.iter().map(|row| LoggedDecision::from_row(row)).collect()
}

/// The sessions that a question is about.
struct PostgresSelection<'a> {
    project: &'a str,
    since: i64,
    only: Option<Vec<&'a str>>,
}

impl<'a> PostgresSelection<'a> {
    fn new(store: &'a PostgresStore, since: Option<i64>, only: Option<&'a [SessionId]>) -> Self {
        let only = only.map(|ids| ids.iter().map(SessionId::as_str).collect());
        Self { project: &store.project, since: since.unwrap_or(i64::MIN), only }
    }

    /// Which rows of `sessions` they are.
    const CONDITION: &'static str =
        "updated >= $1 AND ($2::text[] IS NULL OR own.id = ANY($2)) AND own.project = $3";

    /// The answer to a question about what they did since then.
    async fn rows(
        &self,
        conn: &mut PgConnection,
        question: &str,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        let sql = format!(
            "WITH wanted AS MATERIALIZED (SELECT id, updated, coalesce(title, opening) AS title, \
             {INHERITED} AS inherited FROM sessions AS own WHERE {}), \
             seen AS (SELECT counted.* FROM wanted JOIN counted ON session = id \
             WHERE sequence > inherited AND at >= $1 AND what <> 'forked') {question}",
            Self::CONDITION
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(self.since).bind(self.only.as_deref());
        query.bind(self.project).fetch_all(conn).await
    }

    /// Reads what was written since the last question.
    async fn catch_up(&self, conn: &mut PgConnection) -> Result<(), sqlx::Error> {
        let sql = format!(
            "SELECT id, own.last FROM sessions AS own LEFT JOIN counted_through AS done \
             ON session = id WHERE (done.last IS DISTINCT FROM own.last OR version <> $4) AND {}",
            Self::CONDITION
        );
        let query = sqlx::query_as(AssertSqlSafe(sql)).bind(self.since).bind(self.only.as_deref());
        let stale = query.bind(self.project).bind(VERSION);
        let stale: Vec<(String, i64)> = stale.fetch_all(&mut *conn).await?;
        for (session, goal) in stale {
            while step(conn, self.project, &session, goal).await? < goal {}
        }
        Ok(())
    }
}

/// Reads some more of a session, and says through which entry. Replicas that do so at once take turns.
async fn step(
    conn: &mut PgConnection,
    project: &str,
    session: &str,
    goal: i64,
) -> Result<i64, sqlx::Error> {
    let mut tx = conn.begin().await?;
    // A session is not removed meanwhile; what is written to it does not wait.
    let lock = "SELECT 1 FROM sessions WHERE id = $1 FOR KEY SHARE";
    if sqlx::query(lock).bind(session).fetch_optional(&mut *tx).await?.is_none() {
        return Ok(goal);
    }
    let mark = "INSERT INTO counted_through (session, last, version, kept) VALUES ($1, 0, $2, '') \
                ON CONFLICT (session) DO NOTHING";
    sqlx::query(mark).bind(session).bind(VERSION).execute(&mut *tx).await?;
    let known = "SELECT last, version, kept FROM counted_through WHERE session = $1 FOR UPDATE";
    let known = sqlx::query_as(known).bind(session);
    let (last, version, kept): (i64, i32, String) = known.fetch_one(&mut *tx).await?;
    let resumed = Counting::resume(&kept).filter(|_| version == VERSION);
    let (after, mut counting) = match resumed {
        Some(resumed) => (last, resumed),
        None => {
            forget_rows(&mut tx, session).await?;
            (0, Counting::default())
        }
    };
    let (mut read, mut through) = (0, after);
    {
        let kinds = KINDS.map(|kind| format!("'{kind}'")).join(", ");
        let sql = format!(
            "SELECT sequence, at, kind, data, packed FROM events WHERE session = $1 \
             AND sequence > $2 AND sequence <= $3 AND kind IN ({kinds}) \
             ORDER BY sequence LIMIT {STEP_ENTRIES}"
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(session).bind(after).bind(goal);
        let mut rows = query.fetch(&mut *tx);
        while let Some(row) = rows.try_next().await? {
            read += 1;
            through = row.try_get("sequence")?;
            if let Some(data) = event_data(&row) {
                counting.read(through, row.try_get("at")?, row.try_get("kind")?, data);
            }
        }
    }
    if read < STEP_ENTRIES {
        through = goal.max(through);
    }
    let kept = counting.kept();
    insert(&mut tx, project, session, counting).await?;
    let mark = "UPDATE counted_through SET last = $2, version = $3, kept = $4 WHERE session = $1";
    let mark = sqlx::query(mark).bind(session).bind(through).bind(VERSION);
    mark.bind(storable(&kept)).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(through)
}

/// Rows go as one JSON text each, which the database takes apart by the names of their columns.
async fn insert(
    conn: &mut PgConnection,
    project: &str,
    session: &str,
    counting: Counting,
) -> Result<(), sqlx::Error> {
    const COUNTED: &str = "INSERT INTO counted SELECT $1, new.* FROM json_to_recordset($2::json) \
        AS new (sequence bigint, at bigint, what text, name text, model text, word text, \
        duration_ms bigint, tokens bigint, input bigint, output bigint, cache_read bigint, \
        cache_write bigint, cost float8)";
    const DECIDED: &str = "INSERT INTO decided SELECT $1, new.sequence, $3, new.at, new.by_user, \
        new.subject, new.is_approved, new.is_remembered FROM json_to_recordset($2::json) \
        AS new (sequence bigint, at bigint, by_user text, subject text, is_approved boolean, \
        is_remembered boolean)";
    let json = |rows: serde_json::Result<String>| rows.map_err(|it| sqlx::Error::Encode(it.into()));
    let plain = |text: String| storable(&text).into_owned();
    if !counting.counted.is_empty() {
        let rows = counting.counted.into_iter().map(|row| CountedRow {
            name: plain(row.name),
            model: plain(row.model),
            word: row.word.map(plain),
            ..row
        });
        let rows = json(serde_json::to_string(&rows.collect::<Vec<_>>()))?;
        sqlx::query(COUNTED).bind(session).bind(rows).execute(&mut *conn).await?;
    }
    if !counting.decided.is_empty() {
        let rows = counting.decided.into_iter().map(|row| DecidedRow {
            by_user: row.by_user.map(plain),
            subject: plain(row.subject),
            ..row
        });
        let rows = json(serde_json::to_string(&rows.collect::<Vec<_>>()))?;
        sqlx::query(DECIDED).bind(session).bind(rows).bind(project).execute(conn).await?;
    }
    Ok(())
}

/// Takes a session out of what is counted: it is read anew if it is still there.
pub(super) async fn forget(conn: &mut PgConnection, session: &str) -> Result<(), sqlx::Error> {
    let mark = "DELETE FROM counted_through WHERE session = $1";
    sqlx::query(mark).bind(session).execute(&mut *conn).await?;
    forget_rows(conn, session).await
}

async fn forget_rows(conn: &mut PgConnection, session: &str) -> Result<(), sqlx::Error> {
    for query in
        ["DELETE FROM counted WHERE session = $1", "DELETE FROM decided WHERE session = $1"]
    {
        sqlx::query(query).bind(session).execute(&mut *conn).await?;
    }
    Ok(())
}
