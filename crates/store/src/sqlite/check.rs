//! Looks for damage and repairs it. Rows that are damaged are moved, never thrown away.

use std::sync::Arc;

use sqlx::Connection as _;

use super::db::{Db, is_corrupt};
use super::lease::{claim, is_held, lease_of};
use super::manage::note_gap;
use super::open::{message, replace};
use super::read::{all_ids, inspect_session};
use super::salvage::summarise;
use super::write::append;
use super::{Inner, counting};
use crate::id::now_ms;
use crate::inspection::{Inspection, LogProblem};
use crate::{CheckFinding, CheckMode, CheckReport, RepairNote, SessionId, StoreError};

const DOING: &str = "checking the sessions";

pub(super) async fn check(
    inner: &Arc<Inner>,
    only: Option<&SessionId>,
    mode: CheckMode,
) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport::default();
    let mut db = inner.db.lock().await;
    if only.is_none() {
        report.findings.extend(check_file(inner, &mut db, mode).await?);
    }
    let ids = match only {
        Some(id) => vec![id.clone()],
        None => all_ids(&mut db).await?,
    };
    drop(db);
    for id in ids {
        check_session(inner, &id, mode, &mut report).await?;
    }
    let mut db = inner.db.lock().await;
    report.earlier = earlier(&mut db).await?;
    Ok(report)
}

async fn earlier(db: &mut Db) -> Result<Vec<RepairNote>, StoreError> {
    let query = "SELECT at, note FROM repairs ORDER BY at";
    let rows: Result<Vec<(i64, String)>, _> = sqlx::query_as(query).fetch_all(&mut db.conn).await;
    let rows = rows.map_err(|error| db.error(DOING, &error))?;
    Ok(rows.into_iter().map(|(at, text)| RepairNote { at, text }).collect())
}

/// Checks the file as a whole. A broken one is replaced.
async fn check_file(
    inner: &Inner,
    db: &mut Db,
    mode: CheckMode,
) -> Result<Option<CheckFinding>, StoreError> {
    let found: Result<Vec<String>, _> =
        sqlx::query_scalar("PRAGMA integrity_check(3)").fetch_all(&mut db.conn).await;
    let reason = match found {
        Ok(found) if found == ["ok"] => return Ok(None),
        Ok(found) => found.join("; "),
        Err(error) if is_corrupt(&error) => message(&error),
        Err(error) => return Err(db.error(DOING, &error)),
    };
    let problem = format!("{} is damaged: {reason}", db.shown());
    let repaired = match mode {
        CheckMode::Look => None,
        CheckMode::Repair => {
            refuse_while_in_use(inner, db).await?;
            Some(replace(&inner.base, db, "damaged inside").await?)
        }
    };
    Ok(Some(CheckFinding { session: None, problem, repaired }))
}

/// A process that writes to the old file while it is replaced would lose what it writes.
async fn refuse_while_in_use(inner: &Inner, db: &mut Db) -> Result<(), StoreError> {
    let ids: Result<Vec<String>, _> =
        sqlx::query_scalar("SELECT session FROM leases").fetch_all(&mut db.conn).await;
    // A table of leases that cannot be read refuses no lease.
    for id in ids.unwrap_or_default().into_iter().filter_map(|id| SessionId::try_from(id).ok()) {
        let Ok(Some(lease)) = lease_of(db, &id).await else { continue };
        let is_ours = lease.owner == inner.owner.token;
        if (is_ours && is_held(inner, &id)) || (!is_ours && lease.is_alive(now_ms())) {
            return Err(StoreError::InUse { session: id, holder: lease.holder });
        }
    }
    Ok(())
}

async fn check_session(
    inner: &Arc<Inner>,
    id: &SessionId,
    mode: CheckMode,
    report: &mut CheckReport,
) -> Result<(), StoreError> {
    let inspection = inspect_session(&mut *inner.db.lock().await, id).await?;
    report.sessions += 1;
    report.entries += inspection.rows.len();
    let needs_repair = inspection.problems.iter().any(LogProblem::is_damage);
    let repaired = match mode {
        CheckMode::Repair if needs_repair => Some(repair(inner, id, &inspection).await),
        _ => None,
    };
    report.add(id, &inspection.problems, repaired);
    Ok(())
}

/// Sets aside what is damaged, brings the summary in line and says so in the log.
async fn repair(
    inner: &Arc<Inner>,
    id: &SessionId,
    inspection: &Inspection,
) -> Result<(), StoreError> {
    let lease = if is_held(inner, id) { None } else { Some(claim(inner, id).await?) };
    let mut db = inner.db.lock().await;
    let moved = set_aside(&mut db, id, inspection).await;
    moved.map_err(|error| db.error("repairing the session", &error))?;
    summarise(&mut db, id).await?;
    db.last.remove(id);
    drop(db);
    append(inner, id, vec![inspection.repaired()]).await?;
    drop(lease);
    Ok(())
}

async fn set_aside(
    db: &mut Db,
    id: &SessionId,
    inspection: &Inspection,
) -> Result<(), sqlx::Error> {
    let mut tx = db.conn.begin_with("BEGIN IMMEDIATE").await?;
    for problem in &inspection.problems {
        match problem {
            LogProblem::Damaged { rowid, reason, .. } => {
                let copy = "INSERT INTO damaged (session, sequence, moved, reason, at, kind, data, checksum) \
                            SELECT session, sequence, ?, ?, at, kind, data, checksum FROM events WHERE rowid = ?";
                let copy = sqlx::query(copy).bind(now_ms()).bind(reason).bind(rowid);
                copy.execute(&mut *tx).await?;
                let remove = sqlx::query("DELETE FROM events WHERE rowid = ?").bind(rowid);
                remove.execute(&mut *tx).await?;
            }
            LogProblem::Missing(range) => note_gap(&mut tx, id, range.from, range.to).await?,
            LogProblem::OpeningRebuilt
            | LogProblem::Unlisted
            | LogProblem::Unreadable { .. }
            | LogProblem::Unknown { .. } => {}
        }
    }
    if inspection.problems.contains(&LogProblem::OpeningRebuilt)
        && let Some(entry) = inspection.entries.first()
        && let Ok(row) = crate::row::Row::new(entry.sequence, entry.at, &entry.event)
    {
        super::write::insert_rows(&mut tx, id, &[row]).await?;
    }
    counting::forget(&mut tx, id.as_str()).await?;
    tx.commit().await
}
