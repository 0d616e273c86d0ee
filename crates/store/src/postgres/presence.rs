//! This process as one of the replicas: it says every second that it lives, hears what the others say,
//! and knows when others have to take it for dead.
//!
//! All of that is done on a thread and a connection of its own, so that neither a busy runtime nor a busy pool
//! makes a living replica look dead.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::{broadcast, oneshot};
use tokio::time::{sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::hints::{CHANNEL, parse_hint};
use super::lease::lives;
use crate::id::random_bits;
use crate::owner::Owner;
use crate::{Hint, ReplicaInfo, SessionId, StoreError};

/// How often a replica says that it lives.
const BEAT: Duration = Duration::from_secs(1);
/// How long one try may take.
const BEAT_TIMEOUT: Duration = Duration::from_millis(1500);
/// A replica that has not been seen for this long is dead, by the database's clock.
pub(super) const DEAD_AFTER: &str = "interval '5 seconds'";
/// Without an answer for this long a replica takes itself for dead: well before the others do, so that
/// its turns have stopped by then. Counted from when the last beat that was answered was sent.
const LOST_AFTER: Duration = Duration::from_secs(4);
/// How long the row of a dead replica is kept for those who ask who held a session.
const FORGOTTEN_AFTER: &str = "interval '1 hour'";
/// Hints that a slow reader may be behind before it is told that it has missed some.
const KEPT_HINTS: usize = 4096;

/// A lease that this process holds.
#[derive(Clone, Debug)]
pub(super) struct HeldLease {
    pub(super) epoch: i64,
    /// The replica that signed it: this process, in the life in which it claimed the session.
    pub(super) replica: String,
    /// The last position, as far as this process knows. Locked by whoever appends.
    pub(super) last: Arc<tokio::sync::Mutex<u64>>,
    /// Whether others may have it by now.
    pub(super) is_lost: bool,
}

impl HeldLease {
    pub(super) fn new(epoch: i64, replica: String, last: u64) -> Self {
        let last = Arc::new(tokio::sync::Mutex::new(last));
        Self { epoch, replica, last, is_lost: false }
    }
}

/// Keeps two parts of this process from claiming the same session at once.
pub(super) struct Claiming<'a> {
    presence: &'a Presence,
    id: SessionId,
}

impl Drop for Claiming<'_> {
    fn drop(&mut self) {
        self.presence.claiming().remove(&self.id);
    }
}

/// This process among the replicas.
pub(super) struct Presence {
    name: String,
    addr: Option<String>,
    owner: Owner,
    life: Mutex<Life>,
    held: Mutex<HashMap<SessionId, HeldLease>>,
    claiming: Mutex<HashSet<SessionId>>,
    hints: broadcast::Sender<Hint>,
    /// Ends the thread.
    closed: CancellationToken,
}

/// The time from joining until the presence is lost.
#[derive(Clone)]
struct Life {
    id: String,
    lost: CancellationToken,
    has_left: bool,
}

impl Presence {
    pub(super) fn new(name: String, addr: Option<String>) -> Result<Self, StoreError> {
        let (hints, _) = broadcast::channel(KEPT_HINTS);
        Ok(Self {
            name,
            addr,
            owner: Owner::this_process()?,
            life: Mutex::new(Life::new()?),
            held: Mutex::default(),
            claiming: Mutex::default(),
            hints,
            closed: CancellationToken::new(),
        })
    }

    pub(super) fn id(&self) -> String {
        self.life().id.clone()
    }

    pub(super) fn lost(&self) -> CancellationToken {
        self.life().lost.clone()
    }

    pub(super) fn info(&self) -> ReplicaInfo {
        ReplicaInfo { id: self.id(), name: self.name.clone(), addr: self.addr.clone() }
    }

    pub(super) fn hints(&self) -> &broadcast::Sender<Hint> {
        &self.hints
    }

    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    pub(super) fn held(&self) -> MutexGuard<'_, HashMap<SessionId, HeldLease>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claiming(&self) -> MutexGuard<'_, HashSet<SessionId>> {
        self.claiming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to claim a session; none if this process has it or is about to.
    pub(super) fn begin_claim(&self, id: &SessionId) -> Option<Claiming<'_>> {
        let is_first = self.claiming().insert(id.clone());
        // A place that was made is given back by its end.
        let claiming = is_first.then(|| Claiming { presence: self, id: id.clone() });
        claiming.filter(|_| !self.is_held(id))
    }

