//! Which process may write to a session.

use std::sync::{Arc, PoisonError};

use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::Inner;
use super::db::Db;
use super::open::{generation_path, newest};
use super::salvage::summarise;
use crate::id::{now_ms, random_bits};
use crate::owner::SignedLease;
use crate::{Holder, Lease, SessionId, StoreError};

const DOING: &str = "claiming the session";

/// The columns that [`lease_from`] reads, next to those of `sessions`.
pub(super) const LEASE_COLUMNS: &str = "leases.owner AS lease_owner, leases.host AS lease_host, \
    leases.pid AS lease_pid, leases.start AS lease_start, leases.at AS lease_at";

pub(super) async fn claim(inner: &Arc<Inner>, id: &SessionId) -> Result<Lease, StoreError> {
    let number = i64::from_ne_bytes(random_bits()?.to_ne_bytes());
    let mut db = inner.db.lock().await;
    refuse_if_moved(inner, &db)?;
    let found = lease_of(&mut db, id).await?;
    if let Some(lease) = found.as_ref().filter(|lease| is_taken(inner, id, lease)) {
        let holder = lease.holder.clone();
        return Err(StoreError::InUse { session: id.clone(), holder });
    }
    if !sign(&mut db, inner, id, found, number).await? {
        if let Some(SignedLease { holder, .. }) = lease_of(&mut db, id).await? {
            return Err(StoreError::InUse { session: id.clone(), holder });
        }
        // The summary may be lost while the log is there.
        summarise(&mut db, id).await?;
        if !sign(&mut db, inner, id, None, number).await? {
            return Err(StoreError::NotFound { text: id.to_string() });
        }
    }
    // The last holder may have written since this process last did.
    db.last.remove(id);
    drop(db);
    inner.held.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), number);
    let (store, session) = (inner.clone(), id.clone());
    Ok(Lease::new(id.clone(), move || release(store, session, number)))
}

/// Whether a lease is held. One of this process that was dropped is not.
pub(super) fn is_taken(inner: &Inner, id: &SessionId, lease: &SignedLease) -> bool {
    if lease.owner == inner.owner.token {
        return is_held(inner, id);
    }
    lease.is_alive(now_ms())
}

pub(super) fn is_held(inner: &Inner, id: &SessionId) -> bool {
    inner.held.lock().unwrap_or_else(PoisonError::into_inner).contains_key(id)
}

/// Refuses leases in a file that a repair has replaced.
pub(super) fn refuse_if_moved(inner: &Inner, db: &Db) -> Result<(), StoreError> {
    let newest = newest(&inner.base);
    if newest <= db.generation {
        return Ok(());
    }
    Err(StoreError::Moved { file: generation_path(&inner.base, newest).display().to_string() })
}

/// Replaces a lease whose process has ended. False if another process was faster, or the session is
/// gone.
async fn sign(
    db: &mut Db,
    inner: &Inner,
    id: &SessionId,
    dead: Option<SignedLease>,
    number: i64,
) -> Result<bool, StoreError> {
    let owner = &inner.owner;
    let signed = async {
        let mut tx = db.conn.begin_with("BEGIN IMMEDIATE").await?;
        if let Some(lease) = dead {
            let query = "DELETE FROM leases WHERE session = ? AND owner = ?";
            sqlx::query(query).bind(id.as_str()).bind(lease.owner).execute(&mut *tx).await?;
        }
        let query = "INSERT OR IGNORE INTO leases (session, owner, number, host, pid, start, at) \
                     SELECT id, ?, ?, ?, ?, ?, ? FROM sessions WHERE id = ?";
        let done = sqlx::query(query)
            .bind(owner.token)
            .bind(number)
            .bind(owner.host.as_str())
            .bind(i64::from(owner.pid))
            .bind(owner.start)
            .bind(now_ms())
            .bind(id.as_str())
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(done.rows_affected() == 1)
    };
    let signed: Result<bool, sqlx::Error> = signed.await;
    signed.map_err(|error| db.error(DOING, &error))
}

/// The lease of a session, also if its process has ended.
pub(super) async fn lease_of(
    db: &mut Db,
    id: &SessionId,
) -> Result<Option<SignedLease>, StoreError> {
    let sql = format!(
        "SELECT {LEASE_COLUMNS}, updated FROM leases LEFT JOIN sessions ON id = session \
         WHERE session = ?"
    );
    let row = sqlx::query(AssertSqlSafe(sql)).bind(id.as_str()).fetch_optional(&mut db.conn).await;
    let row = row.map_err(|error| db.error(DOING, &error))?;
    Ok(row.as_ref().and_then(lease_from))
}

/// The lease in a row that joins `sessions` and `leases`, if there is one.
pub(super) fn lease_from(row: &SqliteRow) -> Option<SignedLease> {
    let owner = row.try_get::<Option<i64>, _>("lease_owner").ok()??;
    let since = row.try_get("lease_at").ok()?;
    let holder = Holder {
        host: row.try_get("lease_host").ok()?,
        pid: u32::try_from(row.try_get::<i64, _>("lease_pid").ok()?).ok()?,
        since,
    };
    Some(SignedLease {
        owner,
        holder,
        start: row.try_get("lease_start").ok()?,
        active: row.try_get("updated").unwrap_or(since),
    })
}

/// Releases the lease.
fn release(inner: Arc<Inner>, id: SessionId, number: i64) -> impl Future<Output = ()> + Send {
    // At once, even if the future is dropped before the rest.
    inner.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    async move {
        let mut db = inner.db.lock().await;
        let query = "DELETE FROM leases WHERE session = ? AND number = ?";
        let query = sqlx::query(query).bind(id.as_str()).bind(number);
        // If this fails, the lease ends with the process.
        let _ = query.execute(&mut db.conn).await;
    }
}
