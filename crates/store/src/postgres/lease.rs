//! Which replica may write to a session.

use std::sync::Arc;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::PostgresInner;
use super::connect::is_lost_connection;
use super::presence::{DEAD_AFTER, HeldLease};
use crate::{Holder, Lease, SessionId, StoreError};

const DOING: &str = "claiming the session";
/// Stands for the machine of a replica whose row is gone.
const ENDED: &str = "a replica that has ended";

/// The columns that [`holder_from`] reads, of `sessions` joined with `replicas`.
pub(super) const HOLDER_COLUMNS: &str = "replica, replicas.host AS lease_host, \
    replicas.pid AS lease_pid, (extract(epoch FROM held_since) * 1000)::bigint AS lease_at";

/// The condition that the replica of a row lives.
pub(super) fn lives() -> String {
    format!("replicas.seen > clock_timestamp() - {DEAD_AFTER}")
}

pub(super) async fn claim(
    inner: &Arc<PostgresInner>,
    project: &str,
    id: &SessionId,
) -> Result<Lease, StoreError> {
    let Some(_claiming) = inner.presence.begin_claim(id) else {
        return Err(in_use(inner, id).await?);
    };
    let replica = inner.presence.id();
    let signed = match sign(inner, project, id, &replica).await {
        Ok(signed) => signed,
        Err(error) => {
            if is_lost_connection(&error) {
                // It may have been signed without an answer.
                let unsign = "UPDATE sessions SET replica = NULL WHERE id = $1 AND replica = $2";
                let unsign = sqlx::query(unsign).bind(id.as_str()).bind(&replica);
                let _ = unsign.execute(&inner.pool).await;
            }
            return Err(inner.place.error(DOING, &error));
        }
    };
    let Some((epoch, last)) = signed? else { return Err(in_use(inner, id).await?) };
    inner.presence.hold(id, HeldLease::new(epoch, replica.clone(), last));
    let (store, session) = (inner.clone(), id.clone());
    Ok(Lease::new(id.clone(), move || release(store, session, epoch, replica)))
}

async fn in_use(inner: &PostgresInner, id: &SessionId) -> Result<StoreError, StoreError> {
    let failed = |error: sqlx::Error| inner.place.error(DOING, &error);
    let mut conn = inner.pool.acquire().await.map_err(failed)?;
    refusal(inner, &mut conn, id).await.map_err(failed)
}

/// The new epoch and the end of the log; none if a living replica has the session.
type Signed = Result<Option<(i64, u64)>, StoreError>;

/// In two statements: what the first one waits for must be visible to the second one.
async fn sign(
    inner: &PostgresInner,
    project: &str,
    id: &SessionId,
    replica: &str,
) -> Result<Signed, sqlx::Error> {
    let mut conn = inner.pool.acquire().await?;
    let mut tx = conn.begin().await?;
    let lock = "SELECT 1 FROM sessions WHERE id = $1 AND project = $2 FOR UPDATE";
    let found = sqlx::query(lock).bind(id.as_str()).bind(project).fetch_optional(&mut *tx).await?;
    if found.is_none() {
        return Ok(Err(StoreError::NotFound { text: id.to_string() }));
    }
    // One of our own that is not held was released, which may not be written yet.
    let sql = format!(
        "UPDATE sessions SET epoch = epoch + 1, replica = $2, held_since = clock_timestamp() \
         WHERE id = $1 AND (replica IS NULL OR replica = $2 OR NOT EXISTS \
         (SELECT 1 FROM replicas WHERE replicas.id = sessions.replica AND {})) \
         RETURNING epoch, last",
        lives()
    );
    let query = sqlx::query_as(AssertSqlSafe(sql)).bind(id.as_str()).bind(replica);
    let signed: Option<(i64, i64)> = query.fetch_optional(&mut *tx).await?;
    tx.commit().await?;
    Ok(Ok(signed.map(|(epoch, last)| (epoch, u64::try_from(last).unwrap_or_default()))))
}

/// Why a session that is there cannot be written: who has it.
pub(super) async fn refusal(
    inner: &PostgresInner,
    conn: &mut PgConnection,
    id: &SessionId,
) -> Result<StoreError, sqlx::Error> {
    let sql = format!(
        "SELECT {HOLDER_COLUMNS} FROM sessions LEFT JOIN replicas ON replicas.id = replica \
         WHERE sessions.id = $1"
    );
    let row = sqlx::query(AssertSqlSafe(sql)).bind(id.as_str()).fetch_optional(conn).await?;
    Ok(match row {
        None => StoreError::NotFound { text: id.to_string() },
        Some(row) => {
            let ended = || Holder { host: ENDED.to_owned(), pid: 0, since: 0 };
            let holder = holder_from(inner, id, &row).unwrap_or_else(ended);
            StoreError::InUse { session: id.clone(), holder }
        }
    })
}

/// The process in a row that joins `sessions` and `replicas`, if there is one. A lease of this process that was
/// dropped is none.
pub(super) fn holder_from(inner: &PostgresInner, id: &SessionId, row: &PgRow) -> Option<Holder> {
    let replica = row.try_get::<Option<String>, _>("replica").ok()??;
    if replica == inner.presence.id() && !inner.presence.is_held(id) {
        return None;
    }
    let pid = row.try_get::<Option<i64>, _>("lease_pid").ok()??;
    Some(Holder {
        host: row.try_get("lease_host").ok()?,
        pid: u32::try_from(pid).ok()?,
        since: row.try_get::<Option<i64>, _>("lease_at").ok()?.unwrap_or_default(),
    })
}

/// Releases the lease.
fn release(
    inner: Arc<PostgresInner>,
    id: SessionId,
    epoch: i64,
    replica: String,
) -> impl Future<Output = ()> + Send {
    // At once, even if the future is dropped before the rest.
    inner.presence.let_go(&id, epoch);
    async move {
        let query = "UPDATE sessions SET replica = NULL, held_since = NULL \
                     WHERE id = $1 AND epoch = $2 AND replica = $3";
        let query = sqlx::query(query).bind(id.as_str()).bind(epoch).bind(replica);
        // If this fails, the lease ends with the replica, and this process can claim it again.
        let _ = query.execute(&inner.pool).await;
    }
}
