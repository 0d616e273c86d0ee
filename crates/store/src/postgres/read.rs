//! Reads rows and summaries.

use futures_util::TryStreamExt as _;
use protocol::LogEntry;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::lease::{HOLDER_COLUMNS, holder_from, lives};
use super::write::storable;
use super::{PostgresInner, PostgresStore};
use crate::event_data::EventData;
use crate::inspection::{Expected, FoundRow, Inspection, Range, inspect};
use crate::row::Row;
use crate::{ListFilter, SessionId, SessionInfo, StoreError, columns};

const EVENT_COLUMNS: &str = "session, sequence, at, kind, data, packed, checksum";

/// Reads and checks a session's log. None if it is not there.
pub(super) async fn inspect_session(
    conn: &mut PgConnection,
    project: &str,
    id: &SessionId,
) -> Result<Option<Inspection>, sqlx::Error> {
    // The end is read first: an entry that is written between is then one more, and not one missing.
    let Some(expected) = expected(conn, project, id).await? else { return Ok(None) };
    let sql = format!("SELECT {EVENT_COLUMNS} FROM events WHERE session = $1 ORDER BY sequence");
    let mut rows = sqlx::query(AssertSqlSafe(sql)).bind(id.as_str()).fetch(conn);
    let mut found = Vec::new();
    while let Some(row) = rows.try_next().await? {
        found.push(found_row(&row));
    }
    Ok(Some(inspect(id, found, &expected)))
}

async fn expected(
    conn: &mut PgConnection,
    project: &str,
    id: &SessionId,
) -> Result<Option<Expected>, sqlx::Error> {
    let query = "SELECT last, created, root, provider, model, role, forked_from, forked_at \
                 FROM sessions WHERE id = $1 AND project = $2";
    let row = sqlx::query(query).bind(id.as_str()).bind(project).fetch_optional(&mut *conn).await?;
    let Some(row) = row else { return Ok(None) };
    let query = "SELECT sequence, coalesce(through, sequence) FROM damaged \
                 WHERE session = $1 AND sequence IS NOT NULL";
    let ranges: Vec<(i64, i64)> = sqlx::query_as(query).bind(id.as_str()).fetch_all(conn).await?;
    let range =
        |(from, to)| Some(Range { from: u64::try_from(from).ok()?, to: u64::try_from(to).ok()? });
    Ok(Some(columns::expected(&row, ranges.into_iter().filter_map(range).collect())))
}

/// Positions are unique in a session, so that they say where a row lies.
fn found_row(row: &PgRow) -> FoundRow {
    let rowid = row.try_get("sequence").unwrap_or_default();
    let content = whole_row(row).map_err(|column| format!("its field `{column}` is unreadable"));
    FoundRow { rowid, sequence: u64::try_from(rowid).ok(), content }
}

fn whole_row(row: &PgRow) -> Result<(Row, i64), &'static str> {
    let sequence: i64 = row.try_get("sequence").map_err(|_| "sequence")?;
    let data = event_data(row).ok_or("data")?.to_text().map_err(|_| "data")?;
    let whole = Row {
        sequence: u64::try_from(sequence).map_err(|_| "sequence")?,
        at: row.try_get("at").map_err(|_| "at")?,
        kind: row.try_get("kind").map_err(|_| "kind")?,
        data,
    };
    Ok((whole, row.try_get("checksum").map_err(|_| "checksum")?))
}

/// The JSON in a row, however it is stored.
pub(super) fn event_data(row: &PgRow) -> Option<EventData<'_>> {
    let data = row.try_get::<Option<&str>, _>("data").ok()?;
    match data {
        Some(text) => Some(EventData::Plain(text)),
        None => row.try_get::<Option<&[u8]>, _>("packed").ok()?.map(EventData::Packed),
    }
}

/// The entry in a row, if it is there as it was written.
pub(super) fn whole_entry(id: &SessionId, row: &PgRow) -> Option<LogEntry> {
    let (row, checksum) = whole_row(row).ok()?;
    (i64::from(row.checksum(id)) == checksum).then(|| row.entry()).flatten()
}

