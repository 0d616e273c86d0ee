//! Reads rows and summaries, as far as the file lets us.

use futures_util::TryStreamExt as _;
use protocol::LogEntry;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::Inner;
use super::db::{Db, is_corrupt};
use super::lease::{LEASE_COLUMNS, is_taken, lease_from};
use super::open::message;
use super::packed::EventText;
use crate::inspection::{Expected, FoundRow, Inspection, LogProblem, Range, inspect};
use crate::row::Row;
use crate::{ListFilter, SessionId, SessionInfo, StoreError, columns};

const DOING: &str = "reading the session";
const LISTING: &str = "listing sessions";
/// Rows that are read at once when the index cannot be used.
const SCAN_PAGE: u32 = 500;
const EVENT_COLUMNS: &str = "rowid, session, sequence, at, kind, data, checksum";

/// Reads and checks a session's log. Fails only if nothing of it is there.
pub(super) async fn inspect_session(db: &mut Db, id: &SessionId) -> Result<Inspection, StoreError> {
    let (found, unreadable) = read_rows(db, id).await?;
    let expected = match expected(&mut db.conn, id).await {
        // The rows can be read without the summary.
        Err(error) if is_corrupt(&error) => None,
        found => found.map_err(|error| db.error(DOING, &error))?,
    };
    if found.is_empty() && expected.is_none() {
        let file = db.shown();
        return Err(match unreadable {
            Some(reason) => StoreError::Damaged { file, reason },
            None => StoreError::NotFound { text: id.to_string() },
        });
    }
    let is_listed = expected.is_some();
    let mut inspection = inspect(id, found, &expected.unwrap_or_default());
    inspection.problems.extend((!is_listed).then_some(LogProblem::Unlisted));
    inspection.problems.extend(unreadable.map(|reason| LogProblem::Unreadable { reason }));
    Ok(inspection)
}

/// One entry of a session's log, if it is there as it was written.
pub(super) async fn entry(
    db: &mut Db,
    id: &SessionId,
    sequence: u64,
) -> Result<Option<LogEntry>, StoreError> {
    let Ok(sequence) = i64::try_from(sequence) else { return Ok(None) };
    let sql = format!("SELECT {EVENT_COLUMNS} FROM events WHERE session = ? AND sequence = ?");
    let query = sqlx::query(AssertSqlSafe(sql)).bind(id.as_str()).bind(sequence);
    let row = query.fetch_optional(&mut db.conn).await.map_err(|error| db.error(DOING, &error))?;
    let Some(Ok((row, checksum))) = row.map(|row| found_row(&row).content) else { return Ok(None) };
    let is_whole = i64::from(row.checksum(id)) == checksum;
    Ok(is_whole.then(|| row.entry()).flatten())
}

/// The rows of a session, and why not all could be read.
async fn read_rows(
    db: &mut Db,
    id: &SessionId,
) -> Result<(Vec<FoundRow>, Option<String>), StoreError> {
    let sql = format!("SELECT {EVENT_COLUMNS} FROM events WHERE session = ? ORDER BY sequence");
    let mut found = Vec::new();
    let mut rows = sqlx::query(AssertSqlSafe(sql)).bind(id.as_str()).fetch(&mut db.conn);
    let broken = loop {
        match rows.try_next().await {
            Ok(Some(row)) => found.push(found_row(&row)),
            Ok(None) => return Ok((found, None)),
            Err(error) => break error,
        }
    };
    drop(rows);
    if !is_corrupt(&broken) {
        return Err(db.error(DOING, &broken));
    }
    let mut found = Vec::new();
    let mut scan = EventScan::default();
    while let Some(page) = scan.next(&mut db.conn).await {
        let ours = page.into_iter().filter(|(session, _)| session == id.as_str());
        found.extend(ours.map(|(_, row)| row));
    }
    Ok((found, Some(message(&broken))))
}

/// Every row of the table that can be reached from its front or its back, without the index.
#[derive(Default)]
pub(super) struct EventScan {
    /// The last row seen from the front.
    front: Option<i64>,
    /// Where the way from the front ended, the last row seen from the back.
    back: Option<Option<i64>>,
    is_done: bool,
}

impl EventScan {
    /// The next rows with their sessions; none when there are no more.
    pub(super) async fn next(
        &mut self,
        conn: &mut SqliteConnection,
    ) -> Option<Vec<(String, FoundRow)>> {
        while !self.is_done {
            let page = self.page(conn).await;
            if !page.is_empty() {
                return Some(page);
            }
        }
        None
    }

