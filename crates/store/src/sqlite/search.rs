//! The index of what was said, made when it is first asked for and brought up to date with every question.
//!
//! It is derived from the logs and holds no text itself. Work is done in small steps, between which others
//! get at the file.

use sqlx::{Connection as _, SqliteConnection};

use super::Inner;
use super::packed::EventText;
use crate::found_messages::{excerpt, index_query, text_of};
use crate::{FoundMessage, FoundMessages, SessionId, StoreError};

const DOING: &str = "searching sessions";
/// Messages and sessions that are taken into the index in one step.
const STEP_MESSAGES: i64 = 300;
const STEP_SESSIONS: i64 = 50;
/// Steps before a question is answered from what is in the index by then.
const MOST_STEPS: usize = 40;
/// Messages that are looked at for the sessions they are in.
const MOST_HITS: i64 = 500;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS said_in (
        id INTEGER PRIMARY KEY, session TEXT NOT NULL, sequence INTEGER NOT NULL, at INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS said_in_session ON said_in (session);
    CREATE TABLE IF NOT EXISTS said_through (
        session TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE VIRTUAL TABLE IF NOT EXISTS said USING fts5 (
        text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
    );";

/// The newest message of each session that holds all words.
pub(super) async fn search(
    inner: &Inner,
    words: &str,
    limit: usize,
) -> Result<FoundMessages, StoreError> {
    let Some(query) = index_query(words) else { return Ok(FoundMessages::default()) };
    let mut is_complete = false;
    for _ in 0..MOST_STEPS {
        let mut db = inner.db.lock().await;
        let step = step(&mut db.conn).await;
        is_complete = step.map_err(|error| db.error(DOING, &error))? == IndexStep::Complete;
        drop(db);
        if is_complete {
            break;
        }
        tokio::task::yield_now().await;
    }
    let mut db = inner.db.lock().await;
    let found = found(&mut db.conn, &query, words, limit).await;
    let mut found = found.map_err(|error| db.error(DOING, &error))?;
    found.more |= !is_complete;
    Ok(found)
}

#[derive(PartialEq, Eq)]
enum IndexStep {
    Complete,
    MoreToDo,
}

/// Takes some of what the index has not yet into it, the newest sessions first.
async fn step(conn: &mut SqliteConnection) -> Result<IndexStep, sqlx::Error> {
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::raw_sql(TABLES).execute(&mut *tx).await?;
    let gone = "SELECT session FROM said_through WHERE session NOT IN (SELECT id FROM sessions)";
    let gone: Vec<String> = sqlx::query_scalar(gone).fetch_all(&mut *tx).await?;
    for session in gone {
        forget_in(&mut tx, &session).await?;
    }
    let stale = "SELECT id, coalesce(said_through.last, 0), sessions.last FROM sessions \
                 LEFT JOIN said_through ON session = id \
                 WHERE said_through.last IS NOT sessions.last ORDER BY updated DESC LIMIT ?";
    let stale: Vec<(String, i64, i64)> =
        sqlx::query_as(stale).bind(STEP_SESSIONS + 1).fetch_all(&mut *tx).await?;
    let mut left = STEP_MESSAGES;
    let mut is_complete = stale.len() as i64 <= STEP_SESSIONS;
    for (session, after, last) in stale {
        if left <= 0 {
            is_complete = false;
            break;
        }
        let taken = take(&mut tx, &session, after, left).await?;
        left -= taken.count;
        let through = if taken.is_all { last } else { taken.through };
        is_complete &= taken.is_all;
        let mark = "INSERT OR REPLACE INTO said_through (session, last) VALUES (?, ?)";
        sqlx::query(mark).bind(&session).bind(through).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    Ok(if is_complete { IndexStep::Complete } else { IndexStep::MoreToDo })
}

struct TakenMessages {
    count: i64,
    /// The last entry that is in the index.
    through: i64,
    is_all: bool,
}

async fn take(
    conn: &mut SqliteConnection,
    session: &str,
    after: i64,
    most: i64,
) -> Result<TakenMessages, sqlx::Error> {
    let query = "SELECT sequence, at, data FROM events WHERE session = ? AND sequence > ? \
                 AND kind IN ('user_message', 'user_added', 'model_answered') \
                 ORDER BY sequence LIMIT ?";
    let rows: Vec<(i64, i64, EventText)> =
        sqlx::query_as(query).bind(session).bind(after).bind(most).fetch_all(&mut *conn).await?;
    let count = rows.len() as i64;
    let through = rows.last().map_or(after, |(sequence, ..)| *sequence);
    for (sequence, at, data) in rows {
        let Some(text) = text_of(&data.0) else { continue };
        let place = "INSERT INTO said_in (session, sequence, at) VALUES (?, ?, ?) RETURNING id";
        let place = sqlx::query_scalar(place).bind(session).bind(sequence).bind(at);
        let id: i64 = place.fetch_one(&mut *conn).await?;
        let said = "INSERT INTO said (rowid, text) VALUES (?, ?)";
        sqlx::query(said).bind(id).bind(text).execute(&mut *conn).await?;
    }
    Ok(TakenMessages { count, through, is_all: count < most })
}

async fn found(
    conn: &mut SqliteConnection,
    query: &str,
    words: &str,
    limit: usize,
) -> Result<FoundMessages, sqlx::Error> {
    let hits = "SELECT said_in.session, said_in.sequence, said_in.at FROM said \
                JOIN said_in ON said_in.id = said.rowid JOIN sessions ON sessions.id = said_in.session \
                WHERE said MATCH ? ORDER BY said_in.at DESC, said_in.sequence DESC LIMIT ?";
    let hits: Vec<(String, i64, i64)> =
        sqlx::query_as(hits).bind(query).bind(MOST_HITS).fetch_all(&mut *conn).await?;
    let mut found = FoundMessages { more: hits.len() as i64 == MOST_HITS, ..Default::default() };
    for (session, sequence, at) in hits {
        let Ok(session) = SessionId::try_from(session) else { continue };
        if found.messages.iter().any(|known| known.session == session) {
            continue;
        }
        if found.messages.len() == limit {
            found.more = true;
            break;
        }
        let data = "SELECT data FROM events WHERE session = ? AND sequence = ?";
        let data = sqlx::query_scalar(data).bind(session.as_str()).bind(sequence);
        let data: Option<EventText> = data.fetch_optional(&mut *conn).await?;
        let Some(text) = data.and_then(|data| text_of(&data.0)) else { continue };
        let sequence = u64::try_from(sequence).unwrap_or_default();
        let excerpt = excerpt(&text, words);
        found.messages.push(FoundMessage { session, sequence, at, excerpt });
    }
    Ok(found)
}

/// Takes a session out of the index, if there is one. Nothing of its words stays there.
pub(super) async fn forget(conn: &mut SqliteConnection, session: &str) -> Result<(), sqlx::Error> {
    let is_there = "SELECT count(*) FROM sqlite_schema WHERE name = 'said'";
    let is_there: i64 = sqlx::query_scalar(is_there).fetch_one(&mut *conn).await?;
    if is_there > 0 { forget_in(conn, session).await } else { Ok(()) }
}

async fn forget_in(conn: &mut SqliteConnection, session: &str) -> Result<(), sqlx::Error> {
    for query in [
        "DELETE FROM said WHERE rowid IN (SELECT id FROM said_in WHERE session = ?)",
        "DELETE FROM said_in WHERE session = ?",
        "DELETE FROM said_through WHERE session = ?",
    ] {
        sqlx::query(query).bind(session).execute(&mut *conn).await?;
    }
    // Words of rows that are deleted stay in the index until its parts are merged.
    sqlx::raw_sql("INSERT INTO said (said) VALUES ('optimize')").execute(conn).await?;
    Ok(())
}
