//! Appends to sessions: one statement that names the position and the epoch it rests on, and that can therefore be
//! repeated when it is not known whether it was done.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use protocol::{LogEntry, SessionEvent};
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};

use super::PostgresInner;
use super::connect::is_lost_connection;
use super::lease::refusal;
use super::presence::HeldLease;
use crate::found_messages::{SAID_KINDS, text_of};
use crate::row::number;
use crate::stored_data::{PackedRow, StoredData};
use crate::summary::{Summary, role_text, signed};
use crate::{Hint, SessionId, SessionState, StoreError, said_words};

pub(super) const DOING: &str = "writing to the session";
/// How long one try may take before another connection is used, and how much longer for each byte.
const TRY: Duration = Duration::from_secs(2);
const TRY_PER_BYTE: Duration = Duration::from_micros(1);
/// How long an append is tried again while the database does not answer. By then its replica has lost its leases.
const TRIES: Duration = Duration::from_secs(10);
/// Between two tries on a database that refuses connections.
const PAUSE: Duration = Duration::from_millis(100);
/// Writers that come in each other's way before one gives up. With a lease that is at most one that did not know the
/// end of the log.
const MOST_CONFLICTS: usize = 50;

/// Nothing is written unless the log still ends where the caller thinks, the lease is the one that it has, and all
/// items that it takes are waiting. What budgets of the day count is kept as bounded as [`crate::counting`] has it.
const APPEND: &str = "\
    WITH items AS (SELECT number FROM inbox \
        WHERE session = $1 AND number = ANY($26) AND state = 'waiting' FOR UPDATE), \
    head AS (UPDATE sessions SET last = $6, updated = greatest(updated, $7), turns = turns + $8, \
        title = COALESCE($9, title), opening = COALESCE(opening, $10), \
        provider = COALESCE($11, provider), model = COALESCE($12, model), \
        role = COALESCE($13, role), state = COALESCE($14, state), input = input + $15, \
        output = output + $16, cache_read = cache_read + $17, cache_write = cache_write + $18, \
        cost = CASE WHEN $19::float8 IS NULL THEN cost ELSE COALESCE(cost, 0) + $19 END, \
        spent_usd = CASE WHEN $19::float8 IS NULL THEN spent_usd \
            WHEN spent_day = today.number THEN spent_usd + least(greatest($19, -1e12), 1e12) \
            ELSE least(greatest($19, -1e12), 1e12) END, \
        spent_day = CASE WHEN $19::float8 IS NULL THEN spent_day ELSE today.number END, \
        written = clock_timestamp() \
        FROM (SELECT floor(extract(epoch FROM now()) / 86400)::bigint AS number) AS today \
        WHERE id = $1 AND ($2::text IS NULL OR project = $2) AND last = $3 \
        AND replica IS NOT DISTINCT FROM $5 AND ($4::bigint IS NULL OR epoch = $4) \
        AND (SELECT count(*) FROM items) = cardinality($26::bigint[]) RETURNING project), \
    taken AS (UPDATE inbox SET state = 'done', through = $6 FROM head \
        WHERE session = $1 AND number = ANY($26)), \
    words AS (INSERT INTO said (session, sequence, project, at, words) \
        SELECT $1, new.sequence, head.project, new.at, new.words::tsvector \
        FROM head, unnest($27::bigint[], $28::bigint[], $29::text[]) AS new (sequence, at, words)), \
    rows AS (INSERT INTO events (session, sequence, at, kind, data, packed, checksum) \
        SELECT $1, new.* FROM head, unnest($20::bigint[], $21::bigint[], $22::text[], $23::text[], \
        $24::bytea[], $25::bigint[]) AS new (sequence, at, kind, data, packed, checksum)) \
    SELECT count(*) FROM head";

/// Events as they are written after a position.
struct Batch {
    entries: Vec<LogEntry>,
    columns: EventColumns,
    said: Said,
    summary: Summary,
    /// The position before the first entry.
    last: u64,
    bytes: usize,
}

impl Batch {
    fn new(
        id: &SessionId,
        events: Vec<SessionEvent>,
        last: u64,
        at: i64,
    ) -> Result<Self, StoreError> {
        let entries = number(events, last, at);
        let rows = entries.iter().map(|entry| PackedRow::new(id, entry));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let said = Said::of(&entries, &rows);
        let bytes = rows.iter().map(|row| row.data.bytes()).sum();
        let summary = Summary::of(entries.iter().map(|entry| &entry.event));
        Ok(Self { entries, columns: EventColumns::of(rows), said, summary, last, bytes })
    }