    /// Whether this process has the lease of a session.
    pub(super) fn is_held(&self, id: &SessionId) -> bool {
        self.held().get(id).is_some_and(|lease| !lease.is_lost)
    }

    /// Remembers a lease that was signed.
    pub(super) fn hold(&self, id: &SessionId, lease: HeldLease) {
        let (epoch, replica) = (lease.epoch, lease.replica.clone());
        self.held().insert(id.clone(), lease);
        // The life in which it was signed may have ended meanwhile.
        let life = self.life().clone();
        if life.id != replica || life.lost.is_cancelled() {
            self.lose_lease(id, epoch);
        }
    }

    /// Another replica has the session.
    pub(super) fn lose_lease(&self, id: &SessionId, epoch: i64) {
        let mut held = self.held();
        if let Some(lease) = held.get_mut(id).filter(|lease| lease.epoch == epoch) {
            lease.is_lost = true;
        }
    }

    /// Forgets a lease, unless it was claimed anew.
    pub(super) fn let_go(&self, id: &SessionId, epoch: i64) {
        let mut held = self.held();
        if held.get(id).is_some_and(|lease| lease.epoch == epoch) {
            held.remove(id);
        }
    }

    /// Stops everything that rests on leases of this life. What is claimed meanwhile looks at the token afterwards.
    fn lose(&self) {
        // Behind one lock, so that whoever hears of the loss finds that no lease is left to write with.
        let mut held = self.held();
        held.values_mut().for_each(|lease| lease.is_lost = true);
        self.life().lost.cancel();
    }

    /// Says goodbye, for good: the process does not join again.
    pub(super) async fn leave(&self, pool: &PgPool) -> Result<(), sqlx::Error> {
        let id = {
            let mut life = self.life();
            life.has_left = true;
            life.id.clone()
        };
        self.lose();
        // A session in the middle of a turn keeps the name of the replica, so that others find it.
        let free = "UPDATE sessions SET replica = NULL WHERE replica = $1 \
                    AND state NOT IN ('working', 'waiting')";
        let mut tx = pool.begin().await?;
        sqlx::query(free).bind(&id).execute(&mut *tx).await?;
        sqlx::query("DELETE FROM replicas WHERE id = $1").bind(&id).execute(&mut *tx).await?;
        tx.commit().await
    }

    /// Joins the replicas. Rows of those that died long ago are removed.
    pub(super) async fn join<'c>(
        &self,
        id: &str,
        executor: impl sqlx::PgExecutor<'c>,
    ) -> Result<(), sqlx::Error> {
        let sql = format!(
            "WITH forgotten AS (DELETE FROM replicas WHERE seen < clock_timestamp() - {FORGOTTEN_AFTER}) \
             INSERT INTO replicas (id, name, addr, host, pid, seen) \
             VALUES ($1, $2, $3, $4, $5, clock_timestamp())"
        );
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id).bind(&self.name);
        let query = query.bind(&self.addr).bind(&self.owner.host).bind(i64::from(self.owner.pid));
        query.execute(executor).await?;
        Ok(())
    }
}

impl Life {
    fn new() -> Result<Self, StoreError> {
        let id = format!("{:016x}", random_bits()?);
        Ok(Self { id, lost: CancellationToken::new(), has_left: false })
    }
}

/// Keeps the presence of a replica that has joined, on a thread of its own, until it is closed. Returns when it
/// listens, so that no hint of what is written from here on is missed.
pub(super) async fn keep(
    presence: Arc<Presence>,
    options: PgConnectOptions,
) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| StoreError::failed("starting the replica", error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(failed)?;
    let (listens, ready) = oneshot::channel();
    let run = move || {
        let closed = presence.closed.clone();
        let beats = Beats::run(&presence, options, listens);
        let _ = runtime.block_on(closed.run_until_cancelled(beats));
    };
    std::thread::Builder::new().name("store-replica".into()).spawn(run).map_err(failed)?;
    // If the first beat fails, the next ones are tried in the background.
    let _ = ready.await;
    Ok(())
}

