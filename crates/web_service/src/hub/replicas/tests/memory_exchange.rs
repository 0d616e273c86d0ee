//! What replicas tell each other, in memory: fast, and without a server. Logs and leases are in the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use protocol::{LogEntry, SessionEvent};
use serde_json::Value;
use store::{
    Exchange, Hint, InboxItem, ItemState, ListFilter, Put, QuestionBoard, QuestionState,
    ReplicaInfo, RevokedRule, RuleBoard, SessionId, SessionState, ShownQuestion, Store, StoreError,
};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::hinting_store::HintingStore;

/// What the replicas share.
pub(super) struct SharedMemory {
    items: Mutex<Vec<Item>>,
    standing: Mutex<HashMap<SessionId, Value>>,
    questions: Mutex<Vec<BoardQuestion>>,
    /// By project and rule.
    revoked: Mutex<HashMap<(String, String), i64>>,
    hints: broadcast::Sender<Hint>,
}

struct BoardQuestion {
    number: i64,
    replica: &'static str,
    question: Value,
    answer: Option<Value>,
    state: QuestionState,
}

struct Item {
    session: SessionId,
    item: InboxItem,
    state: ItemState,
}

impl SharedMemory {
    pub(super) fn new() -> Arc<Self> {
        let (hints, _) = broadcast::channel(1024);
        let (items, standing, questions, revoked) = Default::default();
        Arc::new(Self { items, standing, questions, revoked, hints })
    }

    /// A store whose writers tell the replicas.
    pub(super) fn hinting(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(HintingStore { store, hints: self.hints.clone() })
    }

    /// Changes a question in one of these states. None if there is none.
    fn change<T>(
        &self,
        number: i64,
        from: &[QuestionState],
        change: impl FnOnce(&mut BoardQuestion) -> T,
    ) -> Option<T> {
        let mut questions = self.questions.lock().unwrap();
        let mut found = questions.iter_mut();
        let found = found.find(|it| it.number == number && from.contains(&it.state));
        let changed = found.map(change);
        drop(questions);
        let _ = self.hints.send(Hint::Questions);
        changed
    }

    fn items(&self) -> MutexGuard<'_, Vec<Item>> {
        self.items.lock().unwrap()
    }

    /// Changes an item that waits. False if it does not.
    fn settle(&self, session: &SessionId, number: i64, state: ItemState) -> bool {
        let mut items = self.items();
        let is_it = |it: &&mut Item| it.session == *session && it.item.number == number;
        let found = items.iter_mut().find(is_it).filter(|it| it.state == ItemState::Waiting);
        let is_waiting = found.is_some();
        found.into_iter().for_each(|it| it.state = state.clone());
        drop(items);
        let _ = self.hints.send(Hint::Inbox { session: session.clone() });
        is_waiting
    }
}

/// One replica.
pub(super) struct MemoryExchange {
    shared: Arc<SharedMemory>,
    store: Arc<dyn Store>,
    name: &'static str,
    lost: CancellationToken,
}

impl MemoryExchange {
    pub(super) fn new(
        shared: &Arc<SharedMemory>,
        store: Arc<dyn Store>,
        name: &'static str,
    ) -> Arc<Self> {
        let lost = CancellationToken::new();
        Arc::new(Self { shared: Arc::clone(shared), store, name, lost })
    }
}

#[async_trait]
impl QuestionBoard for MemoryExchange {
    async fn show_question(&self, question: Value) -> Result<i64, StoreError> {
        let mut questions = self.shared.questions.lock().unwrap();
        let number = questions.len() as i64 + 1;
        let (replica, answer, state) = (self.name, None, QuestionState::Open);
        questions.push(BoardQuestion { number, replica, question, answer, state });
        drop(questions);
        let _ = self.shared.hints.send(Hint::Questions);
        Ok(number)
    }

    async fn remove_question(&self, number: i64) -> Result<(), StoreError> {
        let open = [QuestionState::Open, QuestionState::Answered];
        self.shared.change(number, &open, |it| it.state = QuestionState::Refused);
        Ok(())
    }

