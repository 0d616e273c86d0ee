//! Sessions as a whole: beginning, finding, forking, export and import, deleting.

use protocol::{LogEntry, Opened, SessionEvent};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};

use super::PostgresStore;
use super::connect::is_lost_connection;
use super::lease::claim;
use super::partitions::make_for;
use super::read::{inspect_session, not_found};
use super::write::{EventColumns, Said, append, storable};
use crate::find::{MIN_ID_PIECE, the_one};
use crate::heirs::{ForkOf, heirs};
use crate::inspection::{Inspection, LogProblem};
use crate::jsonl::{self, Header};
use crate::row::{Row, number};
use crate::stored_data::PackedRow;
use crate::summary::{Span, Summary, SummaryOfRows, role_text, signed};
use crate::{Hint, Imported, Loaded, SessionId, SessionState, StoreError, copied};

const READING: &str = "reading the session";
const BEGINNING: &str = "beginning a session";
/// Rows that are written with one statement when a whole log is.
const ROWS_PER_STATEMENT: usize = 500;
/// Tries to begin a session whose first one was not answered.
const TRIES: usize = 3;

/// Everything that is about one session, but for the summary, which is removed last.
const TABLES_OF_A_SESSION: [&str; 10] = [
    "inbox",
    "standing",
    "events",
    "said",
    "damaged",
    "learned",
    "learned_through",
    "counted",
    "decided",
    "counted_through",
];

pub(super) async fn create_as(
    store: &PostgresStore,
    id: &SessionId,
    first: Opened,
    events: Vec<SessionEvent>,
) -> Result<Vec<LogEntry>, StoreError> {
    let events = std::iter::once(SessionEvent::Opened(first)).chain(events).collect();
    let entries = number(events, 0, store.inner.now());
    let rows = entries.iter().map(|entry| Row::new(entry.sequence, entry.at, &entry.event));
    insert_as(store, id, &rows.collect::<Result<Vec<_>, _>>()?, None).await?;
    Ok(entries)
}

/// Writes a session under a new id.
async fn insert(store: &PostgresStore, rows: &[Row]) -> Result<SessionId, StoreError> {
    let id = store.inner.new_id()?;
    insert_as(store, &id, rows, None).await?;
    Ok(id)
}

/// Tried again if it is not known whether it was done: then it is there already. The session that it is a fork of must
/// be there.
async fn insert_as(
    store: &PostgresStore,
    id: &SessionId,
    rows: &[Row],
    origin: Option<&SessionId>,
) -> Result<(), StoreError> {
    let mut tries = 0..TRIES;
    loop {
        let is_first = tries.next() == Some(0);
        match insert_once(store, id, rows, origin).await {
            Ok(()) => break,
            Err(sqlx::Error::RowNotFound) => return Err(not_found(origin.unwrap_or(id))),
            Err(error) if is_lost_connection(&error) && !tries.is_empty() => {}
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                if is_first {
                    return Err(StoreError::Exists { session: id.clone() });
                }
                break;
            }
            Err(error) => return Err(store.inner.place.error(BEGINNING, &error)),
        }
    }
    let sequence = rows.last().map_or(0, |row| row.sequence);
    store.inner.hints.tell(Hint::Log { session: id.clone(), sequence });
    Ok(())
}

async fn insert_once(
    store: &PostgresStore,
    id: &SessionId,
    rows: &[Row],
    origin: Option<&SessionId>,
) -> Result<(), sqlx::Error> {
    make_for(&store.inner, id).await?;
    let mut conn = store.inner.pool.acquire().await?;
    let mut tx = conn.begin().await?;
    if let Some(origin) = origin {
        // It is not removed meanwhile: whoever removes it must see this fork.
        let lock = "SELECT 1 FROM sessions WHERE id = $1 AND project = $2 FOR KEY SHARE";
        let lock = sqlx::query(lock).bind(origin.as_str()).bind(&*store.project);
        lock.fetch_one(&mut *tx).await?;
    }
    if let Some(SummaryOfRows { span, opened, summary }) = SummaryOfRows::new(rows) {
        put_summary(&mut tx, (&store.project, id), span, &opened, &summary, "").await?;
    }
    insert_rows(&mut tx, &store.project, id, rows).await?;
    for (from, to) in copied::gaps(rows) {
        note_gap(&mut tx, id, from, to, store.inner.now()).await?;
    }
    tx.commit().await
}

