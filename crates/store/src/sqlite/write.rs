//! Writes rows and the summaries that go with them.

use protocol::{LogEntry, Opened, SessionEvent};
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, QueryBuilder, Sqlite};

use super::Inner;
use super::db::{Db, is_conflict};
use super::lease::lease_of;
use crate::id::now_ms;
use crate::row::{Row, number};
use crate::stored_data::{PackedRow, StoredData};
use crate::summary::{Span, Summary, SummaryOfRows, role_text, signed};
use crate::{SessionId, SessionState, StoreError};

/// Rows that are written with one statement.
const ROWS_PER_STATEMENT: usize = 50;

const DOING: &str = "writing to the session";

/// If another process has the lease, no row is changed, and so none is inserted below.
const UPDATE: &str = "UPDATE sessions SET last = ?, updated = max(updated, ?), turns = turns + ?, \
    title = COALESCE(?, title), opening = COALESCE(opening, ?), \
    provider = COALESCE(?, provider), model = COALESCE(?, model), role = COALESCE(?, role), \
    state = COALESCE(?, state), input = input + ?, output = output + ?, \
    cache_read = cache_read + ?, cache_write = cache_write + ?, \
    cost = CASE WHEN ? IS NULL THEN cost ELSE COALESCE(cost, 0) + ? END \
    WHERE id = ? AND NOT EXISTS \
    (SELECT 1 FROM leases WHERE session = sessions.id AND owner <> ?) RETURNING 1";

/// Appends to a session.
pub(super) async fn append(
    inner: &Inner,
    id: &SessionId,
    events: Vec<SessionEvent>,
) -> Result<Vec<LogEntry>, StoreError> {
    let mut db = inner.db.lock().await;
    let last = match db.last.get(id) {
        Some(last) => *last,
        None => last_of(&mut db, id).await?,
    };
    let mut entries = number(events, last, now_ms());
    let mut written = write(&mut db, inner.owner.token, id, &entries).await;
    if let Err(WriteError::Conflict) = written {
        // Another process wrote before this one got the lease.
        let last = last_of(&mut db, id).await?;
        entries = number(entries.into_iter().map(|entry| entry.event).collect(), last, now_ms());
        written = write(&mut db, inner.owner.token, id, &entries).await;
    }
    match written {
        Ok(true) => {
            if let Some(entry) = entries.last() {
                db.last.insert(id.clone(), entry.sequence);
            }
            Ok(entries)
        }
        Ok(false) => Err(refusal_of_write(&mut db, inner.owner.token, id).await),
        Err(WriteError::Conflict) => Err(StoreError::Busy { file: db.shown() }),
        Err(WriteError::Other(error)) => Err(error),
    }
}

/// The last position that is taken, whatever the summary says.
async fn last_of(db: &mut Db, id: &SessionId) -> Result<u64, StoreError> {
    let query = "SELECT max(last, (SELECT coalesce(max(sequence), 0) FROM events WHERE session = id)) \
                 FROM sessions WHERE id = ?";
    let last = sqlx::query_scalar::<_, i64>(query).bind(id.as_str()).fetch_optional(&mut db.conn);
    match last.await {
        Ok(Some(last)) => Ok(u64::try_from(last).unwrap_or_default()),
        Ok(None) => Err(StoreError::NotFound { text: id.to_string() }),
        Err(error) => Err(db.error(DOING, &error)),
    }
}

/// Why a session could not be written.
async fn refusal_of_write(db: &mut Db, owner: i64, id: &SessionId) -> StoreError {
    match lease_of(db, id).await {
        Ok(Some(lease)) if lease.owner != owner => {
            StoreError::InUse { session: id.clone(), holder: lease.holder }
        }
        Ok(_) => StoreError::NotFound { text: id.to_string() },
        Err(error) => error,
    }
}

enum WriteError {
    /// A position is taken.
    Conflict,
    Other(StoreError),
}

