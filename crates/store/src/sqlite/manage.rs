//! Sessions as a whole: beginning, finding, forking, export and import, deleting.

use std::sync::Arc;

use protocol::{LogEntry, Opened, SessionEvent};
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;

use super::Inner;
use super::db::Db;
use super::lease::{claim, is_held, refuse_if_moved};
use super::read::inspect_session;
use super::write::{append, insert_session};
use super::{counting, search};
use crate::copied;
use crate::find::{MIN_ID_PIECE, the_one};
use crate::heirs::{ForkOf, heirs};
use crate::id::now_ms;
use crate::inspection::LogProblem;
use crate::jsonl::{self, Header};
use crate::row::{Row, number};
use crate::summary::signed;
use crate::{Imported, Loaded, SessionId, StoreError};

pub(super) async fn create(inner: &Inner, first: &Opened) -> Result<SessionId, StoreError> {
    let id = SessionId::generate()?;
    create_as(inner, &id, first.clone(), Vec::new()).await?;
    Ok(id)
}

pub(super) async fn create_as(
    inner: &Inner,
    id: &SessionId,
    first: Opened,
    events: Vec<SessionEvent>,
) -> Result<Vec<LogEntry>, StoreError> {
    let events = std::iter::once(SessionEvent::Opened(first)).chain(events).collect();
    let entries = number(events, 0, now_ms());
    let rows = entries.iter().map(|entry| Row::new(entry.sequence, entry.at, &entry.event));
    insert_as(inner, id, &rows.collect::<Result<Vec<_>, _>>()?, None).await?;
    Ok(entries)
}

/// Writes a session under a new id.
async fn insert(inner: &Inner, rows: &[Row]) -> Result<SessionId, StoreError> {
    let id = SessionId::generate()?;
    insert_as(inner, &id, rows, None).await?;
    Ok(id)
}

/// The session that it is a fork of must be there.
async fn insert_as(
    inner: &Inner,
    id: &SessionId,
    rows: &[Row],
    origin: Option<&SessionId>,
) -> Result<(), StoreError> {
    let mut db = inner.db.lock().await;
    refuse_if_moved(inner, &db)?;
    let done = async {
        let mut tx = db.conn.begin_with("BEGIN IMMEDIATE").await?;
        if let Some(origin) = origin {
            let known = sqlx::query("SELECT 1 FROM sessions WHERE id = ?").bind(origin.as_str());
            known.fetch_one(&mut *tx).await?;
        }
        insert_session(&mut tx, id, rows).await?;
        for (from, to) in copied::gaps(rows) {
            note_gap(&mut tx, id, from, to).await?;
        }
        tx.commit().await
    };
    let done: Result<(), sqlx::Error> = done.await;
    if let (Err(sqlx::Error::RowNotFound), Some(origin)) = (&done, origin) {
        return Err(StoreError::NotFound { text: origin.to_string() });
    }
    done.map_err(|error| db.error("beginning a session", &error))?;
    db.last.insert(id.clone(), rows.last().map_or(0, |row| row.sequence));
    Ok(())
}

/// Records that entries are missing, so that it is reported only once.
pub(super) async fn note_gap(
    conn: &mut SqliteConnection,
    id: &SessionId,
    from: u64,
    to: u64,
) -> Result<(), sqlx::Error> {
    let query = "INSERT INTO damaged (session, sequence, through, moved, reason) \
                 VALUES (?, ?, ?, ?, 'missing')";
    let query = sqlx::query(query).bind(id.as_str()).bind(signed(from)).bind(signed(to));
    query.bind(now_ms()).execute(conn).await?;
    Ok(())
}

pub(super) async fn load(inner: &Inner, id: &SessionId) -> Result<Loaded, StoreError> {
    let inspection = inspect_session(&mut *inner.db.lock().await, id).await?;
    let damage = inspection.problems.iter().map(LogProblem::to_string).collect();
    Ok(Loaded { entries: inspection.entries, damage })
}

/// Finds by whole id, then by the beginning of one, then by the end, then by title, then by a part of one.
pub(super) async fn find(inner: &Inner, text: &str) -> Result<SessionId, StoreError> {
    const QUERIES: [&str; 5] = [
        "SELECT id FROM sessions WHERE id = ? ORDER BY id",
        "SELECT id FROM sessions WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id",
        "SELECT id FROM sessions WHERE substr(id, -length(?1)) = ?1 ORDER BY id",
        "SELECT id FROM sessions WHERE lower(coalesce(title, opening)) = lower(?) ORDER BY id",
        "SELECT id FROM sessions WHERE instr(lower(coalesce(title, opening)), lower(?)) > 0 ORDER BY id",
    ];
    let text = text.trim();
    let mut db = inner.db.lock().await;
    for query in QUERIES.into_iter().filter(|_| text.chars().count() >= MIN_ID_PIECE) {
        let ids = sqlx::query_scalar::<_, String>(query).bind(text).fetch_all(&mut db.conn).await;
        let ids = ids.map_err(|error| db.error("looking for a session", &error))?;
        if let Some(id) = the_one(text, ids)? {
            return Ok(id);
        }
    }
    Err(StoreError::NotFound { text: text.to_owned() })
}

