//! The task of a session: it runs turns one after the other, whether or not a client is connected, and
//! keeps the feed up to date.

use std::sync::{Arc, Weak};
use std::time::Duration;

use protocol::{ActivityData, LogEntry, TurnEnd};
use session::{Session, SessionError, TurnOutcome};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tool_system::Subscription;

use super::live_session::{LiveCommand, LivePhase, Taken};
use super::replicas::{ReplicaLink, publish, work_on_inbox};
use super::{HubError, LiveSession, SessionHub};

/// How long a session in which nothing happens stays open. Until then "always, in this session" holds;
/// afterwards a terminal can take the session up.
const IDLE_TIME: Duration = Duration::from_secs(15 * 60);

/// How long the end of a session waits for other replicas to be told of it.
const PUBLISHING: Duration = Duration::from_secs(2);

/// What a session tells while it runs.
pub(super) struct Sources {
    written: UnboundedReceiver<LogEntry>,
    activity: Subscription,
    questions: watch::Receiver<()>,
}

/// The sources of a session that has another model or role, which are others but for the log.
type NewSources = (Subscription, watch::Receiver<()>);

fn new_sources(session: &Session) -> NewSources {
    (session.executor().activity().subscribe_all(), session.approvals().changes())
}

impl Sources {
    /// From now on. What was written before is in the store.
    pub(super) fn of(session: &Session) -> Self {
        let (activity, questions) = new_sources(session);
        Self { written: session.log().watch(), activity, questions }
    }
}

/// Where a session is shared with other replicas, and what ends the right to do so.
pub(super) struct Sharing {
    pub(super) link: Arc<ReplicaLink>,
    /// Fires when this replica may have lost the session to another.
    pub(super) lost: CancellationToken,
}

pub(super) fn spawn(
    hub: Weak<SessionHub>,
    live: Arc<LiveSession>,
    session: Session,
    sources: Sources,
    commands: UnboundedReceiver<LiveCommand>,
    sharing: Option<Sharing>,
) {
    let is_draining = sharing.as_ref().map(|sharing| Arc::clone(&sharing.link));
    let published = sharing.map(|sharing| share(&hub, &live, &session, sharing));
    let done = CancellationToken::new();
    let (renewed, renewals) = unbounded_channel();
    let telling = tokio::spawn(tell(Arc::clone(&live), sources, renewals, done.clone()));
    tokio::spawn(async move {
        let session = work(&live, session, commands, &renewed, is_draining.as_deref()).await;
        live.begin_closing();
        if let Some(published) = published {
            // Before others can have the session. A database that does not answer does not hold up the end.
            let _ = tokio::time::timeout(PUBLISHING, published).await;
        }
        session.close().await;
        done.cancel();
        // The feed has everything before clients are told that the session is closed.
        let _ = telling.await;
        if let Some(hub) = hub.upgrade() {
            hub.forget(live.id());
        }
        live.closed();
    });
}

/// Shares a session with other replicas until it is closed. What is returned ends when they know that it is.
fn share(
    hub: &Weak<SessionHub>,
    live: &Arc<LiveSession>,
    session: &Session,
    sharing: Sharing,
) -> JoinHandle<()> {
    let Sharing { link, lost } = sharing;
    tokio::spawn(work_on_inbox(Weak::clone(hub), Arc::clone(&link), Arc::clone(live)));
    let (losing, broken) = (Arc::clone(live), session.log().broken().clone());
    tokio::spawn(async move {
        let mut closing = losing.closing();
        tokio::select! {
            () = lost.cancelled() => losing.lose(),
            // The log may say other things than what is known here, so it has to be read again.
            () = broken.cancelled() => losing.lose(),
            _ = closing.wait_for(|closing| *closing) => {}
        }
    });
    tokio::spawn(publish(link, Arc::clone(live)))
}

