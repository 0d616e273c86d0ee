//! A session that is open here, as clients see it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_manager::{AgentOptions, ContextState};
use protocol::{Content, Rewind};
use serde::{Deserialize, Serialize};
use session::{ApprovalManager, Inbox, QueuedId, RewindFiles, RewindPoint, Session};
use store::SessionId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use tool_system::ToolExecutor;

use super::live_shared::LiveShared;
use super::queue_room::has_room;
use super::{AgentChange, HubError, ServedProject, SessionFeed};

/// What the task of a session is asked to do. An item is one of the inbox that replicas share, which is done with what
/// the command writes.
pub(super) enum LiveCommand {
    /// To work on the first message of the queue.
    Turn(CancellationToken),
    /// To go on after a pause.
    Continue { cancel: CancellationToken, item: Option<i64> },
    Rewind {
        to: u64,
        files: RewindFiles,
        item: Option<i64>,
        done: oneshot::Sender<Result<(RewindPoint, Rewind), HubError>>,
    },
    /// To go on with another model, or in another role.
    Change {
        change: Box<AgentChange>,
        item: Option<i64>,
        /// What the session does afterwards.
        before: LivePhase,
        done: oneshot::Sender<Result<(), HubError>>,
    },
    /// To release the session.
    Close,
}

/// What a session is made of until its model or role change.
struct LiveAgent {
    approvals: Arc<ApprovalManager>,
    executor: ToolExecutor,
    options: AgentOptions,
}

impl LiveAgent {
    fn of(session: &Session) -> Self {
        Self {
            approvals: Arc::clone(session.approvals()),
            executor: session.executor().clone(),
            options: session.options().clone(),
        }
    }
}

/// What a session does.
#[derive(Clone, Debug)]
pub(super) enum LivePhase {
    Idle,
    Paused,
    Working(CancellationToken),
    Closed,
}

/// What a session does, for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiveState {
    /// It waits for a message.
    Idle,
    /// The model or a tool is at work.
    Working,
    /// A call needs approval.
    Waiting,
    /// A limit was reached; the user decides how to go on.
    Paused,
    /// It was left in the middle of a turn.
    Interrupted,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is in the log, at this position.
    Written(u64),
    /// It waits for the running turn, under this name.
    Queued(u64),
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    /// Its name.
    pub id: u64,
    /// What is said.
    pub content: Vec<Content>,
}

/// A session that is open here.
pub struct LiveSession {
    id: SessionId,
    project: Arc<ServedProject>,
    feed: Arc<SessionFeed>,
    /// The last entry before it was opened here.
    opened_at: u64,
    pub(super) inbox: Arc<Inbox>,
    agent: Mutex<LiveAgent>,
    /// What it has for other replicas.
    pub(super) shared: LiveShared,
    phase: Mutex<LivePhase>,
    /// The names of waiting messages, which clients have as numbers.
    names: Mutex<Names>,
    pub(super) commands: UnboundedSender<LiveCommand>,
    closed: watch::Sender<bool>,
    /// The last entry that clients can see.
    pub(super) told: watch::Sender<u64>,
    /// Why the last turn broke off, if not by anything that the log could say.
    failure: Mutex<Option<String>>,
    /// When it was last used, as the hub counts.
    used: AtomicU64,
}

#[derive(Default)]
pub(super) struct Names {
    last: u64,
    pub(super) of: Vec<(u64, QueuedId)>,
    /// The message whose sender waits for its place in the log.
    awaited: Option<(QueuedId, Waiter)>,
}

/// Is told where a message is in the log, none if it waits behind another, or why it cannot be written.
pub(super) type Waiter = oneshot::Sender<Result<Option<u64>, String>>;

/// A message that is taken from the queue.
pub(super) struct Taken {
    pub(super) content: Vec<Content>,
    pub(super) waiter: Option<Waiter>,
    pub(super) item: Option<i64>,
}

