//! The feed of a session, kept up to date for all clients that follow it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::LogEntry;
use store::{SessionId, Store, StoreError};
use tokio::sync::OnceCell;

use super::HubSignal;
use crate::feed::{Feed, Taken};

/// The feed of one session. It is empty until it is first read.
pub struct SessionFeed {
    id: SessionId,
    store: Arc<dyn Store>,
    signal: HubSignal,
    feed: Mutex<Feed>,
    is_loaded: OnceCell<()>,
    is_deleted: AtomicBool,
}

impl SessionFeed {
    pub(super) fn new(id: SessionId, store: Arc<dyn Store>, signal: HubSignal) -> Self {
        let (feed, is_loaded, is_deleted) = Default::default();
        Self { id, store, signal, feed, is_loaded, is_deleted }
    }

    /// The session.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Whether the session was deleted, so that nothing follows.
    pub fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Acquire)
    }

    pub(super) fn deleted(&self) {
        self.is_deleted.store(true, Ordering::Release);
    }

    /// Reads the log, if that was not done yet.
    pub async fn load(&self) -> Result<(), StoreError> {
        self.is_loaded.get_or_try_init(|| self.refresh()).await?;
        Ok(())
    }

    /// Reads what the log has and the feed has not.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let loaded = self.store.load(&self.id).await?;
        self.with(|feed| feed.catch_up(&loaded.entries));
        // Whichever way it was read, it need not be read again.
        let _ = self.is_loaded.set(());
        self.signal.tell();
        Ok(())
    }

    /// Takes an entry that was just written.
    pub(super) async fn take(&self, entry: &LogEntry) {
        let taken = self.with(|feed| feed.take(entry));
        match taken {
            Taken::Applied if entry.event.is_delta() => self.signal.tell_growth(),
            Taken::Applied => self.signal.tell(),
            Taken::Known => {}
            // If the log cannot be read now, the next entry shows the same gap.
            Taken::Gap => drop(self.refresh().await),
        }
    }

    /// Takes what is not in the log.
    pub(super) fn grow(&self, grow: impl FnOnce(&mut Feed)) {
        self.with(grow);
        self.signal.tell_growth();
    }

    /// What the session does or asks has changed.
    pub(super) fn tell(&self) {
        self.signal.tell();
    }

    /// Looks into the feed. What is done there must be short.
    pub fn with<T>(&self, look: impl FnOnce(&mut Feed) -> T) -> T {
        look(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Feed> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