/// Writes rows and their words, within a transaction of the caller.
pub(super) async fn insert_rows(
    conn: &mut PgConnection,
    project: &str,
    id: &SessionId,
    rows: &[Row],
) -> Result<(), sqlx::Error> {
    const EVENTS: &str = "INSERT INTO events (session, sequence, at, kind, data, packed, checksum) \
        SELECT $1, new.* FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bytea[], \
        $7::bigint[]) AS new (sequence, at, kind, data, packed, checksum)";
    const SAID: &str = "INSERT INTO said (session, sequence, project, at, words) \
        SELECT $1, new.sequence, $2, new.at, new.words::tsvector \
        FROM unnest($3::bigint[], $4::bigint[], $5::text[]) AS new (sequence, at, words)";
    for chunk in rows.chunks(ROWS_PER_STATEMENT) {
        let mut said = Said::default();
        chunk.iter().for_each(|row| said.add(row.sequence, row.at, &row.kind, &row.data));
        let packed = chunk.iter().map(|row| PackedRow::of(id, row));
        let columns = EventColumns::of(packed.collect::<Result<_, _>>()?);
        let events = sqlx::query(EVENTS).bind(id.as_str()).bind(columns.sequence).bind(columns.at);
        let events = events.bind(columns.kind).bind(columns.data).bind(columns.packed);
        events.bind(columns.checksum).execute(&mut *conn).await?;
        let words = sqlx::query(SAID).bind(id.as_str()).bind(project);
        let words = words.bind(said.sequence).bind(said.at).bind(said.words);
        words.execute(&mut *conn).await?;
    }
    Ok(())
}

/// Replaces the summary of a session, and leaves alone its lease, and which session counts what both have: that may be
/// another one than the log says.
pub(super) const REPLACING: &str = "ON CONFLICT (id) DO UPDATE SET created = excluded.created, \
    updated = excluded.updated, last = excluded.last, turns = excluded.turns, \
    title = excluded.title, opening = excluded.opening, root = excluded.root, \
    provider = excluded.provider, model = excluded.model, role = excluded.role, \
    state = excluded.state, input = excluded.input, output = excluded.output, \
    cache_read = excluded.cache_read, cache_write = excluded.cache_write, cost = excluded.cost";

/// Writes the summary of a session. `conflict` says what to do if there is one.
pub(super) async fn put_summary(
    conn: &mut PgConnection,
    (project, id): (&str, &SessionId),
    span: Span,
    opened: &Opened,
    summary: &Summary,
    conflict: &str,
) -> Result<(), sqlx::Error> {
    let settings = summary.settings.as_ref().unwrap_or(&opened.settings);
    let fork = opened.forked_from.as_ref();
    let sql = format!(
        "INSERT INTO sessions (id, project, created, updated, last, turns, title, opening, root, \
         provider, model, role, state, input, output, cache_read, cache_write, cost, forked_from, \
         forked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
         $17, $18, $19, $20) {conflict}"
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(id.as_str())
        .bind(project)
        .bind(span.created)
        .bind(span.updated)
        .bind(signed(span.last))
        .bind(signed(summary.turns))
        .bind(summary.title.as_deref().map(storable))
        .bind(summary.opening.as_deref().map(storable))
        .bind(storable(&opened.root))
        .bind(storable(&settings.provider))
        .bind(storable(&settings.model))
        .bind(role_text(&settings.role))
        .bind(summary.state.unwrap_or(SessionState::Idle).as_str())
        .bind(signed(summary.usage.input))
        .bind(signed(summary.usage.output))
        .bind(signed(summary.usage.cache_read))
        .bind(signed(summary.usage.cache_write))
        .bind(summary.cost)
        .bind(fork.map(|fork| storable(&fork.session)))
        .bind(fork.map(|fork| signed(fork.sequence)))
        .execute(conn)
        .await?;
    Ok(())
}