struct Beats<'a> {
    presence: &'a Presence,
    options: PgConnectOptions,
    listener: Option<PgListener>,
    /// Whether hints may have been lost that no receiver was told of.
    has_missed: bool,
    /// When the last beat that was answered was sent.
    answered: Instant,
}

impl Beats<'_> {
    async fn run(presence: &Presence, options: PgConnectOptions, listens: oneshot::Sender<()>) {
        let mut listens = Some(listens);
        let answered = Instant::now();
        let mut beats = Beats { presence, options, listener: None, has_missed: false, answered };
        loop {
            let sent = Instant::now();
            let limit = match presence.lost().is_cancelled() {
                true => BEAT_TIMEOUT,
                false => (beats.answered + LOST_AFTER - sent.min(beats.answered + LOST_AFTER))
                    .min(BEAT_TIMEOUT),
            };
            match timeout(limit, beats.beat()).await {
                Ok(Ok(true)) => {
                    beats.answered = sent;
                    if std::mem::take(&mut beats.has_missed) {
                        // Without a receiver nothing is missed.
                        let _ = presence.hints.send(Hint::Missed);
                    }
                }
                // It is dead for the others, or removed.
                Ok(Ok(false)) => presence.lose(),
                Ok(Err(_)) | Err(_) => beats.listener = None,
            }
            if beats.answered.elapsed() >= LOST_AFTER {
                presence.lose();
            }
            if let Some(listens) = listens.take() {
                // Whoever opened the database may have stopped waiting.
                let _ = listens.send(());
            }
            beats.hear_until(sent + BEAT).await;
        }
    }

    /// Says that this replica lives. False if it does not live by what the database says.
    async fn beat(&mut self) -> Result<bool, sqlx::Error> {
        let presence = self.presence;
        let life = presence.life().clone();
        if life.has_left {
            return Ok(true);
        }
        let listener = self.listener().await?;
        if life.lost.is_cancelled() {
            let Ok(next) = Life::new() else { return Ok(false) };
            let drop = "DELETE FROM replicas WHERE id = $1";
            sqlx::query(drop).bind(&life.id).execute(&mut *listener).await?;
            presence.join(&next.id, listener).await?;
            *presence.life() = next;
            return Ok(true);
        }
        // Others may have taken over what it held from the moment at which it was dead for the database, however long
        // that seemed to be here: a process that was stopped may not know of it.
        let lives = lives();
        let beat =
            format!("UPDATE replicas SET seen = clock_timestamp() WHERE id = $1 AND {lives}");
        let beat = sqlx::query(sqlx::AssertSqlSafe(beat)).bind(&life.id);
        let done = beat.execute(listener).await?;
        Ok(done.rows_affected() == 1)
    }

    /// The connection, which is made again if it was lost. Hints of the time between are missed.
    async fn listener(&mut self) -> Result<&mut PgListener, sqlx::Error> {
        if self.listener.is_none() {
            let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None);
            let pool = pool.idle_timeout(None).connect_with(self.options.clone()).await?;
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.eager_reconnect(false);
            listener.listen(CHANNEL).await?;
            self.listener = Some(listener);
            self.has_missed = true;
        }
        self.listener.as_mut().ok_or(sqlx::Error::WorkerCrashed)
    }

    /// Passes hints on until the next beat is due.
    async fn hear_until(&mut self, due: Instant) {
        loop {
            let heard = match &mut self.listener {
                Some(listener) => {
                    tokio::select! {
                        heard = listener.try_recv() => heard,
                        () = sleep_until(due.into()) => return,
                    }
                }
                None => return sleep_until(due.into()).await,
            };
            match heard {
                Ok(Some(hint)) => {
                    if let Some(hint) = parse_hint(hint.payload()) {
                        let _ = self.presence.hints.send(hint);
                    }
                }
                // The next beat connects again, at once.
                Ok(None) | Err(_) => {
                    self.listener = None;
                    return;
                }
            }
        }
    }
}
