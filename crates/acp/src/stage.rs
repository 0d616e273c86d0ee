//! Shows the editor what happens in a session, while something is worked on and in between.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use protocol::{ActivityData, ActivityEvent, LogEntry};
use session::{ApprovalManager, Session};
use timeline::ItemId;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};
use tool_system::{Subscription, ToolExecutor};

use crate::drawing::Drawing;
use crate::live_editor::Replay;
use crate::permission::EditorQuestion;
use crate::wire::SessionWire;

/// Output of a running call is told at most this often: every time all of what is shown of it is sent.
const OUTPUT_PAUSE: Duration = Duration::from_millis(100);

/// What the editor sees of a session.
pub(crate) struct Stage {
    pub(crate) wire: SessionWire,
    pub(crate) drawing: Drawing,
    log: UnboundedReceiver<LogEntry>,
    /// Taken from the log, and not shown before there is room.
    next: Option<LogEntry>,
    /// The last entry that was taken from the past.
    seen: u64,
    agent: StageAgent,
    /// Calls with output that was not told, and when it is.
    grown: BTreeSet<ItemId>,
    due: Option<Instant>,
}

/// What is another one when model or role change.
struct StageAgent {
    activity: Subscription,
    approvals: Arc<ApprovalManager>,
    executor: ToolExecutor,
}

impl StageAgent {
    fn of(session: &Session) -> Self {
        Self {
            activity: session.executor().activity().subscribe_all(),
            approvals: Arc::clone(session.approvals()),
            executor: session.executor().clone(),
        }
    }
}

impl Stage {
    /// Shows what is written from now on.
    pub(crate) fn new(session: &Session, wire: SessionWire) -> Self {
        let parts = session.parts();
        let drawing =
            Drawing::new(parts.tools.clone(), wire.editor, session.options().context_tokens);
        Self {
            drawing,
            wire,
            log: session.log().watch(),
            next: None,
            seen: 0,
            agent: StageAgent::of(session),
            grown: BTreeSet::new(),
            due: None,
        }
    }

    /// Takes what was written before, and shows it if that is wanted.
    pub(crate) async fn take_past(&mut self, entries: &[LogEntry], replay: Replay) {
        self.seen = entries.last().map_or(0, |entry| entry.sequence);
        let mut past = self.drawing.take_past(entries);
        while let Some(updates) = self.drawing.next_of(&mut past) {
            if replay == Replay::No {
                continue;
            }
            for update in updates {
                let _room = self.wire.connection.room().await;
                self.wire.update(update);
            }
        }
    }

    /// The session has another model, role or policy.
    pub(crate) async fn renew(&mut self, session: &Session) {
        self.agent = StageAgent::of(session);
        self.drawing.set_window(session.options().context_tokens);
        self.catch_up().await;
    }

    /// Shows what happens until `work` is done, and everything that was written by then. The work does not wait for an
    /// editor that reads slowly: the session holds what is written in any case.
    pub(crate) async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let connection = self.wire.connection.clone();
        let done = loop {
            tokio::select! {
                biased;
                _room = connection.room(), if self.next.is_some() => self.show_next(),
                Some(entry) = self.log.recv(), if self.next.is_none() => self.next = Some(entry),
                Some(event) = self.agent.activity.next() => self.activity(&event),
                // What is told later is told with what came meanwhile.
                () = at(self.due) => match connection.has_room() {
                    true => self.tell_output(),
                    false => self.due = Some(Instant::now() + OUTPUT_PAUSE),
                },
                done = &mut work => break done,
            }
        };
        self.catch_up().await;
        done
    }

    /// Shows everything that is written.
    pub(crate) async fn catch_up(&mut self) {
        let connection = self.wire.connection.clone();
        loop {
            let _room = connection.room().await;
            self.next = self.next.take().or_else(|| self.log.try_recv().ok());
            if self.next.is_none() {
                break;
            }
            self.show_next();
        }
        self.tell_output();
    }

    fn show_next(&mut self) {
        if let Some(entry) = self.next.take() {
            self.entry(&entry);
        }
    }

    fn entry(&mut self, entry: &LogEntry) {
        if entry.sequence <= self.seen {
            return;
        }
        let drawn = self.drawing.apply(entry);
        drawn.updates.into_iter().for_each(|update| self.wire.update(update));
        if let Some((call, request)) = drawn.asked {
            let question = EditorQuestion {
                wire: self.wire.clone(),
                call,
                request,
                approvals: Arc::clone(&self.agent.approvals),
                executor: self.agent.executor.clone(),
            };
            tokio::spawn(question.ask());
        }
    }

    fn activity(&mut self, event: &ActivityEvent) {
        match &event.data {
            ActivityData::ToolOutputChunk { chunk } => {
                if let Some(id) = self.drawing.output(&event.call_id, chunk) {
                    self.grown.insert(id);
                    self.due.get_or_insert_with(|| Instant::now() + OUTPUT_PAUSE);
                }
            }
            ActivityData::ToolCallEnd { preview, .. } => {
                self.drawing.preview(&event.call_id, preview);
            }
            _ => {}
        }
    }

    fn tell_output(&mut self) {
        self.due = None;
        for id in std::mem::take(&mut self.grown) {
            if let Some(update) = self.drawing.grown(id) {
                self.wire.update(update);
            }
        }
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