/// Records that entries are missing, so that it is reported only once.
pub(super) async fn note_gap(
    conn: &mut PgConnection,
    id: &SessionId,
    from: u64,
    to: u64,
    now: i64,
) -> Result<(), sqlx::Error> {
    let query = "INSERT INTO damaged (session, sequence, through, moved, reason) \
                 VALUES ($1, $2, $3, $4, 'missing')";
    let query = sqlx::query(query).bind(id.as_str()).bind(signed(from)).bind(signed(to));
    query.bind(now).execute(conn).await?;
    Ok(())
}

pub(super) async fn inspection(
    store: &PostgresStore,
    id: &SessionId,
) -> Result<Inspection, StoreError> {
    let found = async {
        let mut conn = store.inner.pool.acquire().await?;
        inspect_session(&mut conn, &store.project, id).await
    };
    let found: Result<_, sqlx::Error> = found.await;
    found.map_err(|error| store.inner.place.error(READING, &error))?.ok_or_else(|| not_found(id))
}

pub(super) async fn load(store: &PostgresStore, id: &SessionId) -> Result<Loaded, StoreError> {
    let inspection = inspection(store, id).await?;
    let damage = inspection.problems.iter().map(LogProblem::to_string).collect();
    Ok(Loaded { entries: inspection.entries, damage })
}

/// Finds by whole id, then by the beginning of one, then by the end, then by title, then by a part of one.
pub(super) async fn find(store: &PostgresStore, text: &str) -> Result<SessionId, StoreError> {
    const CONDITIONS: [&str; 5] = [
        "id = $1",
        "left(id, length($1)) = $1",
        "right(id, length($1)) = $1",
        "lower(coalesce(title, opening)) = lower($1)",
        "position(lower($1) IN lower(coalesce(title, opening))) > 0",
    ];
    let text = text.trim();
    for condition in CONDITIONS.into_iter().filter(|_| text.chars().count() >= MIN_ID_PIECE) {
        let sql = format!("SELECT id FROM sessions WHERE project = $2 AND {condition} ORDER BY id");
        let query = sqlx::query_scalar(AssertSqlSafe(sql)).bind(storable(text));
        let ids = query.bind(&*store.project).fetch_all(&store.inner.pool).await;
        let ids = ids.map_err(|error| store.inner.place.error("looking for a session", &error))?;
        if let Some(id) = the_one(text, ids)? {
            return Ok(id);
        }
    }
    Err(StoreError::NotFound { text: text.to_owned() })
}

pub(super) async fn rename(
    store: &PostgresStore,
    id: &SessionId,
    title: &str,
) -> Result<LogEntry, StoreError> {
    let inner = &store.inner;
    let is_held = inner.presence.is_held(id);
    let lease = if is_held { None } else { Some(claim(inner, &store.project, id).await?) };
    let event = SessionEvent::Renamed { title: title.trim().to_owned() };
    let entries = append(inner, Some(&store.project), id, vec![event], &[]).await;
    if let Some(lease) = lease {
        lease.release().await;
    }
    let entry = entries?.pop();
    entry.ok_or_else(|| StoreError::failed("renaming the session", "nothing was written"))
}

pub(super) async fn delete(store: &PostgresStore, id: &SessionId) -> Result<(), StoreError> {
    let lease = claim(&store.inner, &store.project, id).await?;
    let done = async {
        let mut tx = store.inner.pool.begin().await?;
        remove(&mut tx, id).await?;
        tx.commit().await
    };
    let done: Result<(), sqlx::Error> = done.await;
    lease.release().await;
    done.map_err(|error| store.inner.place.error("deleting the session", &error))
}