    /// The same events after another position.
    fn moved(self, id: &SessionId, last: u64, at: i64) -> Result<Self, StoreError> {
        let events = self.entries.into_iter().map(|entry| entry.event).collect();
        Self::new(id, events, last, at)
    }

    fn end(&self) -> u64 {
        self.entries.last().map_or(self.last, |entry| entry.sequence)
    }
}

/// What is to be appended, and on what it rests.
struct AppendAttempt<'a> {
    project: Option<&'a str>,
    id: &'a SessionId,
    batch: &'a Batch,
    lease: Option<&'a HeldLease>,
    done: &'a [i64],
    /// Whether an earlier try may have been done without an answer.
    is_repeated: bool,
}

/// How an attempt ended, if the database has answered.
enum Attempted {
    Written,
    /// Another writer was faster; the log ends here now.
    Behind(u64),
    Refused(StoreError),
}

/// Appends to a session and marks items of its inbox as done.
pub(super) async fn append(
    inner: &PostgresInner,
    project: Option<&str>,
    id: &SessionId,
    events: Vec<SessionEvent>,
    done: &[i64],
) -> Result<Vec<LogEntry>, StoreError> {
    let lease = inner.presence.held().get(id).cloned();
    let Some(lease) = lease else {
        if project.is_none() {
            return Err(StoreError::LeaseLost { session: id.clone() });
        }
        return append_unleased(inner, project, id, events).await;
    };
    // One append at a time: the next one rests on where this one ends.
    let mut last = lease.last.lock().await;
    let mut batch = Batch::new(id, events, *last, inner.now())?;
    for _ in 0..MOST_CONFLICTS {
        let is_repeated = false;
        let lease = Some(&lease);
        let attempt = AppendAttempt { project, id, batch: &batch, lease, done, is_repeated };
        match until_known(inner, &attempt).await? {
            Attempted::Written => {
                *last = batch.end();
                inner.hints.tell(Hint::Log { session: id.clone(), sequence: *last });
                if !done.is_empty() {
                    inner.hints.tell(Hint::Inbox { session: id.clone() });
                }
                return Ok(batch.entries);
            }
            Attempted::Behind(end) => batch = batch.moved(id, end, inner.now())?,
            Attempted::Refused(error) => return Err(error),
        }
    }
    Err(StoreError::Busy { file: inner.place.to_string() })
}

/// For sessions that no replica holds. Such writers are not alone, so that a try is repeated only if it is known to
/// have changed nothing.
async fn append_unleased(
    inner: &PostgresInner,
    project: Option<&str>,
    id: &SessionId,
    events: Vec<SessionEvent>,
) -> Result<Vec<LogEntry>, StoreError> {
    let failed = |error: sqlx::Error| inner.place.error(DOING, &error);
    let mut conn = inner.pool.acquire().await.map_err(failed)?;
    let query = "SELECT last FROM sessions WHERE id = $1 AND ($2::text IS NULL OR project = $2)";
    let last = sqlx::query_scalar(query).bind(id.as_str()).bind(project);
    let last: Option<i64> = last.fetch_optional(&mut *conn).await.map_err(failed)?;
    let Some(last) = last else { return Err(StoreError::NotFound { text: id.to_string() }) };
    let last = u64::try_from(last).unwrap_or_default();
    let mut batch = Batch::new(id, events, last, inner.now())?;
    for _ in 0..MOST_CONFLICTS {
        let (lease, done, is_repeated) = (None, &[][..], false);
        let attempt = AppendAttempt { project, id, batch: &batch, lease, done, is_repeated };
        match attempted(inner, &mut conn, &attempt).await.map_err(failed)? {
            Attempted::Written => {
                inner.hints.tell(Hint::Log { session: id.clone(), sequence: batch.end() });
                return Ok(batch.entries);
            }
            Attempted::Behind(end) => batch = batch.moved(id, end, inner.now())?,
            Attempted::Refused(error) => return Err(error),
        }
    }
    Err(StoreError::Busy { file: inner.place.to_string() })
}

