//! Copies what can be read of a damaged file into a new one. The old file stays as it is.

use std::collections::BTreeSet;
use std::path::Path;

use futures_util::TryStreamExt as _;
use protocol::SessionEvent;
use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions as _, Connection as _};

use super::db::Db;
use super::open::options;
use super::read::{EventScan, all_ids, expected, inspect_session};
use super::write::{insert_rows, put_summary};
use crate::id::now_ms;
use crate::inspection::FoundRow;
use crate::row::Row;
use crate::summary::{Span, Summary};
use crate::{SessionId, StoreError};

const DOING: &str = "copying sessions";
/// Set, in the table of settings, once everything is copied.
const COMPLETE: &str = "complete";

/// Whether everything is copied into this file.
pub(super) async fn is_complete(db: &mut Db) -> Result<bool, StoreError> {
    let query = "SELECT 1 FROM settings WHERE name = ?";
    let found = sqlx::query(query).bind(COMPLETE).fetch_optional(&mut db.conn).await;
    found.map(|row| row.is_some()).map_err(|error| db.error(DOING, &error))
}

/// Copies from `old` what can be read into `db`, and says what became of it.
pub(super) async fn salvage(old: &Path, reason: &str, db: &mut Db) -> Result<String, StoreError> {
    let copied = copy(old, db).await.map_err(|error| db.error(DOING, &error))?;
    let (old, new) = (old.display(), db.file.display());
    let note = match copied {
        Some((sessions, entries)) => format!(
            "{old} cannot be used ({reason}) and is left as it is; {sessions} sessions with {entries} \
             entries could be read from it and are now in {new}"
        ),
        None => format!(
            "{old} cannot be used ({reason}) and is left as it is; nothing could be read from it, and \
             new sessions are kept in {new}"
        ),
    };
    for id in all_ids(db).await? {
        summarise(db, &id).await?;
    }
    finish(&mut db.conn, &note).await.map_err(|error| db.error(DOING, &error))?;
    Ok(note)
}

async fn finish(conn: &mut SqliteConnection, note: &str) -> Result<(), sqlx::Error> {
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    let query = "INSERT INTO repairs (at, note) VALUES (?, ?)";
    sqlx::query(query).bind(now_ms()).bind(note).execute(&mut *tx).await?;
    let query = "INSERT OR REPLACE INTO settings (name, value) VALUES (?, 1)";
    sqlx::query(query).bind(COMPLETE).execute(&mut *tx).await?;
    tx.commit().await
}

/// How many sessions and entries were copied; none if the old file could not be read at all.
async fn copy(old: &Path, db: &mut Db) -> Result<Option<(usize, usize)>, sqlx::Error> {
    // `writable_schema` lets SQLite read a file that is shorter than it should be. Nothing can be
    // written through this connection.
    let options = options(old).pragma("query_only", "ON").pragma("writable_schema", "ON");
    let Ok(mut from) = options.connect().await else { return Ok(None) };
    let mut tx = db.conn.begin_with("BEGIN IMMEDIATE").await?;
    copy_summaries(&mut from, &mut tx).await?;
    copy_damage(&mut from, &mut tx).await?;
    let mut sessions = BTreeSet::new();
    let mut entries = 0;
    let mut scan = EventScan::default();
    while let Some(page) = scan.next(&mut from).await {
        let whole: Vec<(SessionId, Row)> = page.into_iter().filter_map(whole).collect();
        for run in whole.chunk_by(|(one, _), (other, _)| one == other) {
            let rows: Vec<Row> = run.iter().map(|(_, row)| row.clone()).collect();
            let (id, _) = &run[0];
            insert_rows(&mut tx, id, &rows).await?;
            sessions.insert(id.clone());
            entries += rows.len();
        }
    }
    tx.commit().await?;
    // The old file is only looked at; how its connection ends does not matter.
    let _ = from.close().await;
    Ok((entries > 0).then_some((sessions.len(), entries)))
}

