//! The feed of a session, kept up to date for all clients that follow it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::LogEntry;
use store::{Exchange, SessionId, Store, StoreError};
use tokio::sync::{OnceCell, watch};

use super::HubSignal;
use crate::feed::{EntryFate, Feed};

/// The latest entries that are kept, so that those who follow the log do not all read the same ones from the store.
const KEPT_ENTRIES: usize = 128;
/// Entries that are read at a time from what another replica has written.
const PAGE: u32 = 500;

/// The feed of one session. It is empty until it is first read.
pub struct SessionFeed {
    id: SessionId,
    store: Arc<dyn Store>,
    signal: HubSignal,
    /// Counts the changes of this session alone.
    changes: watch::Sender<u64>,
    feed: Mutex<Feed>,
    recent: Mutex<VecDeque<Arc<LogEntry>>>,
    /// Held while entries of another replica are read.
    following: tokio::sync::Mutex<()>,
    is_loaded: OnceCell<()>,
    is_deleted: AtomicBool,
}

impl SessionFeed {
    pub(super) fn new(id: SessionId, store: Arc<dyn Store>, signal: HubSignal) -> Self {
        let (changes, feed, recent, following, is_loaded, is_deleted) = Default::default();
        Self { id, store, signal, changes, feed, recent, following, is_loaded, is_deleted }
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
        self.changes.send_modify(|changes| *changes += 1);
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
        self.tell();
        Ok(())
    }

    /// Whether the feed was read, and lacks this entry.
    pub(super) fn is_behind(&self, sequence: u64) -> bool {
        self.is_loaded.initialized() && self.with(|feed| feed.through()) < sequence
    }

    /// Reads what another replica has written since. A feed that was never read stays so.
    pub(super) async fn follow(&self, exchange: &dyn Exchange) -> Result<(), StoreError> {
        if !self.is_loaded.initialized() {
            return Ok(());
        }
        let _following = self.following.lock().await;
        loop {
            let after = self.with(|feed| feed.through());
            let entries = exchange.entries_after(&self.id, after, PAGE).await?;
            // A page that is not full for another reason is read on with the next hint.
            let is_last = entries.len() < PAGE as usize;
            if entries.is_empty() {
                return Ok(());
            }
            self.with(|feed| feed.catch_up(&entries));
            let are_deltas = entries.iter().all(|entry| entry.event.is_delta());
            entries.into_iter().for_each(|entry| self.keep(entry));
            if are_deltas {
                self.tell_growth()
            } else {
                self.tell()
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// An entry, if it is one of the latest.
    pub(crate) fn recent(&self, sequence: u64) -> Option<Arc<LogEntry>> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let first = recent.front()?.sequence;
        let at = usize::try_from(sequence.checked_sub(first)?).ok()?;
        recent.get(at).filter(|entry| entry.sequence == sequence).cloned()
    }

    fn keep(&self, entry: LogEntry) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        match recent.back().map(|last| last.sequence) {
            Some(last) if entry.sequence <= last => return,
            Some(last) if entry.sequence != last + 1 => recent.clear(),
            _ => {}
        }
        recent.push_back(Arc::new(entry));
        if recent.len() > KEPT_ENTRIES {
            recent.pop_front();
        }
    }

    /// Is told of every change of this session from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Takes an entry that was just written.
    pub(super) async fn take(&self, entry: &LogEntry) {
        let taken = self.with(|feed| feed.take(entry));
        match taken {
            EntryFate::Applied => {
                self.keep(entry.clone());
                if entry.event.is_delta() { self.tell_growth() } else { self.tell() }
            }
            EntryFate::Known => {}
            // If the log cannot be read now, the next entry shows the same gap.
            EntryFate::Gap => drop(self.refresh().await),
        }
    }

    /// Takes what is not in the log.
    pub(super) fn grow(&self, grow: impl FnOnce(&mut Feed)) {
        self.with(grow);
        self.tell_growth();
    }

    fn tell_growth(&self) {
        self.changes.send_modify(|changes| *changes += 1);
        self.signal.tell_growth();
    }

    /// What the session does or asks has changed.
    pub(super) fn tell(&self) {
        self.changes.send_modify(|changes| *changes += 1);
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