/// Removes everything of a session, within a transaction of the caller.
pub(super) async fn remove(conn: &mut PgConnection, id: &SessionId) -> Result<(), sqlx::Error> {
    // A replica that reads the log for statistics waits here, or its rows are seen below.
    let lock = "SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE";
    sqlx::query(lock).bind(id.as_str()).execute(&mut *conn).await?;
    for table in TABLES_OF_A_SESSION {
        let sql = format!("DELETE FROM {table} WHERE session = $1");
        sqlx::query(AssertSqlSafe(sql)).bind(id.as_str()).execute(&mut *conn).await?;
    }
    replace_by_forks(conn, id).await?;
    sqlx::query("DELETE FROM sessions WHERE id = $1").bind(id.as_str()).execute(conn).await?;
    Ok(())
}

/// Its forks count for what they have in common with a session that goes.
async fn replace_by_forks(conn: &mut PgConnection, id: &SessionId) -> Result<(), sqlx::Error> {
    let forks = "SELECT fork.id, fork.forked_at FROM sessions AS own JOIN sessions AS fork \
                 ON fork.forked_from = own.id AND fork.project = own.project \
                 WHERE own.id = $1 AND fork.forked_at IS NOT NULL ORDER BY fork.id FOR UPDATE OF fork";
    let forks = sqlx::query_as(forks).bind(id.as_str()).fetch_all(&mut *conn).await?;
    if forks.is_empty() {
        return Ok(());
    }
    let origin = "SELECT forked_from, forked_at FROM sessions \
                  WHERE id = $1 AND forked_from IS NOT NULL AND forked_at IS NOT NULL";
    let origin: Option<ForkOf> =
        sqlx::query_as(origin).bind(id.as_str()).fetch_optional(&mut *conn).await?;
    for (fork, of) in heirs(origin.as_ref(), forks) {
        let (from, at) = of.unzip();
        let place = "UPDATE sessions SET forked_from = $2, forked_at = $3 WHERE id = $1";
        sqlx::query(place).bind(fork).bind(from).bind(at).execute(&mut *conn).await?;
    }
    Ok(())
}

pub(super) async fn fork(
    store: &PostgresStore,
    id: &SessionId,
    at: Option<u64>,
) -> Result<SessionId, StoreError> {
    let inspection = inspection(store, id).await?;
    let rows = copied::forked(id, inspection, at, store.inner.now())?;
    let made = store.inner.new_id()?;
    insert_as(store, &made, &rows, Some(id)).await?;
    Ok(made)
}

pub(super) async fn export(store: &PostgresStore, id: &SessionId) -> Result<String, StoreError> {
    let inspection = inspection(store, id).await?;
    let query = "SELECT coalesce(title, opening) FROM sessions WHERE id = $1";
    let title = sqlx::query_scalar::<_, Option<String>>(query).bind(id.as_str());
    // The export works without the title, which the log holds too.
    let title = title.fetch_optional(&store.inner.pool).await.ok().flatten().flatten();
    let header = Header::new(id.clone(), title, store.inner.now());
    jsonl::write(header, &inspection.rows, &inspection.entries)
}

pub(super) async fn import(store: &PostgresStore, text: &str) -> Result<Imported, StoreError> {
    let (rows, damage) = copied::imported(text, store.inner.now())?;
    let id = insert(store, &rows).await?;
    Ok(Imported { id, damage })
}

pub(super) async fn import_as(
    store: &PostgresStore,
    id: SessionId,
    text: &str,
) -> Result<Imported, StoreError> {
    let (rows, damage) = copied::imported(text, store.inner.now())?;
    insert_as(store, &id, &rows, None).await?;
    Ok(Imported { id, damage })
}