/// One entry of a session's log, if it is there as it was written.
pub(super) async fn entry(
    store: &PostgresStore,
    id: &SessionId,
    sequence: u64,
) -> Result<Option<LogEntry>, sqlx::Error> {
    let Ok(sequence) = i64::try_from(sequence) else { return Ok(None) };
    let sql = format!(
        "SELECT {EVENT_COLUMNS} FROM events WHERE session = $1 AND sequence = $2 \
         AND EXISTS (SELECT 1 FROM sessions WHERE id = $1 AND project = $3)"
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(id.as_str()).bind(sequence);
    let row = query.bind(&*store.project).fetch_optional(&store.inner.pool).await?;
    Ok(row.and_then(|row| whole_entry(id, &row)))
}

/// Entries after a position. Where all of a page is damaged or unknown, the next one is read.
pub(super) async fn entries_after(
    inner: &PostgresInner,
    id: &SessionId,
    after: u64,
    limit: u32,
) -> Result<Vec<LogEntry>, sqlx::Error> {
    let sql = format!(
        "SELECT {EVENT_COLUMNS} FROM events WHERE session = $1 AND sequence > $2 \
         ORDER BY sequence LIMIT $3"
    );
    let mut after = i64::try_from(after).unwrap_or(i64::MAX);
    loop {
        let query = sqlx::query(AssertSqlSafe(sql.clone())).bind(id.as_str()).bind(after);
        let rows = query.bind(i64::from(limit)).fetch_all(&inner.pool).await?;
        let entries: Vec<LogEntry> = rows.iter().filter_map(|row| whole_entry(id, row)).collect();
        match rows.last() {
            Some(last) if entries.is_empty() => after = last.try_get("sequence")?,
            _ => return Ok(entries),
        }
    }
}

/// A query for the summaries of some sessions with who holds them.
fn summaries(which: &str) -> String {
    let lives = lives();
    format!(
        "SELECT sessions.*, {HOLDER_COLUMNS} FROM sessions \
         LEFT JOIN replicas ON replicas.id = replica AND {lives} WHERE {which}"
    )
}

/// Sessions in short.
pub(super) async fn list(
    store: &PostgresStore,
    filter: &ListFilter,
) -> Result<Vec<SessionInfo>, sqlx::Error> {
    let sql = summaries(
        "project = $1 AND updated >= $2 AND ($3::text IS NULL OR \
         position(lower($3) IN lower(coalesce(title, opening, ''))) > 0) \
         ORDER BY updated DESC, sessions.id DESC LIMIT $4",
    );
    // What the database takes for a capital letter depends on its locale.
    let title = filter.title.as_deref().map(storable);
    let (by_sql, by_us) = match title.as_deref().filter(|title| !title.is_ascii()) {
        Some(title) => (None, Some(title.to_lowercase())),
        None => (title.as_deref(), None),
    };
    let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
    let limit_by_sql = filter.limit.filter(|_| by_us.is_none()).map(i64::from);
    let query = sqlx::query(AssertSqlSafe(sql)).bind(&*store.project);
    let query =
        query.bind(filter.updated_since.unwrap_or(i64::MIN)).bind(by_sql).bind(limit_by_sql);
    let rows = query.fetch_all(&store.inner.pool).await?;
    let wanted = rows
        .iter()
        .filter(|row| by_us.as_ref().is_none_or(|title| columns::is_titled(*row, title)));
    Ok(wanted.filter_map(|row| info_from(&store.inner, row)).take(limit).collect())
}

/// One session in short.
pub(super) async fn info(
    store: &PostgresStore,
    id: &SessionId,
) -> Result<Option<SessionInfo>, sqlx::Error> {
    let sql = summaries("sessions.id = $1 AND project = $2");
    let query = sqlx::query(AssertSqlSafe(sql)).bind(id.as_str()).bind(&*store.project);
    let row = query.fetch_optional(&store.inner.pool).await?;
    Ok(row.and_then(|row| info_from(&store.inner, &row)))
}

fn info_from(inner: &PostgresInner, row: &PgRow) -> Option<SessionInfo> {
    let id = columns::session_id(row).ok()?;
    columns::info(row, holder_from(inner, &id, row)).ok()
}

/// The ids of all sessions of a project.
pub(super) async fn all_ids(store: &PostgresStore) -> Result<Vec<SessionId>, sqlx::Error> {
    let query = "SELECT id FROM sessions WHERE project = $1 ORDER BY id";
    let ids: Vec<String> =
        sqlx::query_scalar(query).bind(&*store.project).fetch_all(&store.inner.pool).await?;
    Ok(ids.into_iter().filter_map(|id| SessionId::try_from(id).ok()).collect())
}

pub(super) fn not_found(id: &SessionId) -> StoreError {
    StoreError::NotFound { text: id.to_string() }
}