pub(super) async fn rename(
    inner: &Arc<Inner>,
    id: &SessionId,
    title: &str,
) -> Result<LogEntry, StoreError> {
    let lease = if is_held(inner, id) { None } else { Some(claim(inner, id).await?) };
    let event = SessionEvent::Renamed { title: title.trim().to_owned() };
    let entries = append(inner, id, vec![event]).await;
    drop(lease);
    let entry = entries?.pop();
    entry.ok_or_else(|| StoreError::failed("renaming the session", "nothing was written"))
}

pub(super) async fn delete(inner: &Arc<Inner>, id: &SessionId) -> Result<(), StoreError> {
    let lease = claim(inner, id).await?;
    let mut db = inner.db.lock().await;
    let done = remove(&mut db, id).await;
    db.last.remove(id);
    let done = done.map_err(|error| db.error("deleting the session", &error));
    drop(db);
    drop(lease);
    done
}

async fn remove(db: &mut Db, id: &SessionId) -> Result<(), sqlx::Error> {
    // What is deleted is overwritten, and does not stay in the write-ahead log either.
    sqlx::raw_sql("PRAGMA secure_delete = ON").execute(&mut db.conn).await?;
    let mut tx = db.conn.begin_with("BEGIN IMMEDIATE").await?;
    replace_by_forks(&mut tx, id).await?;
    for query in [
        "DELETE FROM events WHERE session = ?",
        "DELETE FROM damaged WHERE session = ?",
        "DELETE FROM learned WHERE session = ?",
        "DELETE FROM learned_through WHERE session = ?",
        "DELETE FROM sessions WHERE id = ?",
        "DELETE FROM leases WHERE session = ?",
    ] {
        sqlx::query(query).bind(id.as_str()).execute(&mut *tx).await?;
    }
    search::forget(&mut tx, id.as_str()).await?;
    counting::forget(&mut tx, id.as_str()).await?;
    tx.commit().await?;
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut db.conn).await?;
    Ok(())
}

/// Its forks count for what they have in common with a session that goes.
async fn replace_by_forks(conn: &mut SqliteConnection, id: &SessionId) -> Result<(), sqlx::Error> {
    let forks =
        "SELECT id, forked_at FROM sessions WHERE forked_from = ? AND forked_at IS NOT NULL";
    let forks = sqlx::query_as(forks).bind(id.as_str()).fetch_all(&mut *conn).await?;
    let origin = "SELECT forked_from, forked_at FROM sessions \
                  WHERE id = ? AND forked_from IS NOT NULL AND forked_at IS NOT NULL";
    let origin: Option<ForkOf> =
        sqlx::query_as(origin).bind(id.as_str()).fetch_optional(&mut *conn).await?;
    for (fork, of) in heirs(origin.as_ref(), forks) {
        let (from, at) = of.unzip();
        let place = "UPDATE sessions SET forked_from = ?, forked_at = ? WHERE id = ?";
        sqlx::query(place).bind(from).bind(at).bind(fork).execute(&mut *conn).await?;
    }
    Ok(())
}

pub(super) async fn fork(
    inner: &Inner,
    id: &SessionId,
    at: Option<u64>,
) -> Result<SessionId, StoreError> {
    let inspection = inspect_session(&mut *inner.db.lock().await, id).await?;
    let rows = copied::forked(id, inspection, at, now_ms())?;
    let made = SessionId::generate()?;
    insert_as(inner, &made, &rows, Some(id)).await?;
    Ok(made)
}

pub(super) async fn export(inner: &Inner, id: &SessionId) -> Result<String, StoreError> {
    let mut db = inner.db.lock().await;
    let inspection = inspect_session(&mut db, id).await?;
    let query = "SELECT coalesce(title, opening) FROM sessions WHERE id = ?";
    let title = sqlx::query_scalar::<_, Option<String>>(query).bind(id.as_str());
    // The export works without the title, which the log holds too.
    let title = title.fetch_optional(&mut db.conn).await.ok().flatten().flatten();
    let header = Header::new(id.clone(), title, now_ms());
    jsonl::write(header, &inspection.rows, &inspection.entries)
}

pub(super) async fn import(inner: &Inner, text: &str) -> Result<Imported, StoreError> {
    let (rows, damage) = copied::imported(text, now_ms())?;
    let id = insert(inner, &rows).await?;
    Ok(Imported { id, damage })
}

pub(super) async fn import_as(
    inner: &Inner,
    id: SessionId,
    text: &str,
) -> Result<Imported, StoreError> {
    let (rows, damage) = copied::imported(text, now_ms())?;
    let mut db = inner.db.lock().await;
    let query = "SELECT 1 FROM sessions WHERE id = ?1 UNION ALL \
                 SELECT 1 FROM events WHERE session = ?1 LIMIT 1";
    let known = sqlx::query(query).bind(id.as_str()).fetch_optional(&mut db.conn).await;
    let known = known.map_err(|error| db.error("copying a session", &error))?;
    drop(db);
    if known.is_some() {
        return Err(StoreError::Exists { session: id });
    }
    insert_as(inner, &id, &rows, None).await?;
    Ok(Imported { id, damage })
}