    async fn questions_elsewhere(&self, _known: &[i64]) -> Result<Vec<ShownQuestion>, StoreError> {
        let questions = self.shared.questions.lock().unwrap();
        let open = questions
            .iter()
            .filter(|it| it.replica != self.name && it.state == QuestionState::Open);
        let shown = |it: &BoardQuestion| ShownQuestion {
            number: it.number,
            question: Some(it.question.clone()),
        };
        Ok(open.map(shown).collect())
    }

    async fn leave_answer(&self, number: i64, answer: Value) -> Result<bool, StoreError> {
        let left = self.shared.change(number, &[QuestionState::Open], |it| {
            (it.answer, it.state) = (Some(answer), QuestionState::Answered);
        });
        Ok(left.is_some())
    }

    async fn take_back_answer(&self, number: i64) -> Result<bool, StoreError> {
        let taken_back = self.shared.change(number, &[QuestionState::Answered], |it| {
            (it.answer, it.state) = (None, QuestionState::Open);
        });
        Ok(taken_back.is_some())
    }

    async fn question_states(
        &self,
        numbers: &[i64],
    ) -> Result<Vec<(i64, QuestionState)>, StoreError> {
        let questions = self.shared.questions.lock().unwrap();
        let wanted = questions.iter().filter(|it| numbers.contains(&it.number));
        Ok(wanted.map(|it| (it.number, it.state)).collect())
    }

    async fn take_answer(&self, number: i64) -> Result<Option<Value>, StoreError> {
        let states = [QuestionState::Answered, QuestionState::Taken];
        let taken = self.shared.change(number, &states, |it| {
            it.state = QuestionState::Taken;
            it.answer.clone()
        });
        Ok(taken.flatten())
    }

    async fn settle_answer(&self, number: i64, has_counted: bool) -> Result<(), StoreError> {
        let state = if has_counted { QuestionState::Done } else { QuestionState::Refused };
        self.shared.change(number, &[QuestionState::Taken], |it| it.state = state);
        Ok(())
    }
}

#[async_trait]
impl RuleBoard for MemoryExchange {
    async fn revoke_rule(&self, project: &str, rule: &str) -> Result<i64, StoreError> {
        let mut revoked = self.shared.revoked.lock().unwrap();
        let number = revoked.values().max().map_or(1, |last| last + 1);
        revoked.insert((project.to_owned(), rule.to_owned()), number);
        Ok(number)
    }

    async fn restore_rule(
        &self,
        project: &str,
        rule: &str,
        number: Option<i64>,
    ) -> Result<(), StoreError> {
        let is_it = |known: &(String, String), at: i64| {
            known.0 == project && known.1 == rule && number.is_none_or(|number| number == at)
        };
        self.shared.revoked.lock().unwrap().retain(|known, at| !is_it(known, *at));
        Ok(())
    }

    async fn revoked_rules(&self, project: &str) -> Result<Vec<RevokedRule>, StoreError> {
        let revoked = self.shared.revoked.lock().unwrap();
        let of_project = revoked.iter().filter(|((of, _), _)| of == project);
        let rule = |((_, rule), number): (&(String, String), &i64)| RevokedRule {
            rule: rule.clone(),
            number: *number,
        };
        Ok(of_project.map(rule).collect())
    }
}

