//! Where the events of a conversation go: into the store first, then to the front ends.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use context_manager::{LogError, SessionLog};
use protocol::{LogEntry, SessionEvent};
use store::{SessionId, Store};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::recall::ReadableLog;

/// The log of one session. A front end sees what has been written, in that order, and nothing
/// that has not.
///
/// The conversation writes here, and is also told what others have written through
/// `aside` since it last wrote: its state is made from the whole log.
pub struct StoredLog {
    store: Arc<dyn Store>,
    id: SessionId,
    watchers: Mutex<Vec<UnboundedSender<LogEntry>>>,
    /// What the conversation has not been told yet. Held while writing: events of two writers must
    /// not overtake each other.
    aside: tokio::sync::Mutex<Vec<LogEntry>>,
}

impl StoredLog {
    pub(crate) fn new(store: Arc<dyn Store>, id: SessionId) -> Self {
        Self { store, id, watchers: Mutex::default(), aside: tokio::sync::Mutex::default() }
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

    async fn write(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        let written = self.store.append(&self.id, events).await;
        let entries = written.map_err(|error| LogError { message: error.to_string() })?;
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| entries.iter().all(|entry| watcher.send(entry.clone()).is_ok()));
        Ok(entries)
    }
}

#[async_trait]
impl SessionLog for StoredLog {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        let mut aside = self.aside.lock().await;
        let written = self.write(events).await?;
        let mut entries = std::mem::take(&mut *aside);
        entries.extend(written);
        Ok(entries)
    }
}

struct Aside(Arc<StoredLog>);

#[async_trait]
impl SessionLog for Aside {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        let mut aside = self.0.aside.lock().await;
        let entries = self.0.write(events).await?;
        aside.extend_from_slice(&entries);
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
    ) -> Result<Vec<LogEntry>, LogError> {
        let numbered = events.into_iter().zip(written.places.len() as u64 + 1..);
        let nested = numbered.map(|(event, sequence)| SessionEvent::Nested {
            call_id: self.call_id.clone(),
            // The store knows the time; it is put in when the entry comes back.
            entry: Box::new(LogEntry { sequence, at: 0, event }),
        });
        let entries = self.parent.append(nested.collect()).await?;
        written.places.extend(entries.iter().map(|entry| entry.sequence));
        Ok(entries.into_iter().filter_map(unwrap).collect())
    }
}

#[async_trait]
impl SessionLog for NestedLog {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        let mut written = self.written.lock().await;
        let latest = self.write(&mut written, events).await?;
        let mut entries = std::mem::take(&mut written.aside);
        entries.extend(latest);
        Ok(entries)
    }
}

struct NestedAside(Arc<NestedLog>);

#[async_trait]
impl SessionLog for NestedAside {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        let mut written = self.0.written.lock().await;
        let entries = self.0.write(&mut written, events).await?;
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
