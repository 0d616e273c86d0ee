//! Where the events of a conversation go: into the store first, then to the front ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use context_manager::{LogError, SessionLog};
use protocol::{LogEntry, Opened, SessionEvent, Settings};
use store::{Exchange, Lease, SessionId, Store, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::observer::LogObserver;
use crate::recall::ReadableLog;
use crate::session::SessionParts;

/// The log of one session. A front end sees what has been written, in that order, and nothing
/// that has not.
///
/// The conversation writes here, and is also told what others have written through
/// `aside` since it last wrote: its state is made from the whole log.
///
/// A session that was begun is not in the store before its first event is.
pub struct StoredLog {
    store: Arc<dyn Store>,
    /// The inbox that this process shares with others, if it does.
    exchange: Option<Arc<dyn Exchange>>,
    id: SessionId,
    /// Fires when something could not be written. Others may have the session then, and what this process knows of the
    /// log may be wrong.
    broken: CancellationToken,
    observers: Vec<Arc<dyn LogObserver>>,
    watchers: Mutex<Vec<UnboundedSender<LogEntry>>>,
    /// The right to write, from the first event to [`Self::take_lease`].
    lease: Mutex<Option<Lease>>,
    /// Held while writing: events of two writers must not overtake each other.
    writing: tokio::sync::Mutex<Writing>,
}

#[derive(Default)]
struct Writing {
    /// What the conversation has not been told yet.
    aside: Vec<LogEntry>,
    /// How the session begins, as long as it is not in the store.
    beginning: Option<Beginning>,
    /// Items of the shared inbox that are done with what the conversation writes next.
    taking: Vec<i64>,
}

struct Beginning {
    opened: Opened,
    /// Whether writing it was tried. If the writer stopped waiting, it may be in the store.
    is_tried: bool,
}

impl StoredLog {
    /// The log of a session in the store, which the lease allows to write.
    pub(crate) fn of_stored(parts: &SessionParts, id: SessionId, lease: Lease) -> Self {
        Self::new(parts, id, Some(lease), Writing::default())
    }

    /// The log of a session that is put into the store with its first event.
    pub(crate) fn beginning(parts: &SessionParts, id: SessionId, opened: Opened) -> Self {
        let beginning = Some(Beginning { opened, is_tried: false });
        Self::new(parts, id, None, Writing { beginning, ..Writing::default() })
    }

    fn new(parts: &SessionParts, id: SessionId, lease: Option<Lease>, writing: Writing) -> Self {
        Self {
            store: Arc::clone(&parts.store),
            exchange: parts.exchange.clone(),
            id,
            broken: CancellationToken::new(),
            observers: parts.observers.clone(),
            watchers: Mutex::default(),
            lease: Mutex::new(lease),
            writing: tokio::sync::Mutex::new(writing),
        }
    }

    /// Fires when something could not be written.
    pub fn broken(&self) -> &CancellationToken {
        &self.broken
    }

    /// Has these items of the shared inbox done with what the conversation writes next.
    pub(crate) async fn take_with_next(&self, items: Vec<i64>) {
        self.writing.lock().await.taking = items;
    }

    /// Whether the session is in the store.
    pub(crate) async fn is_stored(&self) -> bool {
        self.writing.lock().await.beginning.is_none()
    }

    /// Has the session begin with other settings. None if it is in the store, or may be.
    pub(crate) async fn begin_with(&self, settings: &Settings) -> Option<Opened> {
        let mut writing = self.writing.lock().await;
        let beginning = writing.beginning.as_mut().filter(|beginning| !beginning.is_tried)?;
        beginning.opened.settings = settings.clone();
        Some(beginning.opened.clone())
    }

    /// The right to write, which ends when it is dropped or released.
    pub(crate) fn take_lease(&self) -> Option<Lease> {
        self.lease().take()
    }

    fn lease(&self) -> MutexGuard<'_, Option<Lease>> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that is written from now on.
    pub fn watch(&self) -> UnboundedReceiver<LogEntry> {
        let (sender, receiver) = unbounded_channel();
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }

    /// The same log for those who write while the conversation waits for them.
    pub(crate) fn aside(self: &Arc<Self>) -> Arc<dyn ReadableLog> {
        Arc::new(Aside(Arc::clone(self)))
    }

    async fn write(
        &self,
        writing: &mut Writing,
        events: Vec<SessionEvent>,
        items: &[i64],
    ) -> Result<Vec<LogEntry>, LogError> {
        let entries = match writing.beginning {
            None => self.append_to_stored(events, items).await,
            Some(_) => self.write_first(writing, events).await,
        };
        let entries = entries.map_err(|error| {
            self.broken.cancel();
            LogError { message: error.to_string() }
        })?;
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| entries.iter().all(|entry| watcher.send(entry.clone()).is_ok()));
        Ok(entries)
    }

    /// Puts the session into the store and claims it. The opening is not among the entries, because
    /// the conversation began with it.
    async fn write_first(
        &self,
        writing: &mut Writing,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, StoreError> {
        let Some(beginning) = &mut writing.beginning else { return Ok(Vec::new()) };
        let was_tried = std::mem::replace(&mut beginning.is_tried, true);
        if was_tried && self.store.entry(&self.id, 1).await?.is_some() {
            let lease = self.store.claim(&self.id).await?;
            *self.lease() = Some(lease);
            writing.beginning = None;
            return self.append_to_stored(events, &[]).await;
        }
        let mut entries = self.store.create_as(&self.id, &beginning.opened, events).await?;
        let lease = self.store.claim(&self.id).await?;
        *self.lease() = Some(lease);
        writing.beginning = None;
        self.observed(&entries);
        Ok(entries.split_off(1))
    }

    async fn append_to_stored(
        &self,
        events: Vec<SessionEvent>,
        items: &[i64],
    ) -> Result<Vec<LogEntry>, StoreError> {
        let entries = match &self.exchange {
            Some(exchange) if !items.is_empty() => {
                exchange.append_taking(&self.id, events, items).await?
            }
            _ => self.store.append(&self.id, events).await?,
        };
        self.observed(&entries);
        Ok(entries)
    }

    fn observed(&self, entries: &[LogEntry]) {
        self.observers.iter().for_each(|observer| observer.written(&self.id, entries));
    }
}

impl Drop for StoredLog {
    fn drop(&mut self) {
        self.observers.iter().for_each(|observer| observer.left(&self.id));
    }
}

#[async_trait]
impl SessionLog for StoredLog {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        self.append_taking(events, &[]).await
    }

    async fn append_taking(
        &self,
        events: Vec<SessionEvent>,
        items: &[i64],
    ) -> Result<Vec<LogEntry>, LogError> {
        let mut writing = self.writing.lock().await;
        let items: Vec<i64> =
            items.iter().copied().chain(std::mem::take(&mut writing.taking)).collect();
        let written = self.write(&mut writing, events, &items).await?;
        let mut entries = std::mem::take(&mut writing.aside);
        entries.extend(written);
        Ok(entries)
    }
}

