//! Looks for damage and repairs it. Rows that are damaged are moved, never thrown away.

use sqlx::postgres::PgConnection;

use super::PostgresStore;
use super::counting::forget;
use super::lease::claim;
use super::manage::{REPLACING, insert_rows, inspection, note_gap, put_summary};
use super::read::all_ids;
use super::write::append;
use crate::inspection::{Inspection, LogProblem};
use crate::row::Row;
use crate::summary::{Span, SummaryOfRows};
use crate::{CheckMode, CheckReport, SessionId, StoreError};

const DOING: &str = "checking the sessions";

pub(super) async fn check(
    store: &PostgresStore,
    only: Option<&SessionId>,
    mode: CheckMode,
) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport::default();
    let ids = match only {
        Some(id) => vec![id.clone()],
        None => all_ids(store).await.map_err(|error| store.inner.place.error(DOING, &error))?,
    };
    for id in ids {
        let inspection = inspection(store, &id).await?;
        report.sessions += 1;
        report.entries += inspection.rows.len();
        let needs_repair = inspection.problems.iter().any(LogProblem::is_damage);
        let repaired = match mode {
            CheckMode::Repair if needs_repair => Some(repair(store, &id).await),
            _ => None,
        };
        report.add(&id, &inspection.problems, repaired);
    }
    Ok(report)
}

/// Sets aside what is damaged, brings the summary in line and says so in the log.
async fn repair(store: &PostgresStore, id: &SessionId) -> Result<(), StoreError> {
    let inner = &store.inner;
    let is_held = inner.presence.is_held(id);
    let lease = if is_held { None } else { Some(claim(inner, &store.project, id).await?) };
    // Looked at again, since another replica may have written until now.
    let inspection = inspection(store, id).await?;
    let done = async {
        let mut tx = inner.pool.begin().await?;
        set_aside(store, &mut tx, id, &inspection).await?;
        forget(&mut tx, id.as_str()).await?;
        tx.commit().await
    };
    let done: Result<(), sqlx::Error> = done.await;
    done.map_err(|error| inner.place.error("repairing the session", &error))?;
    append(inner, Some(&store.project), id, vec![inspection.repaired()], &[]).await?;
    if let Some(lease) = lease {
        lease.release().await;
    }
    Ok(())
}

async fn set_aside(
    store: &PostgresStore,
    conn: &mut PgConnection,
    id: &SessionId,
    inspection: &Inspection,
) -> Result<(), sqlx::Error> {
    let now = store.inner.now();
    for problem in &inspection.problems {
        match problem {
            LogProblem::Damaged { rowid, reason, .. } => {
                let copy = "WITH moved AS (DELETE FROM events WHERE session = $1 AND sequence = $2 \
                            RETURNING *) \
                            INSERT INTO damaged (session, sequence, moved, reason, at, kind, data, \
                            packed, checksum) SELECT session, sequence, $3, $4, at, kind, data, \
                            packed, checksum FROM moved";
                let copy = sqlx::query(copy).bind(id.as_str()).bind(rowid).bind(now).bind(reason);
                copy.execute(&mut *conn).await?;
                let words = "DELETE FROM said WHERE session = $1 AND sequence = $2";
                sqlx::query(words).bind(id.as_str()).bind(rowid).execute(&mut *conn).await?;
            }
            LogProblem::Missing(range) => note_gap(conn, id, range.from, range.to, now).await?,
            LogProblem::OpeningRebuilt
            | LogProblem::Unlisted
            | LogProblem::Unreadable { .. }
            | LogProblem::Unknown { .. } => {}
        }
    }
    let mut rows = inspection.rows.clone();
    if inspection.problems.contains(&LogProblem::OpeningRebuilt)
        && let Some(entry) = inspection.entries.first()
        && let Ok(row) = Row::new(entry.sequence, entry.at, &entry.event)
    {
        insert_rows(conn, &store.project, id, std::slice::from_ref(&row)).await?;
        rows.insert(0, row);
    }
    if let Some(SummaryOfRows { span, opened, summary }) = SummaryOfRows::new(&rows) {
        let last = "SELECT last FROM sessions WHERE id = $1";
        let last: i64 = sqlx::query_scalar(last).bind(id.as_str()).fetch_one(&mut *conn).await?;
        let last = span.last.max(u64::try_from(last).unwrap_or_default());
        let span = Span { last, ..span };
        put_summary(conn, (&store.project, id), span, &opened, &summary, REPLACING).await?;
    }
    Ok(())
}