#[async_trait]
impl Exchange for MemoryExchange {
    async fn put(&self, session: &SessionId, key: &str, item: Value) -> Result<Put, StoreError> {
        let mut items = self.shared.items();
        let known = items.iter().find(|it| it.session == *session && it.item.key == key);
        if let Some(known) = known {
            return Ok(Put { number: known.item.number, is_first: false });
        }
        let number = items.len() as i64 + 1;
        let item = InboxItem { number, key: key.to_owned(), item, at: 0 };
        items.push(Item { session: session.clone(), item, state: ItemState::Waiting });
        drop(items);
        let _ = self.shared.hints.send(Hint::Inbox { session: session.clone() });
        Ok(Put { number, is_first: true })
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<InboxItem>, StoreError> {
        let items = self.shared.items();
        let waiting =
            items.iter().filter(|it| it.session == *session && it.state == ItemState::Waiting);
        Ok(waiting.map(|it| it.item.clone()).collect())
    }

    async fn append_taking(
        &self,
        session: &SessionId,
        events: Vec<SessionEvent>,
        done: &[i64],
    ) -> Result<Vec<LogEntry>, StoreError> {
        let entries = match events.is_empty() {
            true => Vec::new(),
            false => self.store.append(session, events).await?,
        };
        let through = entries.last().map_or(0, |entry| entry.sequence);
        for number in done {
            assert!(self.shared.settle(session, *number, ItemState::Done { through }));
        }
        Ok(entries)
    }

    async fn item_state(
        &self,
        session: &SessionId,
        number: i64,
    ) -> Result<Option<ItemState>, StoreError> {
        if self.store.info(session).await?.is_none() {
            return Ok(None);
        }
        let items = self.shared.items();
        let found = items.iter().find(|it| it.session == *session && it.item.number == number);
        Ok(found.map(|it| it.state.clone()))
    }

    async fn refuse(
        &self,
        session: &SessionId,
        number: i64,
        reason: &str,
    ) -> Result<(), StoreError> {
        self.shared.settle(session, number, ItemState::Refused { reason: reason.to_owned() });
        Ok(())
    }

    async fn withdraw(&self, session: &SessionId, number: i64) -> Result<bool, StoreError> {
        Ok(self.shared.settle(session, number, ItemState::Withdrawn))
    }

    async fn entries_after(
        &self,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogEntry>, StoreError> {
        let entries = self.store.load(session).await?.entries.into_iter();
        Ok(entries.filter(|entry| entry.sequence > after).take(limit as usize).collect())
    }

    async fn holder(&self, session: &SessionId) -> Result<Option<ReplicaInfo>, StoreError> {
        let holder = self.store.info(session).await?.and_then(|info| info.held_by);
        Ok(holder.map(|_| self.this_replica()))
    }

    async fn orphans(
        &self,
        projects: &[String],
        limit: u32,
    ) -> Result<Vec<(String, SessionId)>, StoreError> {
        let listed = self.store.list(&ListFilter::default()).await?;
        let items = self.shared.items();
        let waits = |id: &SessionId| {
            items.iter().any(|it| it.session == *id && it.state == ItemState::Waiting)
        };
        let orphans = listed.into_iter().filter(|info| {
            info.held_by.is_none() && (info.state == SessionState::Interrupted || waits(&info.id))
        });
        Ok(orphans.take(limit as usize).map(|info| (projects[0].clone(), info.id)).collect())
    }

    fn hints(&self) -> broadcast::Receiver<Hint> {
        self.shared.hints.subscribe()
    }

    async fn set_standing(&self, session: &SessionId, standing: Value) -> Result<(), StoreError> {
        self.shared.standing.lock().unwrap().insert(session.clone(), standing);
        let _ = self.shared.hints.send(Hint::Standing { session: session.clone() });
        Ok(())
    }

    async fn standing(
        &self,
        sessions: &[SessionId],
    ) -> Result<Vec<(SessionId, Value)>, StoreError> {
        let standing = self.shared.standing.lock().unwrap();
        let found = sessions.iter().filter_map(|id| Some((id.clone(), standing.get(id)?.clone())));
        Ok(found.collect())
    }

    async fn leave(&self) -> Result<(), StoreError> {
        self.lost.cancel();
        Ok(())
    }

    fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }

    fn this_replica(&self) -> ReplicaInfo {
        ReplicaInfo { id: self.name.to_owned(), name: self.name.to_owned(), addr: None }
    }

    async fn replicas(&self) -> Result<Vec<ReplicaInfo>, StoreError> {
        Ok(vec![self.this_replica()])
    }
}
