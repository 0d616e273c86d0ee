//! What replicas tell each other: inboxes, who holds what, what is said about sessions.

use std::collections::HashMap;

use async_trait::async_trait;
use protocol::{LogEntry, SessionEvent};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Row as _};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::lease::lives;
use super::read::{entries_after, not_found};
use super::write::{append, storable};
use super::{PostgresDatabase, PostgresInner};
use crate::{Exchange, Hint, InboxItem, ItemState, Put, ReplicaInfo, SessionId, StoreError};

const ASKING: &str = "reading what replicas have written";
const TELLING: &str = "writing for other replicas";

type Sql<T> = Result<T, sqlx::Error>;

#[async_trait]
impl Exchange for PostgresDatabase {
    async fn put(&self, session: &SessionId, key: &str, item: Value) -> Result<Put, StoreError> {
        let put = self.bounded(TELLING, put(&self.inner, session, key, item)).await?;
        let put = put.ok_or_else(|| not_found(session))?;
        if put.is_first {
            self.inner.hints.tell(Hint::Inbox { session: session.clone() });
        }
        Ok(put)
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<InboxItem>, StoreError> {
        self.bounded(ASKING, inbox(&self.inner, session)).await
    }

    async fn append_taking(
        &self,
        session: &SessionId,
        events: Vec<SessionEvent>,
        done: &[i64],
    ) -> Result<Vec<LogEntry>, StoreError> {
        let (inner, session) = (self.inner.clone(), session.clone());
        let mut done = done.to_vec();
        done.sort_unstable();
        done.dedup();
        super::to_the_end(async move { append(&inner, None, &session, events, &done).await }).await
    }

    async fn item_state(
        &self,
        session: &SessionId,
        number: i64,
    ) -> Result<Option<ItemState>, StoreError> {
        self.bounded(ASKING, item_state(&self.inner, session, number)).await
    }

    async fn refuse(
        &self,
        session: &SessionId,
        number: i64,
        reason: &str,
    ) -> Result<(), StoreError> {
        let lease = self.held(session)?;
        let refused = async {
            let query = "UPDATE inbox SET state = 'refused', reason = $3 WHERE session = $1 \
                         AND number = $2 AND state = 'waiting' AND EXISTS \
                         (SELECT 1 FROM sessions WHERE id = $1 AND epoch = $4 AND replica = $5)";
            let query = sqlx::query(query).bind(session.as_str()).bind(number);
            let query = query.bind(storable(reason)).bind(lease.epoch).bind(&lease.replica);
            query.execute(&self.inner.pool).await
        };
        if self.bounded(TELLING, refused).await?.rows_affected() == 1 {
            self.inner.hints.tell(Hint::Inbox { session: session.clone() });
            return Ok(());
        }
        match self.item_state(session, number).await? {
            Some(ItemState::Waiting) => {
                self.inner.presence.lose_lease(session, lease.epoch);
                Err(StoreError::LeaseLost { session: session.clone() })
            }
            _ => Err(StoreError::ItemGone { session: session.clone(), number }),
        }
    }

    async fn withdraw(&self, session: &SessionId, number: i64) -> Result<bool, StoreError> {
        let withdrawn = async {
            let query = "UPDATE inbox SET state = 'withdrawn' WHERE session = $1 AND number = $2 \
                         AND state = 'waiting'";
            let query = sqlx::query(query).bind(session.as_str()).bind(number);
            query.execute(&self.inner.pool).await
        };
        let is_withdrawn = self.bounded(TELLING, withdrawn).await?.rows_affected() == 1;
        if is_withdrawn {
            self.inner.hints.tell(Hint::Inbox { session: session.clone() });
        }
        Ok(is_withdrawn)
    }

    async fn entries_after(
        &self,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogEntry>, StoreError> {
        self.bounded(ASKING, entries_after(&self.inner, session, after, limit)).await
    }

    async fn holder(&self, session: &SessionId) -> Result<Option<ReplicaInfo>, StoreError> {
        let sql = format!(
            "SELECT replicas.id, name, addr FROM sessions JOIN replicas ON replicas.id = replica \
             WHERE sessions.id = $1 AND {}",
            lives()
        );
        let found = async {
            let query = sqlx::query_as(AssertSqlSafe(sql)).bind(session.as_str());
            query.fetch_optional(&self.inner.pool).await
        };
        let found: Option<(String, String, Option<String>)> = self.bounded(ASKING, found).await?;
        Ok(found.map(|(id, name, addr)| ReplicaInfo { id, name, addr }))
    }

    async fn orphans(
        &self,
        projects: &[String],
        limit: u32,
    ) -> Result<Vec<(String, SessionId)>, StoreError> {
        let found = self.bounded(ASKING, orphans(&self.inner, projects, limit)).await?;
        let named = found.into_iter().filter_map(|(project, id)| Some((project, id.parse().ok()?)));
        Ok(named.collect())
    }

    fn hints(&self) -> broadcast::Receiver<Hint> {
        self.inner.presence.hints().subscribe()
    }

    async fn set_standing(&self, session: &SessionId, standing: Value) -> Result<(), StoreError> {
        let lease = self.held(session)?;
        let set = async {
            let query = "INSERT INTO standing (session, epoch, value) SELECT id, epoch, $2 \
                         FROM sessions WHERE id = $1 AND epoch = $3 AND replica = $4 \
                         ON CONFLICT (session) DO UPDATE SET epoch = excluded.epoch, \
                         value = excluded.value WHERE standing.epoch <= excluded.epoch";
            let query = sqlx::query(query).bind(session.as_str()).bind(standing.to_string());
            query.bind(lease.epoch).bind(&lease.replica).execute(&self.inner.pool).await
        };
        if self.bounded(TELLING, set).await?.rows_affected() == 0 {
            self.inner.presence.lose_lease(session, lease.epoch);
            return Err(StoreError::LeaseLost { session: session.clone() });
        }
        self.inner.hints.tell(Hint::Standing { session: session.clone() });
        Ok(())
    }

    async fn standing(
        &self,
        sessions: &[SessionId],
    ) -> Result<Vec<(SessionId, Value)>, StoreError> {
        let ids: Vec<&str> = sessions.iter().map(SessionId::as_str).collect();
        let found = async {
            let query = "SELECT session, value FROM standing WHERE session = ANY($1)";
            sqlx::query_as(query).bind(ids).fetch_all(&self.inner.pool).await
        };
        let found: Vec<(String, String)> = self.bounded(ASKING, found).await?;
        let mut found: HashMap<String, String> = found.into_iter().collect();
        let in_order = sessions.iter().filter_map(|id| {
            let value = found.remove(id.as_str())?;
            Some((id.clone(), serde_json::from_str(&value).ok()?))
        });
        Ok(in_order.collect())
    }

    async fn leave(&self) -> Result<(), StoreError> {
        self.bounded("leaving the replicas", self.inner.presence.leave(&self.inner.pool)).await
    }

    fn lost(&self) -> CancellationToken {
        self.inner.presence.lost()
    }

    fn this_replica(&self) -> ReplicaInfo {
        self.inner.presence.info()
    }

    async fn replicas(&self) -> Result<Vec<ReplicaInfo>, StoreError> {
        let sql =
            format!("SELECT id, name, addr FROM replicas WHERE {} ORDER BY name, id", lives());
        let found = async { sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&self.inner.pool).await };
        let found: Vec<(String, String, Option<String>)> = self.bounded(ASKING, found).await?;
        Ok(found.into_iter().map(|(id, name, addr)| ReplicaInfo { id, name, addr }).collect())
    }
}

/// None if there is no such session.
async fn put(
    inner: &PostgresInner,
    session: &SessionId,
    key: &str,
    item: Value,
) -> Sql<Option<Put>> {
    let query = "INSERT INTO inbox (session, key, item) SELECT id, $2, $3 FROM sessions \
                 WHERE id = $1 ON CONFLICT (session, key) DO NOTHING RETURNING number";
    let query = sqlx::query_scalar(query).bind(session.as_str()).bind(storable(key));
    let first: Option<i64> = query.bind(item.to_string()).fetch_optional(&inner.pool).await?;
    if let Some(number) = first {
        return Ok(Some(Put { number, is_first: true }));
    }
    let query = "SELECT number FROM inbox WHERE session = $1 AND key = $2";
    let query = sqlx::query_scalar(query).bind(session.as_str()).bind(storable(key));
    let known: Option<i64> = query.fetch_optional(&inner.pool).await?;
    Ok(known.map(|number| Put { number, is_first: false }))
}

async fn inbox(inner: &PostgresInner, session: &SessionId) -> Sql<Vec<InboxItem>> {
    let query = "SELECT number, key, item, (extract(epoch FROM at) * 1000)::bigint FROM inbox \
                 WHERE session = $1 AND state = 'waiting' ORDER BY number";
    let rows: Vec<(i64, String, String, i64)> =
        sqlx::query_as(query).bind(session.as_str()).fetch_all(&inner.pool).await?;
    let item = |(number, key, item, at): (i64, String, String, i64)| {
        // It was written by `put`, so it reads.
        let item = serde_json::from_str(&item).unwrap_or(Value::Null);
        InboxItem { number, key, item, at }
    };
    Ok(rows.into_iter().map(item).collect())
}

async fn item_state(
    inner: &PostgresInner,
    session: &SessionId,
    number: i64,
) -> Sql<Option<ItemState>> {
    let query = "SELECT state, through, reason FROM inbox WHERE session = $1 AND number = $2";
    let query = sqlx::query(query).bind(session.as_str()).bind(number);
    let Some(row) = query.fetch_optional(&inner.pool).await? else { return Ok(None) };
    let state: String = row.try_get("state")?;
    Ok(Some(match state.as_str() {
        "done" => {
            let through: Option<i64> = row.try_get("through")?;
            let through = through.and_then(|it| u64::try_from(it).ok()).unwrap_or_default();
            ItemState::Done { through }
        }
        "refused" => ItemState::Refused {
            reason: row.try_get::<Option<String>, _>("reason")?.unwrap_or_default(),
        },
        "withdrawn" => ItemState::Withdrawn,
        _ => ItemState::Waiting,
    }))
}

async fn orphans(
    inner: &PostgresInner,
    projects: &[String],
    limit: u32,
) -> Sql<Vec<(String, String)>> {
    // A session that was released in the middle of a turn has no replica, and is left to its users.
    let sql = format!(
        "SELECT project, id FROM sessions WHERE project = ANY($1) \
         AND NOT EXISTS (SELECT 1 FROM replicas WHERE replicas.id = replica AND {}) AND \
         ((replica IS NOT NULL AND state IN ('working', 'waiting')) \
         OR id IN (SELECT session FROM inbox WHERE inbox.state = 'waiting')) \
         ORDER BY written, id LIMIT $2",
        lives()
    );
    let query = sqlx::query_as(AssertSqlSafe(sql)).bind(projects).bind(i64::from(limit));
    query.fetch_all(&inner.pool).await
}
