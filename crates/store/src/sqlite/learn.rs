//! What is learned: a reader of the log.

use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::db::Db;
use crate::call_reader::{CallReader, KINDS, Observation};
use crate::event_data::EventData;
use crate::favourites::{Learner, Lesson, LessonTopic, summarise};
use crate::id::now_ms;
use crate::summary::signed;
use crate::{Favourites, SessionId, StoreError};

const DOING: &str = "reading what was done";
/// The last entry of the session `own` that counts for another one: that of its fork point. If the
/// session it was forked from is gone, the oldest of its forks counts for it.
pub(super) const INHERITED: &str = "coalesce(CASE WHEN EXISTS \
    (SELECT 1 FROM sessions AS origin WHERE origin.id = own.forked_from) THEN own.forked_at \
    ELSE min(own.forked_at, (SELECT max(older.forked_at) FROM sessions AS older \
    WHERE older.forked_from = own.forked_from AND older.id < own.id)) END, 0)";
/// From when on things are learned, in the table of settings.
const LEARNED_SINCE: &str = "learned_since";

/// Reads the calls of a session. What a fork has in common with another one counts there.
async fn follow(
    db: &mut Db,
    id: &SessionId,
    mut each: impl FnMut(i64, &Observation<'_>),
) -> Result<(), sqlx::Error> {
    let kinds = KINDS.map(|kind| format!("'{kind}'")).join(", ");
    let sql = format!(
        "WITH wanted AS MATERIALIZED (SELECT id, {INHERITED} AS inherited FROM sessions AS own \
         WHERE id = ?) \
         SELECT at, kind, data, sequence <= inherited AS counts_elsewhere \
         FROM events JOIN wanted ON id = session WHERE kind IN ({kinds}) ORDER BY sequence"
    );
    let mut rows = sqlx::query(AssertSqlSafe(sql)).bind(id.as_str()).fetch(&mut db.conn);
    let mut reader = CallReader::default();
    while let Some(row) = rows.try_next().await? {
        // Rows that are damaged are passed over; a check names them.
        let (Ok(at), Ok(kind), Ok(data), Ok(counts_elsewhere)) = (
            row.try_get::<i64, _>("at"),
            row.try_get::<&str, _>("kind"),
            row.try_get::<EventData<'_>, _>("data"),
            row.try_get::<bool, _>("counts_elsewhere"),
        ) else {
            continue;
        };
        reader.read(kind, at, data, &mut |seen| {
            if !counts_elsewhere {
                each(at, &seen);
            }
        });
    }
    Ok(())
}

/// Looks at sessions that went on since the last time, then puts all together.
pub(super) async fn favourites(db: &mut Db) -> Result<Favourites, StoreError> {
    let done = async {
        let query = "SELECT id, sessions.last FROM sessions LEFT JOIN learned_through ON session = id \
                     WHERE learned_through.last IS NOT sessions.last";
        let stale: Vec<(String, i64)> = sqlx::query_as(query).fetch_all(&mut db.conn).await?;
        let since = since(db).await?;
        for (id, last) in stale {
            if let Ok(id) = SessionId::try_from(id) {
                learn(db, &id, last, since).await?;
            }
        }
        lessons(db).await
    };
    let lessons: Result<Vec<Lesson>, sqlx::Error> = done.await;
    Ok(summarise(&lessons.map_err(|error| db.error(DOING, &error))?))
}

async fn since(db: &mut Db) -> Result<i64, sqlx::Error> {
    let query = "SELECT value FROM settings WHERE name = ?";
    let since = sqlx::query_scalar(query).bind(LEARNED_SINCE).fetch_optional(&mut db.conn).await?;
    Ok(since.unwrap_or(i64::MIN))
}

/// Learns from a whole session anew.
async fn learn(db: &mut Db, id: &SessionId, last: i64, since: i64) -> Result<(), sqlx::Error> {
    let mut learner = Learner::default();
    follow(db, id, |at, seen| {
        if at > since {
            learner.learn(at, seen);
        }
    })
    .await?;
    let mut tx = db.conn.begin_with("BEGIN IMMEDIATE").await?;
    let forget = "DELETE FROM learned WHERE session = ?";
    sqlx::query(forget).bind(id.as_str()).execute(&mut *tx).await?;
    for lesson in learner.lessons() {
        let query = "INSERT INTO learned (session, topic, tool, directory, uses, helped, last_at) \
                     VALUES (?, ?, ?, ?, ?, ?, ?)";
        sqlx::query(query)
            .bind(id.as_str())
            .bind(lesson.topic.as_str())
            .bind(lesson.tool)
            .bind(lesson.directory)
            .bind(signed(lesson.uses))
            .bind(signed(lesson.helped))
            .bind(lesson.last_at)
            .execute(&mut *tx)
            .await?;
    }
    let mark = "INSERT OR REPLACE INTO learned_through (session, last) VALUES (?, ?)";
    sqlx::query(mark).bind(id.as_str()).bind(last).execute(&mut *tx).await?;
    tx.commit().await
}

async fn lessons(db: &mut Db) -> Result<Vec<Lesson>, sqlx::Error> {
    let query = "SELECT topic, tool, directory, uses, helped, last_at FROM learned";
    let rows: Vec<(String, String, String, i64, i64, i64)> =
        sqlx::query_as(query).fetch_all(&mut db.conn).await?;
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    let lesson = |(topic, tool, directory, uses, helped, last_at): (String, _, _, _, _, _)| {
        let topic = LessonTopic::from_word(&topic)?;
        Some(Lesson { topic, tool, directory, uses: count(uses), helped: count(helped), last_at })
    };
    Ok(rows.into_iter().filter_map(lesson).collect())
}

pub(super) async fn clear_favourites(db: &mut Db) -> Result<(), StoreError> {
    let done = async {
        let mut tx = db.conn.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::raw_sql("DELETE FROM learned; DELETE FROM learned_through").execute(&mut *tx).await?;
        let query = "INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)";
        sqlx::query(query).bind(LEARNED_SINCE).bind(now_ms()).execute(&mut *tx).await?;
        tx.commit().await
    };
    let done: Result<(), sqlx::Error> = done.await;
    done.map_err(|error| db.error("forgetting what was learned", &error))
}
