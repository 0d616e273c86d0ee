//! A store that hints at everything that is written through it, as the triggers of PostgreSQL do.

use std::sync::Arc;

use async_trait::async_trait;
use protocol::{LogEntry, Opened, SessionEvent};
use store::{
    CheckMode, CheckReport, DayStats, DaysFilter, DecisionFilter, Favourites, FoundMessages, Hint,
    Imported, Lease, ListFilter, Loaded, LoggedDecision, SessionCost, SessionId, SessionInfo,
    Stats, StatsFilter, Store, StoreError,
};
use tokio::sync::broadcast;

pub(super) struct HintingStore {
    pub(super) store: Arc<dyn Store>,
    pub(super) hints: broadcast::Sender<Hint>,
}

impl HintingStore {
    fn hint(&self, session: &SessionId, entries: &[LogEntry]) {
        if let Some(last) = entries.last() {
            self.hint_through(session, last.sequence);
        }
    }

    fn hint_through(&self, session: &SessionId, sequence: u64) {
        // There may be no listener.
        let _ = self.hints.send(Hint::Log { session: session.clone(), sequence });
    }

    async fn hint_at_all(&self, session: &SessionId) -> Result<(), StoreError> {
        let info = self.store.info(session).await?;
        info.into_iter().for_each(|info| self.hint_through(session, info.events));
        Ok(())
    }
}

#[async_trait]
impl Store for HintingStore {
    async fn create(&self, first: &Opened) -> Result<SessionId, StoreError> {
        let id = self.store.create(first).await?;
        self.hint_at_all(&id).await?;
        Ok(id)
    }

    async fn create_as(
        &self,
        id: &SessionId,
        first: &Opened,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, StoreError> {
        let entries = self.store.create_as(id, first, events).await?;
        self.hint(id, &entries);
        Ok(entries)
    }

    async fn append(
        &self,
        id: &SessionId,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, StoreError> {
        let entries = self.store.append(id, events).await?;
        self.hint(id, &entries);
        Ok(entries)
    }

    async fn load(&self, id: &SessionId) -> Result<Loaded, StoreError> {
        self.store.load(id).await
    }

    async fn entry(&self, id: &SessionId, sequence: u64) -> Result<Option<LogEntry>, StoreError> {
        self.store.entry(id, sequence).await
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<SessionInfo>, StoreError> {
        self.store.list(filter).await
    }

    async fn info(&self, id: &SessionId) -> Result<Option<SessionInfo>, StoreError> {
        self.store.info(id).await
    }

    async fn find(&self, text: &str) -> Result<SessionId, StoreError> {
        self.store.find(text).await
    }

    async fn rename(&self, id: &SessionId, title: &str) -> Result<LogEntry, StoreError> {
        let entry = self.store.rename(id, title).await?;
        self.hint_through(id, entry.sequence);
        Ok(entry)
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        self.store.delete(id).await
    }

    async fn fork(&self, id: &SessionId, at: Option<u64>) -> Result<SessionId, StoreError> {
        let fork = self.store.fork(id, at).await?;
        self.hint_at_all(&fork).await?;
        Ok(fork)
    }

    async fn export(&self, id: &SessionId) -> Result<String, StoreError> {
        self.store.export(id).await
    }

    async fn import(&self, jsonl: &str) -> Result<Imported, StoreError> {
        let imported = self.store.import(jsonl).await?;
        self.hint_at_all(&imported.id).await?;
        Ok(imported)
    }

    async fn import_as(&self, id: &SessionId, jsonl: &str) -> Result<Imported, StoreError> {
        let imported = self.store.import_as(id, jsonl).await?;
        self.hint_at_all(id).await?;
        Ok(imported)
    }

    async fn check(
        &self,
        id: Option<&SessionId>,
        mode: CheckMode,
    ) -> Result<CheckReport, StoreError> {
        self.store.check(id, mode).await
    }

    async fn stats(&self, filter: &StatsFilter) -> Result<Stats, StoreError> {
        self.store.stats(filter).await
    }

    async fn spent(&self, filter: &StatsFilter) -> Result<Vec<SessionCost>, StoreError> {
        self.store.spent(filter).await
    }

    async fn days(&self, filter: &DaysFilter) -> Result<Vec<DayStats>, StoreError> {
        self.store.days(filter).await
    }

    async fn decisions(&self, filter: &DecisionFilter) -> Result<Vec<LoggedDecision>, StoreError> {
        self.store.decisions(filter).await
    }

    async fn search(&self, words: &str, limit: usize) -> Result<FoundMessages, StoreError> {
        self.store.search(words, limit).await
    }

    async fn favourites(&self) -> Result<Favourites, StoreError> {
        self.store.favourites().await
    }

    async fn clear_favourites(&self) -> Result<(), StoreError> {
        self.store.clear_favourites().await
    }

    async fn claim(&self, id: &SessionId) -> Result<Lease, StoreError> {
        self.store.claim(id).await
    }
}