/// One trip to the database for everything, because every trip costs more than the work itself.
/// False if the session is not there or not ours.
async fn write(
    db: &mut Db,
    owner: i64,
    id: &SessionId,
    entries: &[LogEntry],
) -> Result<bool, WriteError> {
    let rows = entries.iter().map(|entry| PackedRow::new(id, entry));
    let rows = rows.collect::<Result<Vec<_>, _>>().map_err(WriteError::Other)?;
    let summary = Summary::of(entries.iter().map(|entry| &entry.event));
    let mut query = sqlx::query(AssertSqlSafe(append_sql(rows.len())));
    let role = summary.settings.as_ref().map(|settings| role_text(&settings.role));
    let end = rows.last();
    query = query
        .bind(signed(end.map_or(0, |row| row.sequence)))
        .bind(end.map_or(0, |row| row.at))
        .bind(signed(summary.turns))
        .bind(summary.title)
        .bind(summary.opening)
        .bind(summary.settings.as_ref().map(|settings| settings.provider.clone()))
        .bind(summary.settings.as_ref().map(|settings| settings.model.clone()))
        .bind(role)
        .bind(summary.state.map(SessionState::as_str))
        .bind(signed(summary.usage.input))
        .bind(signed(summary.usage.output))
        .bind(signed(summary.usage.cache_read))
        .bind(signed(summary.usage.cache_write))
        .bind(summary.cost)
        .bind(summary.cost)
        .bind(id.as_str())
        .bind(owner);
    for row in rows {
        query = query
            .bind(id.as_str())
            .bind(signed(row.sequence))
            .bind(row.at)
            .bind(row.kind)
            .bind(row.data)
            .bind(i64::from(row.checksum));
    }
    match query.fetch_all(&mut db.conn).await {
        Ok(updated) => Ok(!updated.is_empty()),
        Err(error) => {
            // The first error is the one to report. If there is no transaction, this one fails.
            let _ = sqlx::raw_sql("ROLLBACK").execute(&mut db.conn).await;
            Err(match is_conflict(&error) {
                true => WriteError::Conflict,
                false => WriteError::Other(db.error(DOING, &error)),
            })
        }
    }
}

/// The whole append as one text; statements are kept prepared by their text.
fn append_sql(rows: usize) -> String {
    let mut sql = format!("BEGIN IMMEDIATE; {UPDATE};");
    let mut left = rows;
    while left > 0 {
        let now = left.min(ROWS_PER_STATEMENT);
        sql.push_str("INSERT INTO events (session, sequence, at, kind, data, checksum) SELECT * FROM (VALUES ");
        for row in 0..now {
            sql.push_str(if row == 0 { "(?, ?, ?, ?, ?, ?)" } else { ", (?, ?, ?, ?, ?, ?)" });
        }
        // If nothing was updated, nothing is inserted, and so on to the last.
        sql.push_str(") WHERE changes() > 0;");
        left -= now;
    }
    sql.push_str("COMMIT");
    sql
}

/// Writes a whole session that is not there yet, within a transaction of the caller.
pub(super) async fn insert_session(
    conn: &mut SqliteConnection,
    id: &SessionId,
    rows: &[Row],
) -> Result<(), sqlx::Error> {
    insert_rows(conn, id, rows).await?;
    if let Some(whole) = SummaryOfRows::new(rows) {
        put_summary(conn, id, whole.span, &whole.opened, &whole.summary).await?;
    }
    Ok(())
}

/// Writes the summary of a session, whether there is one or not. Which session counts what both have in common may be
/// another one by now than the log says.
pub(super) async fn put_summary(
    conn: &mut SqliteConnection,
    id: &SessionId,
    span: Span,
    opened: &Opened,
    summary: &Summary,
) -> Result<(), sqlx::Error> {
    let settings = summary.settings.as_ref().unwrap_or(&opened.settings);
    let fork = opened.forked_from.as_ref();
    sqlx::query(
        "INSERT OR REPLACE INTO sessions (id, created, updated, last, turns, title, opening, root, \
         provider, model, role, state, input, output, cache_read, cache_write, cost, forked_from, \
         forked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, \
         coalesce((SELECT forked_from FROM sessions WHERE id = $1), $18), \
         coalesce((SELECT forked_at FROM sessions WHERE id = $1), $19))",
    )
    .bind(id.as_str())
    .bind(span.created)
    .bind(span.updated)
    .bind(signed(span.last))
    .bind(signed(summary.turns))
    .bind(summary.title.as_deref())
    .bind(summary.opening.as_deref())
    .bind(opened.root.as_str())
    .bind(settings.provider.as_str())
    .bind(settings.model.as_str())
    .bind(role_text(&settings.role))
    .bind(summary.state.unwrap_or(SessionState::Idle).as_str())
    .bind(signed(summary.usage.input))
    .bind(signed(summary.usage.output))
    .bind(signed(summary.usage.cache_read))
    .bind(signed(summary.usage.cache_write))
    .bind(summary.cost)
    .bind(fork.map(|fork| fork.session.as_str()))
    .bind(fork.map(|fork| signed(fork.sequence)))
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn insert_rows(
    conn: &mut SqliteConnection,
    id: &SessionId,
    rows: &[Row],
) -> Result<(), sqlx::Error> {
    for chunk in rows.chunks(ROWS_PER_STATEMENT) {
        let data: Result<Vec<StoredData>, _> = chunk.iter().map(StoredData::of).collect();
        let mut query = QueryBuilder::<Sqlite>::new(
            "INSERT OR IGNORE INTO events (session, sequence, at, kind, data, checksum) ",
        );
        query.push_values(chunk.iter().zip(data?), |mut values, (row, data)| {
            values
                .push_bind(id.as_str())
                .push_bind(signed(row.sequence))
                .push_bind(row.at)
                .push_bind(row.kind.as_str())
                .push_bind(data)
                .push_bind(i64::from(row.checksum(id)));
        });
        query.build().execute(&mut *conn).await?;
    }
    Ok(())
}