/// The row, if it is what was written.
fn whole((session, found): (String, FoundRow)) -> Option<(SessionId, Row)> {
    let id = session.parse::<SessionId>().ok()?;
    let (row, checksum) = found.content.ok()?;
    (i64::from(row.checksum(&id)) == checksum).then_some((id, row))
}

/// What the list knew about how sessions began and where they ended; the rest is made anew.
async fn copy_summaries(
    from: &mut SqliteConnection,
    to: &mut SqliteConnection,
) -> Result<(), sqlx::Error> {
    let ids: Vec<String> =
        readable(sqlx::query_scalar("SELECT id FROM sessions").fetch(&mut *from)).await;
    for id in ids.into_iter().filter_map(|id| SessionId::try_from(id).ok()) {
        let Ok(Some(known)) = expected(from, &id).await else { continue };
        let Some((created, opened)) = known.opened else { continue };
        let span = Span { created, updated: created, last: known.last };
        put_summary(to, &id, span, &opened, &Summary::default()).await?;
    }
    Ok(())
}

/// A row of the table `damaged`, all of it.
type DamagedRow = (
    String,
    Option<i64>,
    Option<i64>,
    i64,
    String,
    Option<i64>,
    Option<String>,
    Option<Vec<u8>>,
    Option<i64>,
);

async fn copy_damage(
    from: &mut SqliteConnection,
    to: &mut SqliteConnection,
) -> Result<(), sqlx::Error> {
    let query =
        "SELECT session, sequence, through, moved, reason, at, kind, data, checksum FROM damaged";
    let rows: Vec<DamagedRow> = readable(sqlx::query_as(query).fetch(from)).await;
    for (session, sequence, through, moved, reason, at, kind, data, checksum) in rows {
        let query = "INSERT INTO damaged (session, sequence, through, moved, reason, at, kind, data, \
                     checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let query = sqlx::query(query).bind(session).bind(sequence).bind(through).bind(moved);
        let query = query.bind(reason).bind(at).bind(kind).bind(data).bind(checksum);
        query.execute(&mut *to).await?;
    }
    Ok(())
}

/// The first rows of a table, up to a place that cannot be read.
async fn readable<T>(
    mut rows: impl futures_util::Stream<Item = Result<T, sqlx::Error>> + Unpin,
) -> Vec<T> {
    let mut all = Vec::new();
    while let Ok(Some(row)) = rows.try_next().await {
        all.push(row);
    }
    all
}

/// Makes the summary of a session anew from its log.
pub(super) async fn summarise(db: &mut Db, id: &SessionId) -> Result<(), StoreError> {
    let inspection = inspect_session(db, id).await?;
    let opened = inspection.entries.iter().find_map(|entry| match &entry.event {
        SessionEvent::Opened(opened) => Some(opened.clone()),
        _ => None,
    });
    let (Some(first), Some(last)) = (inspection.entries.first(), inspection.entries.last()) else {
        return Ok(());
    };
    let opened = opened.unwrap_or_else(unknown_opening);
    let known: Result<Option<i64>, _> =
        sqlx::query_scalar("SELECT last FROM sessions WHERE id = ?")
            .bind(id.as_str())
            .fetch_optional(&mut db.conn)
            .await;
    let known = known.map_err(|error| db.error(DOING, &error))?;
    let known = known.and_then(|last| u64::try_from(last).ok()).unwrap_or_default();
    let updated = inspection.entries.iter().map(|entry| entry.at).fold(first.at, i64::max);
    let span = Span { created: first.at, updated, last: known.max(last.sequence) };
    let summary = Summary::of(inspection.entries.iter().map(|entry| &entry.event));
    let done = put_summary(&mut db.conn, id, span, &opened, &summary).await;
    done.map_err(|error| db.error(DOING, &error))
}

/// Replaces an opening of which nothing is left.
fn unknown_opening() -> protocol::Opened {
    let unknown = || "unknown".to_owned();
    let settings = protocol::Settings {
        provider: unknown(),
        model: unknown(),
        role: protocol::AgentRole::Planner,
    };
    protocol::Opened { root: String::new(), settings, forked_from: None }
}