impl LiveSession {
    pub(super) fn new(
        project: Arc<ServedProject>,
        session: &Session,
        feed: Arc<SessionFeed>,
    ) -> (Self, UnboundedReceiver<LiveCommand>) {
        let (commands, received) = unbounded_channel();
        let opened_at = feed.with(|feed| feed.through());
        let phase = match session.context().state() {
            ContextState::Paused(_) => LivePhase::Paused,
            _ => LivePhase::Idle,
        };
        let live = Self {
            opened_at,
            id: session.id().clone(),
            project,
            feed,
            inbox: Arc::clone(session.inbox()),
            agent: Mutex::new(LiveAgent::of(session)),
            shared: LiveShared::default(),
            phase: Mutex::new(phase),
            names: Mutex::default(),
            commands,
            closed: watch::Sender::new(false),
            told: watch::Sender::new(opened_at),
            failure: Mutex::default(),
            used: AtomicU64::default(),
        };
        (live, received)
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    pub fn project(&self) -> &Arc<ServedProject> {
        &self.project
    }

    /// What clients have not seen of it.
    pub fn feed(&self) -> &Arc<SessionFeed> {
        &self.feed
    }

    /// The last entry before it was opened here.
    pub fn opened_at(&self) -> u64 {
        self.opened_at
    }

    /// Notes that it was used.
    pub(super) fn is_used(&self, at: u64) {
        self.used.store(at, Ordering::Relaxed);
    }

    /// When it was last used.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes no more messages if nothing is lost by that: no turn runs, nothing waits, no job goes on. Answers
    /// whether it was so.
    pub(super) fn shut_if_idle(&self) -> bool {
        // Under the lock: a message that comes now is refused, or begins a turn before.
        let mut phase = self.phase();
        let is_idle = matches!(*phase, LivePhase::Idle | LivePhase::Paused)
            && self.inbox.waiting().is_empty()
            && self.executor().running_jobs() == 0;
        if is_idle {
            *phase = LivePhase::Closed;
        }
        is_idle
    }

    /// Its questions.
    pub fn approvals(&self) -> Arc<ApprovalManager> {
        Arc::clone(&self.agent().approvals)
    }

    /// The executor of its calls.
    pub fn executor(&self) -> ToolExecutor {
        self.agent().executor.clone()
    }

    /// How its agent behaves.
    pub fn options(&self) -> AgentOptions {
        self.agent().options.clone()
    }

    /// The session has another model or role.
    pub(super) fn renew(&self, session: &Session) {
        *self.agent() = LiveAgent::of(session);
    }

    /// How many messages wait.
    pub fn queue_length(&self) -> usize {
        self.inbox.waiting().len()
    }

    /// What it does.
    pub fn state(&self) -> LiveState {
        match *self.phase() {
            LivePhase::Working(_) if self.approvals().count() > 0 => LiveState::Waiting,
            LivePhase::Working(_) => LiveState::Working,
            LivePhase::Paused => LiveState::Paused,
            LivePhase::Idle | LivePhase::Closed => LiveState::Idle,
        }
    }

    /// Why the last turn broke off, if the log could not be written.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_failure(&self, failure: Option<String>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    /// Says something. It is written down when this returns, or waits for the running turn.
    pub async fn send(&self, content: Vec<Content>) -> Result<Sent, HubError> {
        let (name, written) = {
            // Under the lock: a turn that is about to end sees the message, or has ended.
            let mut phase = self.phase();
            if matches!(*phase, LivePhase::Closed) {
                return Err(HubError::Closing);
            }
            if !has_room(&self.inbox, &content) {
                return Err(HubError::QueueFull);
            }
            let id = self.inbox.push(content);
            let name = self.name(id);
            if matches!(*phase, LivePhase::Working(_)) {
                (name, None)
            } else {
                let cancel = CancellationToken::new();
                *phase = LivePhase::Working(cancel.clone());
                let (tell, written) = oneshot::channel();
                self.names().awaited = Some((id, tell));
                // The task lives until it has closed the session, which is another phase.
                let _ = self.commands.send(LiveCommand::Turn(cancel));
                (name, Some(written))
            }
        };
        self.feed.tell();
        let Some(written) = written else { return Ok(Sent::Queued(name)) };
        match written.await {
            Ok(Ok(Some(sequence))) => {
                // Whoever asks next sees it. The sender lives as long as this does.
                let _ = self.told.subscribe().wait_for(|told| *told >= sequence).await;
                Ok(Sent::Written(sequence))
            }
            // An earlier message went first.
            Ok(Ok(None)) => Ok(Sent::Queued(name)),
            Ok(Err(reason)) => Err(HubError::NotWritten { reason }),
            // The session was closed before it came to the message.
            Err(_) if *self.closed.borrow() => {
                self.withdraw(name);
                Err(HubError::Closing)
            }
            Err(_) => Err(HubError::Withdrawn),
        }
    }

    /// Goes on after a pause.
    pub fn go_on(&self, item: Option<i64>) -> Result<(), HubError> {
        let mut phase = self.phase();
        match *phase {
            LivePhase::Paused => {
                let cancel = CancellationToken::new();
                *phase = LivePhase::Working(cancel.clone());
                let _ = self.commands.send(LiveCommand::Continue { cancel, item });
                self.feed.tell();
                Ok(())
            }
            LivePhase::Working(_) => Err(HubError::Working),
            LivePhase::Idle => Err(HubError::NotPaused),
            LivePhase::Closed => Err(HubError::Closing),
        }
    }

    /// Ends the running turn. Answers whether one ran.
    pub fn interrupt(&self) -> bool {
        match &*self.phase() {
            LivePhase::Working(cancel) => {
                cancel.cancel();
                true
            }
            LivePhase::Idle | LivePhase::Paused | LivePhase::Closed => false,
        }
    }

    /// Goes back to before a message.
    pub async fn rewind(
        &self,
        to: u64,
        files: RewindFiles,
        item: Option<i64>,
    ) -> Result<(RewindPoint, Rewind), HubError> {
        let (done, result) = oneshot::channel();
        {
            let mut phase = self.phase();
            match *phase {
                LivePhase::Working(_) => return Err(HubError::Working),
                LivePhase::Closed => return Err(HubError::Closing),
                LivePhase::Idle | LivePhase::Paused => {}
            }
            *phase = LivePhase::Working(CancellationToken::new());
            let _ = self.commands.send(LiveCommand::Rewind { to, files, item, done });
        }
        result.await.unwrap_or(Err(HubError::Closing))
    }

    /// Goes on with another model, or in another role.
    pub async fn change(&self, change: AgentChange, item: Option<i64>) -> Result<(), HubError> {
        let (done, result) = oneshot::channel();
        {
            let mut phase = self.phase();
            let before = match &*phase {
                LivePhase::Working(_) => return Err(HubError::Working),
                LivePhase::Closed => return Err(HubError::Closing),
                LivePhase::Idle => LivePhase::Idle,
                LivePhase::Paused => LivePhase::Paused,
            };
            *phase = LivePhase::Working(CancellationToken::new());
            let change = Box::new(change);
            let _ = self.commands.send(LiveCommand::Change { change, item, before, done });
        }
        result.await.unwrap_or(Err(HubError::Closing))
    }

    /// The messages that wait.
    pub fn queue(&self) -> Vec<Queued> {
        let waiting = self.inbox.waiting();
        let names = self.names();
        let name = |id| names.of.iter().find(|(_, of)| *of == id).map(|(name, _)| *name);
        let queued = waiting
            .into_iter()
            .filter_map(|message| Some(Queued { id: name(message.id)?, content: message.content }));
        queued.collect()
    }

    /// Takes a message back. None if it is too late.
    pub fn withdraw(&self, name: u64) -> Option<Vec<Content>> {
        let id = self.names().of.iter().find(|(known, _)| *known == name).map(|(_, id)| *id)?;
        let content = self.inbox.withdraw(id);
        self.feed.tell();
        content
    }

    /// Ends the running turn and releases the session; returns when that is done.
    pub async fn close(&self) {
        self.interrupt();
        let _ = self.commands.send(LiveCommand::Close);
        let mut closed = self.closed.subscribe();
        // The sender lives as long as this does.
        let _ = closed.wait_for(|closed| *closed).await;
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Takes the first message of the queue.
    pub(super) fn first_queued(&self) -> Option<Taken> {
        let waiting = self.inbox.waiting();
        let mut names = self.names();
        let awaited = names.awaited.take();
        let first = waiting.first()?;
        names.of.retain(|(_, id)| *id != first.id);
        let waiter = match awaited {
            Some((id, waiter)) if id == first.id => Some(waiter),
            // It is another message, which stays in the queue. Its sender is told now: the turn may take it soon.
            Some((id, waiter)) if waiting.iter().any(|message| message.id == id) => {
                let _ = waiter.send(Ok(None));
                None
            }
            _ => None,
        };
        let item = first.item;
        Some(Taken { content: self.inbox.withdraw(first.id)?, waiter, item })
    }

    /// Clients can see the log up to this entry.
    pub(super) fn told(&self, sequence: u64) {
        self.told.send_replace(sequence);
    }

    pub(super) fn closed(&self) {
        *self.phase() = LivePhase::Closed;
        self.closed.send_replace(true);
        self.names().awaited = None;
    }

    pub(super) fn phase(&self) -> MutexGuard<'_, LivePhase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self, id: QueuedId) -> u64 {
        let waiting: Vec<QueuedId> = self.inbox.waiting().iter().map(|it| it.id).collect();
        let mut names = self.names();
        names.of.retain(|(_, known)| waiting.contains(known));
        names.last += 1;
        let name = names.last;
        names.of.push((name, id));
        name
    }

    fn agent(&self) -> MutexGuard<'_, LiveAgent> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
