//! What a session that is open here has for the other replicas of the service.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::{ApprovalRequest, Content, ContentHash, LogEntry};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::live_session::{LiveCommand, LivePhase};
use super::queue_room::has_room;
use super::replicas::asked_in;
use super::{AgentNames, LiveSession};

/// How long an entry takes from the log to clients at most.
const TELLING: Duration = Duration::from_secs(1);

/// What a session has for other replicas.
#[derive(Default)]
pub(super) struct LiveShared {
    /// Something may lie in the inbox.
    inbox: Notify,
    /// The session takes nothing any more, and is about to be released.
    closing: watch::Sender<bool>,
    /// Messages that were put behind a running turn, by their names.
    waiting: Mutex<BTreeSet<u64>>,
    /// Where the log asks what.
    asked: Mutex<Vec<AskedPlace>>,
    choice: Mutex<AgentNames>,
}

struct AskedPlace {
    place: u64,
    call_id: String,
    proposal: ContentHash,
}

impl AskedPlace {
    fn is_of(&self, call_id: &str, proposal: ContentHash) -> bool {
        self.call_id == call_id && self.proposal == proposal
    }
}

/// What became of a message from the inbox that replicas share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivered {
    /// It is written by the turn that it begins, or by the one that runs.
    Taken,
    /// Too many wait.
    NoRoom,
    /// The session is about to be released.
    Closed,
}

impl LiveSession {
    /// Takes a message from the inbox that replicas share. Its number there is its name here.
    pub(super) fn deliver(&self, content: Vec<Content>, item: i64) -> Delivered {
        {
            // Under the lock: a turn that is about to end sees the message, or has ended.
            let mut phase = self.phase();
            if matches!(*phase, LivePhase::Closed) {
                return Delivered::Closed;
            }
            if !has_room(&self.inbox, &content) {
                return Delivered::NoRoom;
            }
            let name = item.unsigned_abs();
            let id = self.inbox.push_item(content, item);
            self.names().of.push((name, id));
            if matches!(*phase, LivePhase::Working(_)) {
                locked(&self.shared.waiting).insert(name);
            } else {
                let cancel = CancellationToken::new();
                *phase = LivePhase::Working(cancel.clone());
                // The task lives until it has closed the session, which is another phase.
                let _ = self.commands.send(LiveCommand::Turn(cancel));
            }
        }
        self.feed().tell();
        Delivered::Taken
    }

    /// Whether this message waits for a turn that runs.
    pub(super) fn waits(&self, name: u64) -> bool {
        locked(&self.shared.waiting).contains(&name)
            && self.queue().iter().any(|queued| queued.id == name)
    }

    /// Something may lie in the inbox.
    pub(super) fn look_into_inbox(&self) {
        self.shared.inbox.notify_one();
    }

    /// Waits until something may lie in the inbox.
    pub(super) async fn inbox_hint(&self) {
        self.shared.inbox.notified().await;
    }

    /// Notes where the log asks something.
    pub(super) fn note_question(&self, entry: &LogEntry) {
        let Some(asked) = asked_in(&entry.event) else { return };
        let (call_id, proposal) = (asked.step_id.clone(), asked.proposal_hash);
        locked(&self.shared.asked).push(AskedPlace { place: entry.sequence, call_id, proposal });
    }

    /// The entries that ask what is not answered yet.
    pub(super) fn question_places(&self) -> Vec<u64> {
        let names = self.approvals().pending_names();
        let asked = locked(&self.shared.asked);
        let place = |(call_id, proposal): (String, ContentHash)| {
            asked.iter().rfind(|asked| asked.is_of(&call_id, proposal)).map(|asked| asked.place)
        };
        names.into_iter().filter_map(place).collect()
    }

    /// The open question that this entry asks.
    pub(super) fn question_at(&self, place: u64) -> Option<ApprovalRequest> {
        let pending = self.approvals().pending();
        let asked = locked(&self.shared.asked);
        let asked = asked.iter().find(|asked| asked.place == place)?;
        pending.into_iter().find(|it| asked.is_of(&it.step_id, it.proposal_hash))
    }

    /// The entry that asks a question, as soon as clients can see it.
    pub(super) async fn question_place(&self, request: &ApprovalRequest) -> Option<u64> {
        let mut changes = self.feed().watch();
        let found = || {
            let asked = locked(&self.shared.asked);
            let is_it = |it: &&AskedPlace| it.is_of(&request.step_id, request.proposal_hash);
            asked.iter().rfind(is_it).map(|asked| asked.place)
        };
        let looking = async {
            loop {
                changes.borrow_and_update();
                if let Some(place) = found() {
                    return Some(place);
                }
                changes.changed().await.ok()?;
            }
        };
        tokio::time::timeout(TELLING, looking).await.ok().flatten()
    }

    /// Returns when clients can see the log up to this entry, or the session is closed.
    pub(super) async fn shown_through(&self, sequence: u64) {
        let mut told = self.told.subscribe();
        // An entry that others have written is told with the next one.
        let _ = tokio::time::timeout(TELLING, told.wait_for(|told| *told >= sequence)).await;
    }

    /// What clients have chosen for it.
    pub(super) fn choice(&self) -> AgentNames {
        locked(&self.shared.choice).clone()
    }

    /// Clients have chosen something for it.
    pub(super) fn choose(&self, names: AgentNames) {
        locked(&self.shared.choice).extend(names);
        self.feed().tell();
    }

    /// What clients had chosen before still holds.
    pub(super) fn set_choice(&self, names: AgentNames) {
        *locked(&self.shared.choice) = names;
        self.feed().tell();
    }

    /// Tells that the session takes nothing any more.
    pub(super) fn begin_closing(&self) {
        self.shared.closing.send_replace(true);
    }

    /// Whether it takes nothing any more.
    pub(super) fn closing(&self) -> watch::Receiver<bool> {
        self.shared.closing.subscribe()
    }

    /// Another replica may have the session: the turn ends, its commands are killed, and the session is left.
    pub(super) fn lose(&self) {
        self.interrupt();
        let _ = self.commands.send(LiveCommand::Close);
    }

    /// Takes nothing any more unless a turn or a job runs. Answers whether it was so. What waits is in the inbox that
    /// replicas share.
    pub(super) fn shut_unless_working(&self) -> bool {
        let mut phase = self.phase();
        let is_idle = matches!(*phase, LivePhase::Idle | LivePhase::Paused)
            && self.executor().running_jobs() == 0;
        if is_idle {
            *phase = LivePhase::Closed;
        }
        is_idle || matches!(*phase, LivePhase::Closed)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