/// Tries until the database has answered. A repetition changes nothing if an earlier try was done after all.
async fn until_known(
    inner: &PostgresInner,
    attempt: &AppendAttempt<'_>,
) -> Result<Attempted, StoreError> {
    let begun = Instant::now();
    let is_lost = || attempt.lease.is_some_and(|lease| is_lost(inner, attempt.id, lease));
    if is_lost() {
        return Ok(Attempted::Refused(StoreError::LeaseLost { session: attempt.id.clone() }));
    }
    let mut attempt = AppendAttempt { is_repeated: false, ..*attempt };
    loop {
        let error = match once(inner, &attempt).await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        // If the lease was lost meanwhile, it stays unknown whether it was written.
        if !is_lost_connection(&error) || is_lost() || begun.elapsed() > TRIES {
            return Err(inner.place.error(DOING, &error));
        }
        tokio::time::sleep(PAUSE).await;
        attempt.is_repeated = true;
    }
}

/// One try on one connection, which is not used again if it does not answer.
async fn once(
    inner: &PostgresInner,
    attempt: &AppendAttempt<'_>,
) -> Result<Attempted, sqlx::Error> {
    let mut conn = inner.pool.acquire().await?;
    let limit = TRY + TRY_PER_BYTE * u32::try_from(attempt.batch.bytes).unwrap_or(u32::MAX);
    match tokio::time::timeout(limit, attempted(inner, &mut conn, attempt)).await {
        Ok(done) => {
            if done.is_err() {
                conn.close_on_drop();
            }
            done
        }
        Err(_) => {
            conn.close_on_drop();
            Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))
        }
    }
}

fn is_lost(inner: &PostgresInner, id: &SessionId, lease: &HeldLease) -> bool {
    let held = inner.presence.held();
    held.get(id).is_none_or(|held| held.is_lost || held.epoch != lease.epoch)
}

async fn attempted(
    inner: &PostgresInner,
    conn: &mut PgConnection,
    attempt: &AppendAttempt<'_>,
) -> Result<Attempted, sqlx::Error> {
    if write(conn, attempt).await? {
        return Ok(Attempted::Written);
    }
    why_not(inner, conn, attempt).await
}

/// True if it was written.
async fn write(conn: &mut PgConnection, attempt: &AppendAttempt<'_>) -> Result<bool, sqlx::Error> {
    let AppendAttempt { project, id, batch, lease, done, .. } = *attempt;
    let Batch { entries, columns, said, summary, last, .. } = batch;
    let settings = summary.settings.as_ref();
    let query = sqlx::query_scalar::<_, i64>(APPEND)
        .bind(id.as_str())
        .bind(project)
        .bind(signed(*last))
        .bind(lease.map(|lease| lease.epoch))
        .bind(lease.map(|lease| lease.replica.as_str()))
        .bind(signed(batch.end()))
        .bind(entries.last().map_or(0, |entry| entry.at))
        .bind(signed(summary.turns))
        .bind(summary.title.as_deref().map(storable))
        .bind(summary.opening.as_deref().map(storable))
        .bind(settings.map(|settings| storable(&settings.provider)))
        .bind(settings.map(|settings| storable(&settings.model)))
        .bind(settings.map(|settings| role_text(&settings.role)))
        .bind(summary.state.map(SessionState::as_str))
        .bind(signed(summary.usage.input))
        .bind(signed(summary.usage.output))
        .bind(signed(summary.usage.cache_read))
        .bind(signed(summary.usage.cache_write))
        .bind(summary.cost);
    let query = query.bind(&columns.sequence).bind(&columns.at).bind(&columns.kind);
    let query = query.bind(&columns.data).bind(&columns.packed).bind(&columns.checksum);
    let query = query.bind(done).bind(&said.sequence).bind(&said.at).bind(&said.words);
    Ok(query.fetch_one(conn).await? == 1)
}