/// Does what clients ask for, until the session is to be closed.
async fn work(
    live: &LiveSession,
    mut session: Session,
    mut commands: UnboundedReceiver<LiveCommand>,
    renewed: &UnboundedSender<NewSources>,
    link: Option<&ReplicaLink>,
) -> Session {
    loop {
        let command = match tokio::time::timeout(IDLE_TIME, commands.recv()).await {
            Ok(command) => command,
            Err(_) if live.shut_if_idle() => break,
            Err(_) => continue,
        };
        match command {
            None | Some(LiveCommand::Close) => break,
            Some(LiveCommand::Turn(cancel)) => turns(live, &mut session, cancel, link).await,
            Some(LiveCommand::Continue { cancel, item }) => {
                let outcome = session.taking(items(item)).await.continue_turn(&cancel).await;
                after(live, &mut session, outcome, link).await;
            }
            Some(LiveCommand::Rewind { to, files, item, done }) => {
                let result = session.taking(items(item)).await.rewind(to, files).await;
                let result = result.map_err(HubError::from);
                *live.phase() = LivePhase::Idle;
                live.feed().tell();
                let _ = done.send(result);
            }
            Some(LiveCommand::Change { change, item, before, done }) => {
                let session = session.taking(items(item)).await;
                let result = session.change_agent(change.model, change.role).await;
                let _ = renewed.send(new_sources(session));
                live.renew(session);
                *live.phase() = before;
                live.feed().tell();
                let _ = done.send(result.map_err(HubError::from));
            }
        }
    }
    *live.phase() = LivePhase::Closed;
    session
}

fn items(item: Option<i64>) -> Vec<i64> {
    item.into_iter().collect()
}

/// Works on the queue, message by message.
async fn turns(
    live: &LiveSession,
    session: &mut Session,
    cancel: CancellationToken,
    link: Option<&ReplicaLink>,
) {
    match live.first_queued() {
        Some(taken) => {
            let outcome = turn(session, taken, &cancel).await;
            after(live, session, outcome, link).await;
        }
        // It was withdrawn.
        None => {
            *live.phase() = LivePhase::Idle;
            live.feed().tell();
        }
    }
}

/// One turn. Whoever waits for the message is told as soon as it is written, or cannot be.
async fn turn(
    session: &mut Session,
    Taken { content, waiter, item }: Taken,
    cancel: &CancellationToken,
) -> Result<TurnOutcome, SessionError> {
    let said = session.taking(items(item)).await.say(content).await;
    if let Some(waiter) = waiter {
        // A client that has gone away is told by the log.
        let _ = waiter.send(said.as_ref().map(|place| Some(*place)).map_err(ToString::to_string));
    }
    said?;
    session.answer(cancel).await
}

/// After a turn: the next message, or what the session does until there is one.
async fn after(
    live: &LiveSession,
    session: &mut Session,
    mut outcome: Result<TurnOutcome, SessionError>,
    link: Option<&ReplicaLink>,
) {
    loop {
        live.set_failure(outcome.as_ref().err().map(ToString::to_string));
        let next = {
            // Under the lock: a message that comes now is seen here, or begins a turn of its own.
            let mut phase = live.phase();
            let goes_on = matches!(&outcome, Ok(TurnOutcome::Ended(end)) if *end != TurnEnd::Cancelled)
                    // What waits is in the inbox that replicas share.
                    && !link.is_some_and(ReplicaLink::is_draining);
            match live.inbox().waiting().is_empty() {
                // What waits after an interruption goes with the next message.
                false if goes_on => {
                    let cancel = CancellationToken::new();
                    *phase = LivePhase::Working(cancel.clone());
                    Some(cancel)
                }
                _ => {
                    *phase = match &outcome {
                        Ok(TurnOutcome::Paused(_)) => LivePhase::Paused,
                        _ => LivePhase::Idle,
                    };
                    None
                }
            }
        };
        live.feed().tell();
        let Some(cancel) = next else { return };
        let Some(taken) = live.first_queued() else { continue };
        outcome = turn(session, taken, &cancel).await;
    }
}

/// Tells clients what happens, until `done` and everything that was written before is told.
async fn tell(
    live: Arc<LiveSession>,
    mut sources: Sources,
    mut renewals: UnboundedReceiver<NewSources>,
    done: CancellationToken,
) {
    loop {
        tokio::select! {
            biased;
            Some(entry) = sources.written.recv() => written(&live, &entry).await,
            Some(renewal) = renewals.recv() => (sources.activity, sources.questions) = renewal,
            Some(event) = sources.activity.next() => match &event.data {
                ActivityData::ToolOutputChunk { chunk } => {
                    live.feed().grow(|feed| feed.output(&event.call_id, chunk));
                }
                ActivityData::ToolCallEnd { preview, .. } => {
                    live.feed().grow(|feed| feed.preview(&event.call_id, preview));
                }
                _ => {}
            },
            Ok(()) = sources.questions.changed() => live.feed().tell(),
            () = done.cancelled() => break,
        }
    }
    while let Ok(entry) = sources.written.try_recv() {
        written(&live, &entry).await;
    }
}

async fn written(live: &LiveSession, entry: &LogEntry) {
    live.note_question(entry);
    live.feed().take(entry).await;
    live.told(entry.sequence);
}