    async fn page(&mut self, conn: &mut SqliteConnection) -> Vec<(String, FoundRow)> {
        let order = if self.back.is_none() { "ASC" } else { "DESC" };
        let sql = format!(
            "SELECT {EVENT_COLUMNS} FROM events NOT INDEXED WHERE rowid > ? AND rowid < ? \
             ORDER BY rowid {order} LIMIT {SCAN_PAGE}"
        );
        let front = self.front.unwrap_or(i64::MIN);
        let back = self.back.flatten().unwrap_or(i64::MAX);
        let mut rows = sqlx::query(AssertSqlSafe(sql)).bind(front).bind(back).fetch(conn);
        let mut page = Vec::new();
        let end = loop {
            match rows.try_next().await {
                Ok(Some(row)) => {
                    let session = row.try_get::<String, _>("session").unwrap_or_default();
                    page.push((session, found_row(&row)));
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let last = page.last().map(|(_, row)| row.rowid);
        match (self.back, end) {
            // From the front no further; what lies behind is reached from the back.
            (None, Err(_)) => (self.front, self.back) = (last.or(self.front), Some(None)),
            (None, Ok(())) => {
                (self.front, self.is_done) = (last, last.is_none_or(|it| it <= front))
            }
            (Some(_), Ok(())) => {
                (self.back, self.is_done) = (Some(last), last.is_none_or(|it| it >= back))
            }
            (Some(_), Err(_)) => self.is_done = true,
        }
        page
    }
}

fn found_row(row: &SqliteRow) -> FoundRow {
    let rowid = row.try_get("rowid").unwrap_or_default();
    let sequence = row.try_get::<i64, _>("sequence").ok().and_then(|it| u64::try_from(it).ok());
    let content = (|| {
        let text = |column: &str| row.try_get::<String, _>(column).map_err(|_| column.to_owned());
        let number = |column: &str| row.try_get::<i64, _>(column).map_err(|_| column.to_owned());
        let sequence = sequence.ok_or("sequence")?;
        let EventText(data) = row.try_get("data").map_err(|_| "data")?;
        let whole = Row { sequence, at: number("at")?, kind: text("kind")?, data };
        Ok((whole, number("checksum")?))
    })();
    let content = content.map_err(|column: String| format!("its field `{column}` is unreadable"));
    FoundRow { rowid, sequence, content }
}

/// What the summary knows about a log; none if there is no readable summary.
pub(super) async fn expected(
    conn: &mut SqliteConnection,
    id: &SessionId,
) -> Result<Option<Expected>, sqlx::Error> {
    let set_aside = set_aside(conn, id).await?;
    let query = "SELECT last, created, root, provider, model, role, forked_from, forked_at \
                 FROM sessions WHERE id = ?";
    let row = sqlx::query(query).bind(id.as_str()).fetch_optional(conn).await?;
    Ok(row.map(|row| columns::expected(&row, set_aside)))
}

async fn set_aside(conn: &mut SqliteConnection, id: &SessionId) -> Result<Vec<Range>, sqlx::Error> {
    let query = "SELECT sequence, coalesce(through, sequence) FROM damaged \
                 WHERE session = ? AND typeof(sequence) = 'integer'";
    let ranges: Vec<(i64, i64)> = sqlx::query_as(query).bind(id.as_str()).fetch_all(conn).await?;
    let range =
        |(from, to)| Some(Range { from: u64::try_from(from).ok()?, to: u64::try_from(to).ok()? });
    Ok(ranges.into_iter().filter_map(range).collect())
}

/// Sessions in short. A summary that cannot be read is left out; a check names it.
pub(super) async fn list(
    inner: &Inner,
    db: &mut Db,
    filter: &ListFilter,
) -> Result<Vec<SessionInfo>, StoreError> {
    let sql = summaries(
        "updated >= ? AND (? IS NULL OR instr(lower(coalesce(title, opening, '')), lower(?)) > 0) \
         ORDER BY updated DESC, id DESC LIMIT ?",
    );
    // SQLite knows capital letters of ASCII only.
    let title = filter.title.as_deref();
    let (by_sql, by_us) = match title.filter(|title| !title.is_ascii()) {
        Some(title) => (None, Some(title.to_lowercase())),
        None => (title, None),
    };
    let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
    let limit_by_sql = filter.limit.filter(|_| by_us.is_none()).map_or(-1, i64::from);
    let query = sqlx::query(AssertSqlSafe(sql))
        .bind(filter.updated_since.unwrap_or(i64::MIN))
        .bind(by_sql)
        .bind(by_sql)
        .bind(limit_by_sql);
    let mut rows = query.fetch(&mut db.conn);
    let mut listed = Vec::new();
    let failed = loop {
        if listed.len() >= limit {
            return Ok(listed);
        }
        match rows.try_next().await {
            Ok(Some(row)) if by_us.as_ref().is_none_or(|title| columns::is_titled(&row, title)) => {
                listed.extend(info_from(inner, &row));
            }
            Ok(Some(_)) => {}
            Ok(None) => return Ok(listed),
            Err(error) => break error,
        }
    };
    drop(rows);
    Err(db.error(LISTING, &failed))
}

/// One session in short.
pub(super) async fn info(
    inner: &Inner,
    db: &mut Db,
    id: &SessionId,
) -> Result<Option<SessionInfo>, StoreError> {
    let query = sqlx::query(AssertSqlSafe(summaries("id = ?"))).bind(id.as_str());
    let row =
        query.fetch_optional(&mut db.conn).await.map_err(|error| db.error(LISTING, &error))?;
    Ok(row.and_then(|row| info_from(inner, &row)))
}

/// A query for the summaries of some sessions with their leases.
fn summaries(which: &str) -> String {
    format!(
        "SELECT sessions.*, {LEASE_COLUMNS} FROM sessions LEFT JOIN leases ON session = id \
         WHERE {which}"
    )
}

/// None if the summary cannot be read.
fn info_from(inner: &Inner, row: &SqliteRow) -> Option<SessionInfo> {
    let id = columns::session_id(row).ok()?;
    let lease = lease_from(row).filter(|lease| is_taken(inner, &id, lease));
    columns::info(row, lease.map(|lease| lease.holder)).ok()
}

/// The ids of all sessions of which anything is there.
pub(super) async fn all_ids(db: &mut Db) -> Result<Vec<SessionId>, StoreError> {
    let query = "SELECT id FROM sessions UNION SELECT session FROM events ORDER BY 1";
    let ids: Result<Vec<String>, _> = sqlx::query_scalar(query).fetch_all(&mut db.conn).await;
    let ids = ids.map_err(|error| db.error("listing sessions", &error))?;
    Ok(ids.into_iter().filter_map(|id| SessionId::try_from(id).ok()).collect())
}
