//! What is learned: a reader of the log.

use futures_util::TryStreamExt as _;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::PostgresStore;
use super::read::event_data;
use crate::call_reader::{CallReader, KINDS, Observation};
use crate::favourites::{Learner, Lesson, LessonTopic, summarise};
use crate::summary::signed;
use crate::{Favourites, SessionId};

/// The last entry of the session `own` that counts for another one: that of its fork point. If the
/// session it was forked from is gone, the oldest of its forks counts for it.
pub(super) const INHERITED: &str = "coalesce(CASE WHEN own.forked_from IS NULL THEN 0 WHEN EXISTS \
    (SELECT 1 FROM sessions AS origin WHERE origin.id = own.forked_from \
    AND origin.project = own.project) THEN own.forked_at \
    ELSE (SELECT least(own.forked_at, max(older.forked_at)) FROM sessions AS older \
    WHERE older.forked_from = own.forked_from AND older.project = own.project \
    AND older.id < own.id HAVING count(*) > 0) END, 0)";
/// From when on things are learned, in the table of settings.
const LEARNED_SINCE: &str = "learned_since";

/// Reads the calls of a session. What a fork has in common with another one counts there.
async fn follow(
    conn: &mut PgConnection,
    project: &str,
    id: &SessionId,
    mut each: impl FnMut(i64, &Observation<'_>),
) -> Result<(), sqlx::Error> {
    let kinds = KINDS.map(|kind| format!("'{kind}'")).join(", ");
    let sql = format!(
        "WITH wanted AS MATERIALIZED (SELECT id, {INHERITED} AS inherited FROM sessions AS own \
         WHERE project = $1 AND id = $2) \
         SELECT at, kind, data, packed, sequence <= inherited AS counts_elsewhere \
         FROM wanted JOIN events ON session = id WHERE kind IN ({kinds}) ORDER BY sequence"
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(project).bind(id.as_str());
    let mut rows = query.fetch(conn);
    let mut reader = CallReader::default();
    while let Some(row) = rows.try_next().await? {
        let Some(data) = event_data(&row) else { continue };
        let at: i64 = row.try_get("at")?;
        let counts_elsewhere: bool = row.try_get("counts_elsewhere")?;
        reader.read(row.try_get("kind")?, at, data, &mut |seen| {
            if !counts_elsewhere {
                each(at, &seen);
            }
        });
    }
    Ok(())
}

/// Looks at sessions that went on since the last time, then puts all together.
pub(super) async fn favourites(store: &PostgresStore) -> Result<Favourites, sqlx::Error> {
    let mut conn = store.inner.pool.acquire().await?;
    let query = "SELECT id, sessions.last FROM sessions LEFT JOIN learned_through ON session = id \
                 WHERE project = $1 AND learned_through.last IS DISTINCT FROM sessions.last";
    let stale: Vec<(String, i64)> =
        sqlx::query_as(query).bind(&*store.project).fetch_all(&mut *conn).await?;
    let since = "SELECT value FROM settings WHERE project = $1 AND name = $2";
    let since = sqlx::query_scalar(since).bind(&*store.project).bind(LEARNED_SINCE);
    let since: Option<i64> = since.fetch_optional(&mut *conn).await?;
    for (id, last) in stale {
        if let Ok(id) = SessionId::try_from(id) {
            learn(&mut conn, &store.project, &id, last, since.unwrap_or(i64::MIN)).await?;
        }
    }
    Ok(summarise(&lessons(&mut conn, &store.project).await?))
}

/// Learns from a whole session anew. Two replicas may do so at once; each replaces all of it.
async fn learn(
    conn: &mut PgConnection,
    project: &str,
    id: &SessionId,
    last: i64,
    since: i64,
) -> Result<(), sqlx::Error> {
    let mut learner = Learner::default();
    follow(conn, project, id, |at, seen| {
        if at > since {
            learner.learn(at, seen);
        }
    })
    .await?;
    let mut tx = conn.begin().await?;
    let mark = "INSERT INTO learned_through (session, last) VALUES ($1, $2) \
                ON CONFLICT (session) DO UPDATE SET last = excluded.last";
    sqlx::query(mark).bind(id.as_str()).bind(last).execute(&mut *tx).await?;
    let forget = "DELETE FROM learned WHERE session = $1";
    sqlx::query(forget).bind(id.as_str()).execute(&mut *tx).await?;
    for lesson in learner.lessons() {
        let query = "INSERT INTO learned (session, topic, tool, directory, uses, helped, last_at) \
                     VALUES ($1, $2, $3, $4, $5, $6, $7)";
        sqlx::query(query)
            .bind(id.as_str())
            .bind(lesson.topic.as_str())
            .bind(super::write::storable(&lesson.tool))
            .bind(super::write::storable(&lesson.directory))
            .bind(signed(lesson.uses))
            .bind(signed(lesson.helped))
            .bind(lesson.last_at)
            .execute(&mut *tx)
            .await?;
    }
    tx.commit().await
}

async fn lessons(conn: &mut PgConnection, project: &str) -> Result<Vec<Lesson>, sqlx::Error> {
    let query = "SELECT topic, tool, directory, uses, helped, last_at FROM learned \
                 JOIN sessions ON id = session WHERE project = $1";
    let rows: Vec<(String, String, String, i64, i64, i64)> =
        sqlx::query_as(query).bind(project).fetch_all(conn).await?;
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    let lesson = |(topic, tool, directory, uses, helped, last_at): (String, _, _, _, _, _)| {
        let topic = LessonTopic::from_word(&topic)?;
        Some(Lesson { topic, tool, directory, uses: count(uses), helped: count(helped), last_at })
    };
    Ok(rows.into_iter().filter_map(lesson).collect())
}

pub(super) async fn clear_favourites(store: &PostgresStore) -> Result<(), sqlx::Error> {
    let mut tx = store.inner.pool.begin().await?;
    for table in ["learned", "learned_through"] {
        let sql = format!(
            "DELETE FROM {table} WHERE session IN (SELECT id FROM sessions WHERE project = $1)"
        );
        sqlx::query(AssertSqlSafe(sql)).bind(&*store.project).execute(&mut *tx).await?;
    }
    let since = "INSERT INTO settings (project, name, value) VALUES ($1, $2, $3) \
                 ON CONFLICT (project, name) DO UPDATE SET value = excluded.value";
    let since = sqlx::query(since).bind(&*store.project).bind(LEARNED_SINCE);
    since.bind(store.inner.now()).execute(&mut *tx).await?;
    tx.commit().await
}