/// Finds out why nothing was written. Perhaps because it was, by a try whose answer was lost.
async fn why_not(
    inner: &PostgresInner,
    conn: &mut PgConnection,
    attempt: &AppendAttempt<'_>,
) -> Result<Attempted, sqlx::Error> {
    let AppendAttempt { id, lease, batch, .. } = *attempt;
    let query = "SELECT last, epoch, replica FROM sessions \
                 WHERE id = $1 AND ($2::text IS NULL OR project = $2)";
    let query = sqlx::query(query).bind(id.as_str()).bind(attempt.project);
    let row = query.fetch_optional(&mut *conn).await?;
    let Some(row) = row else {
        return Ok(Attempted::Refused(StoreError::NotFound { text: id.to_string() }));
    };
    let end = u64::try_from(row.try_get::<i64, _>("last")?).unwrap_or_default();
    if let Some(lease) = lease {
        if attempt.is_repeated && end >= batch.end() {
            let there = checksums(conn, id, batch.last, batch.end()).await?;
            if there == batch.columns.checksum {
                return Ok(Attempted::Written);
            }
        }
        if !is_of(&row, lease)? {
            inner.presence.lose_lease(id, lease.epoch);
            return Ok(Attempted::Refused(StoreError::LeaseLost { session: id.clone() }));
        }
    } else if row.try_get::<Option<String>, _>("replica")?.is_some() {
        return Ok(Attempted::Refused(refusal(inner, conn, id).await?));
    }
    if end != batch.last {
        return Ok(Attempted::Behind(end));
    }
    Ok(match gone(conn, id, attempt.done).await? {
        Some(number) => Attempted::Refused(StoreError::ItemGone { session: id.clone(), number }),
        None => Attempted::Behind(end),
    })
}

fn is_of(row: &PgRow, lease: &HeldLease) -> Result<bool, sqlx::Error> {
    let replica = row.try_get::<Option<String>, _>("replica")?;
    Ok(row.try_get::<i64, _>("epoch")? == lease.epoch && replica.as_ref() == Some(&lease.replica))
}

async fn checksums(
    conn: &mut PgConnection,
    id: &SessionId,
    after: u64,
    through: u64,
) -> Result<Vec<i64>, sqlx::Error> {
    let query = "SELECT checksum FROM events WHERE session = $1 AND sequence > $2 \
                 AND sequence <= $3 ORDER BY sequence";
    let query = sqlx::query_scalar(query).bind(id.as_str());
    query.bind(signed(after)).bind(signed(through)).fetch_all(conn).await
}

/// An item that is not waiting.
async fn gone(
    conn: &mut PgConnection,
    id: &SessionId,
    wanted: &[i64],
) -> Result<Option<i64>, sqlx::Error> {
    let query = "SELECT wanted FROM unnest($2::bigint[]) AS wanted WHERE NOT EXISTS \
                 (SELECT 1 FROM inbox WHERE session = $1 AND number = wanted AND state = 'waiting') \
                 ORDER BY wanted LIMIT 1";
    sqlx::query_scalar(query).bind(id.as_str()).bind(wanted).fetch_optional(conn).await
}

/// Rows as the columns of one statement.
#[derive(Default)]
pub(super) struct EventColumns {
    pub(super) sequence: Vec<i64>,
    pub(super) at: Vec<i64>,
    pub(super) kind: Vec<String>,
    pub(super) data: Vec<Option<String>>,
    pub(super) packed: Vec<Option<Vec<u8>>>,
    pub(super) checksum: Vec<i64>,
}

impl EventColumns {
    pub(super) fn of(rows: Vec<PackedRow>) -> Self {
        let mut columns = Self::default();
        for row in rows {
            columns.sequence.push(signed(row.sequence));
            columns.at.push(row.at);
            columns.kind.push(row.kind);
            let (data, packed) = match row.data {
                StoredData::Plain(text) => (Some(text), None),
                StoredData::Packed(bytes) => (None, Some(bytes)),
            };
            columns.data.push(data);
            columns.packed.push(packed);
            columns.checksum.push(i64::from(row.checksum));
        }
        columns
    }
}

/// What was said, for the search.
#[derive(Default)]
pub(super) struct Said {
    pub(super) sequence: Vec<i64>,
    pub(super) at: Vec<i64>,
    pub(super) words: Vec<String>,
}

impl Said {
    fn of(entries: &[LogEntry], rows: &[PackedRow]) -> Self {
        let mut said = Self::default();
        for (entry, row) in entries.iter().zip(rows) {
            // Only such rows are made into text again, and they are few.
            if SAID_KINDS.contains(&row.kind.as_str())
                && let Ok(json) = serde_json::to_string(&entry.event)
            {
                said.add(row.sequence, row.at, &row.kind, &json);
            }
        }
        said
    }

    /// Adds an event if it is a message or an answer with words.
    pub(super) fn add(&mut self, sequence: u64, at: i64, kind: &str, data: &str) {
        if SAID_KINDS.contains(&kind)
            && let Some(text) = text_of(data)
        {
            self.sequence.push(signed(sequence));
            self.at.push(at);
            self.words.push(said_words::vector(&text));
        }
    }
}

/// PostgreSQL has no text with a zero in it. Logs have none, since JSON writes it in another way.
pub(super) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { text.into() }
}