struct Aside(Arc<StoredLog>);

#[async_trait]
impl SessionLog for Aside {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        self.append_taking(events, &[]).await
    }

    async fn append_taking(
        &self,
        events: Vec<SessionEvent>,
        items: &[i64],
    ) -> Result<Vec<LogEntry>, LogError> {
        let mut writing = self.0.writing.lock().await;
        let entries = self.0.write(&mut writing, events, items).await?;
        writing.aside.extend_from_slice(&entries);
        Ok(entries)
    }
}

#[async_trait]
impl ReadableLog for Aside {
    async fn entry(&self, sequence: u64) -> Result<Option<LogEntry>, LogError> {
        let StoredLog { store, id, .. } = &*self.0;
        let read = store.entry(id, sequence).await;
        read.map_err(|error| LogError { message: error.to_string() })
    }
}

/// The log of a sub-agent: each of its entries is an event of the conversation it belongs to.
///
/// Like the log of a conversation, it tells the sub-agent what others have written beside it.
pub(crate) struct NestedLog {
    parent: Arc<dyn ReadableLog>,
    call_id: String,
    written: tokio::sync::Mutex<Nested>,
}

#[derive(Default)]
struct Nested {
    /// Where each entry is in the log of the conversation it belongs to.
    places: Vec<u64>,
    /// What the sub-agent has not been told yet.
    aside: Vec<LogEntry>,
}

impl NestedLog {
    /// The log of the sub-agent that `call_id` has started, as a part of `parent`.
    pub(crate) fn new(parent: Arc<dyn ReadableLog>, call_id: String) -> Self {
        Self { parent, call_id, written: tokio::sync::Mutex::default() }
    }

    /// The same log for those who write while the sub-agent waits for them.
    pub(crate) fn aside(self: &Arc<Self>) -> Arc<dyn ReadableLog> {
        Arc::new(NestedAside(Arc::clone(self)))
    }

    async fn write(
        &self,
        written: &mut Nested,
        events: Vec<SessionEvent>,
        items: &[i64],
    ) -> Result<Vec<LogEntry>, LogError> {
        let numbered = events.into_iter().zip(written.places.len() as u64 + 1..);
        let nested = numbered.map(|(event, sequence)| SessionEvent::Nested {
            call_id: self.call_id.clone(),
            // The store knows the time; it is put in when the entry comes back.
            entry: Box::new(LogEntry { sequence, at: 0, event }),
        });
        let entries = self.parent.append_taking(nested.collect(), items).await?;
        written.places.extend(entries.iter().map(|entry| entry.sequence));
        Ok(entries.into_iter().filter_map(unwrap).collect())
    }
}

#[async_trait]
impl SessionLog for NestedLog {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        self.append_taking(events, &[]).await
    }

    async fn append_taking(
        &self,
        events: Vec<SessionEvent>,
        items: &[i64],
    ) -> Result<Vec<LogEntry>, LogError> {
        let mut written = self.written.lock().await;
        let latest = self.write(&mut written, events, items).await?;
        let mut entries = std::mem::take(&mut written.aside);
        entries.extend(latest);
        Ok(entries)
    }
}

struct NestedAside(Arc<NestedLog>);

#[async_trait]
impl SessionLog for NestedAside {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        self.append_taking(events, &[]).await
    }

    async fn append_taking(
        &self,
        events: Vec<SessionEvent>,
        items: &[i64],
    ) -> Result<Vec<LogEntry>, LogError> {
        let mut written = self.0.written.lock().await;
        let entries = self.0.write(&mut written, events, items).await?;
        written.aside.extend_from_slice(&entries);
        Ok(entries)
    }
}

#[async_trait]
impl ReadableLog for NestedAside {
    async fn entry(&self, sequence: u64) -> Result<Option<LogEntry>, LogError> {
        let index = sequence.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        let written = self.0.written.lock().await;
        let Some(&place) = index.and_then(|index| written.places.get(index)) else {
            return Ok(None);
        };
        drop(written);
        Ok(self.0.parent.entry(place).await?.and_then(unwrap))
    }
}

fn unwrap(entry: LogEntry) -> Option<LogEntry> {
    match entry.event {
        SessionEvent::Nested { entry: inner, .. } => Some(LogEntry { at: entry.at, ..*inner }),
        _ => None,
    }
}
