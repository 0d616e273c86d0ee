//! The sessions of one or many projects, open for any number of clients.
//!
//! A session that is worked in is a [`LiveSession`]: a task that runs whether or not a client is
//! connected. All others are read from the store. The hub tells of every change by one signal; what
//! has changed, each reader finds out by itself, so that no reader can hold up another.

mod desk;
mod hub_error;
mod live_session;
mod live_task;
mod project_port;
mod queue_room;
mod session_feed;
mod shared_rules;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use protocol::Content;
use session::{Session, SessionParts};
use store::SessionId;
use team::UserId;
use tokio::sync::watch;
use tool_system::ToolExecutor;

use crate::cursor::MAX_FOLLOWED;

pub use desk::Desk;
pub use hub_error::HubError;
pub(crate) use live_session::{AgentChange, LiveSession, LiveState, Sent};
pub use project_port::{
    AgentEndpoint, CompletedCommand, ConfiguredFacts, CustomToolFile, KeyStatus, Mentionable,
    MentionableKind, ProjectPort,
};
pub(crate) use session_feed::SessionFeed;
use shared_rules::SharedRules;

/// Sessions that are open at a time. Each takes some hundred kilobytes; one in which nothing happens makes room for
/// another, and is taken up from the store when it is needed again. A stream can follow all of them.
const MOST_OPEN: usize = MAX_FOLLOWED;
/// A project that is served.
pub struct ServedProject {
    /// Its name, unique among those that are served.
    pub name: String,
    /// What its sessions are made of. Without an approver questions wait for clients.
    pub parts: SessionParts,
    /// The rest.
    pub port: Arc<dyn ProjectPort>,
    desks: Mutex<HashMap<Option<UserId>, Arc<Desk>>>,
    rules: Arc<SharedRules>,
}

impl ServedProject {
    /// A project under a name.
    pub fn new(name: String, mut parts: SessionParts, port: Arc<dyn ProjectPort>) -> Self {
        let rules = Arc::new(SharedRules::new(parts.tools.options.rule_keeper.take()));
        parts.tools.options.rule_keeper = Some(rules.clone());
        Self { name, parts, port, desks: Mutex::default(), rules }
    }

    /// Where calls by hand were made.
    pub(crate) fn desks(&self) -> Vec<Arc<Desk>> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// Tells readers that something has changed.
#[derive(Clone, Debug, Default)]
pub struct HubSignal(Arc<watch::Sender<HubChanges>>);

/// How often something has changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct HubChanges {
    /// What is true of whole sessions: which are open, what they do, what they ask. A reader that has seen this
    /// count need not look at all of them again because one says a word more.
    pub standing: u64,
}

impl HubSignal {
    pub(crate) fn tell(&self) {
        self.0.send_modify(|changes| changes.standing += 1);
    }

    /// A session has said or printed a little more, and nothing else has changed.
    pub(crate) fn tell_growth(&self) {
        self.0.send_modify(|_| ());
    }

    /// Is told of every change from now on.
    pub fn watch(&self) -> watch::Receiver<HubChanges> {
        self.0.subscribe()
    }
}

/// All sessions of all projects.
pub struct SessionHub {
    projects: Vec<Arc<ServedProject>>,
    signal: HubSignal,
    live: Mutex<HashMap<SessionId, Arc<LiveSession>>>,
    feeds: Mutex<HashMap<SessionId, Weak<SessionFeed>>>,
    /// What clients have chosen for sessions, which holds also after a session was closed here because
    /// nothing happened in it.
    choices: Mutex<HashMap<SessionId, AgentChange>>,
    /// Held while a session is opened: two clients that want the same one get the same one.
    opening: tokio::sync::Mutex<IsClosed>,
    /// Counts how often sessions were used, to tell which was not for long.
    uses: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum IsClosed {
    #[default]
    No,
    Yes,
}

impl SessionHub {
    /// A hub for these projects.
    pub fn new(projects: Vec<ServedProject>) -> Arc<Self> {
        let hub = Arc::new(Self {
            projects: projects.into_iter().map(Arc::new).collect(),
            signal: HubSignal::default(),
            live: Mutex::default(),
            feeds: Mutex::default(),
            choices: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            uses: AtomicU64::default(),
        });
        for project in &hub.projects {
            project.rules.tell(&hub, &project.name);
        }
        hub
    }

    /// Where a user calls tools by hand; the only one, who has no name, without a team.
    pub(crate) fn desk(&self, project: &ServedProject, user: Option<&UserId>) -> Arc<Desk> {
        let mut desks = project.desks.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let desk = Arc::new(Desk::new(user.cloned(), &project.parts));
            let (mut changes, signal) = (desk.approvals().changes(), self.signal.clone());
            tokio::spawn(async move {
                while changes.changed().await.is_ok() {
                    signal.tell();
                }
            });
            desk
        };
        Arc::clone(desks.entry(user.cloned()).or_insert_with(new))
    }

    /// Tells of every change.
    pub fn signal(&self) -> &HubSignal {
        &self.signal
    }

    /// The projects.
    pub fn projects(&self) -> &[Arc<ServedProject>] {
        &self.projects
    }

    /// The project that a session belongs to.
    pub async fn project_of(&self, id: &SessionId) -> Result<Arc<ServedProject>, HubError> {
        if let Some(live) = self.live_session(id) {
            return Ok(Arc::clone(live.project()));
        }
        for project in &self.projects {
            if project.parts.store.entry(id, 1).await?.is_some() {
                return Ok(Arc::clone(project));
            }
        }
        Err(HubError::UnknownSession { id: id.to_string() })
    }

    /// The session, if it is open here.
    pub fn live_session(&self, id: &SessionId) -> Option<Arc<LiveSession>> {
        self.live().get(id).cloned()
    }

    /// The sessions that are open here.
    pub fn live_sessions(&self) -> Vec<Arc<LiveSession>> {
        self.live().values().cloned().collect()
    }

    /// Begins a session, with `present` in place of what the project says. What the client has chosen also holds when
    /// the session is opened again. It is in the store when this returns.
    pub async fn begin(
        self: &Arc<Self>,
        project: &Arc<ServedProject>,
        present: AgentChange,
        choice: AgentChange,
    ) -> Result<Arc<LiveSession>, HubError> {
        let mut parts = project.parts.clone();
        present.apply(&mut parts);
        choice.clone().apply(&mut parts);
        let opening = self.opening.lock().await;
        refuse_if_closed(*opening)?;
        self.make_room().await?;
        let mut session = Session::begin(parts).await?;
        let feed = self.feed(project, session.id());
        let sources = live_task::Sources::of(&session);
        session.store_now().await?;
        self.choose(session.id(), choice);
        Ok(self.run(project, session, feed, sources))
    }

    /// The session, open here. One that is not is taken up from the store, with `present` in place of what the project
    /// says, unless a client has chosen otherwise.
    pub async fn open(
        self: &Arc<Self>,
        id: &SessionId,
        present: &AgentChange,
    ) -> Result<Arc<LiveSession>, HubError> {
        let opening = self.opening.lock().await;
        refuse_if_closed(*opening)?;
        if let Some(live) = self.live_session(id) {
            live.is_used(self.next_use());
            return Ok(live);
        }
        let project = self.project_of(id).await?;
        self.make_room().await?;
        let mut parts = project.parts.clone();
        present.clone().apply(&mut parts);
        if let Some(choice) = self.choices().get(id).cloned() {
            choice.apply(&mut parts);
        }
        let (session, _) = Session::resume(parts, id.clone()).await?;
        let feed = self.feed(&project, id);
        let sources = live_task::Sources::of(&session);
        // What resuming has written is in the store, and what is written from now on is told.
        feed.refresh().await?;
        Ok(self.run(&project, session, feed, sources))
    }

    /// Says something in a session, which is taken up from the store if it is not open here.
    pub async fn send(
        self: &Arc<Self>,
        id: &SessionId,
        content: Vec<Content>,
        present: &AgentChange,
    ) -> Result<Sent, HubError> {
        loop {
            let live = self.open(id, present).await?;
            match live.send(content.clone()).await {
                // It was closed just now because nothing happened in it.
                Err(HubError::Closing) => live.close().await,
                sent => return sent,
            }
        }
    }

    /// Has a session go on with another model, or in another role. It is taken up from the store if it is
    /// not open here.
    pub async fn change(
        self: &Arc<Self>,
        id: &SessionId,
        change: AgentChange,
        present: &AgentChange,
    ) -> Result<(), HubError> {
        loop {
            let live = self.open(id, present).await?;
            match live.change(change.clone()).await {
                // It was closed just now because nothing happened in it.
                Err(HubError::Closing) => live.close().await,
                Err(error) => return Err(error),
                Ok(()) => {
                    self.choose(id, change);
                    return Ok(());
                }
            }
        }
    }

    fn choose(&self, id: &SessionId, choice: AgentChange) {
        if choice.model.is_some() || choice.role.is_some() {
            self.choices().entry(id.clone()).or_default().extend(choice);
        }
    }

    fn choices(&self) -> MutexGuard<'_, HashMap<SessionId, AgentChange>> {
        self.choices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(
        self: &Arc<Self>,
        project: &Arc<ServedProject>,
        session: Session,
        feed: Arc<SessionFeed>,
        sources: live_task::Sources,
    ) -> Arc<LiveSession> {
        let (live, commands) =
            LiveSession::new(Arc::clone(project), &session, feed, self.signal.clone());
        let live = Arc::new(live);
        live.is_used(self.next_use());
        self.live().insert(live.id().clone(), Arc::clone(&live));
        let hub = Arc::downgrade(self);
        live_task::spawn(hub, Arc::clone(&live), session, sources, commands);
        self.signal.tell();
        live
    }

    /// Closes the idle session that was not used for the longest time, if there are too many.
    async fn make_room(&self) -> Result<(), HubError> {
        let mut live = self.live_sessions();
        if live.len() < MOST_OPEN {
            return Ok(());
        }
        live.sort_by_key(|live| live.used());
        let idle = live.iter().find(|live| live.shut_if_idle()).ok_or(HubError::TooManyOpen)?;
        idle.close().await;
        Ok(())
    }

    fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
    }

    /// Everything that runs calls in a project: its sessions that are open, and calls by hand.
    pub(crate) fn executors(&self, project: &str) -> Vec<ToolExecutor> {
        let by_hand = self.projects.iter().filter(|served| served.name == project);
        let desks: Vec<Arc<Desk>> = by_hand.flat_map(|served| served.desks()).collect();
        let by_hand = desks.iter().flat_map(|desk| desk.executors());
        let live = self.live_sessions().into_iter();
        let live = live.filter(|live| live.project().name == project);
        by_hand.chain(live.map(|live| live.executor())).collect()
    }

    /// What clients have not seen of a session. There is one for all clients, for as long as there are
    /// any.
    pub fn feed(&self, project: &ServedProject, id: &SessionId) -> Arc<SessionFeed> {
        let mut feeds = self.feeds();
        if let Some(feed) = feeds.get(id).and_then(Weak::upgrade) {
            return feed;
        }
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let store = Arc::clone(&project.parts.store);
        let feed = Arc::new(SessionFeed::new(id.clone(), store, self.signal.clone()));
        feeds.insert(id.clone(), Arc::downgrade(&feed));
        feed
    }

    fn known_feed(&self, id: &SessionId) -> Option<Arc<SessionFeed>> {
        self.feeds().get(id).and_then(Weak::upgrade)
    }

    fn feeds(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<SessionFeed>>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes a session here and deletes it.
    pub async fn delete(&self, id: &SessionId) -> Result<(), HubError> {
        let _opening = self.opening.lock().await;
        let project = self.project_of(id).await?;
        if let Some(live) = self.live_session(id) {
            live.close().await;
        }
        project.parts.store.delete(id).await?;
        self.choices().remove(id);
        if let Some(feed) = self.known_feed(id) {
            feed.deleted();
        }
        self.signal.tell();
        Ok(())
    }

    /// Ends all turns, and releases all sessions. Nothing is opened any more.
    pub async fn close(&self) {
        *self.opening.lock().await = IsClosed::Yes;
        for live in self.live_sessions() {
            live.interrupt();
        }
        for live in self.live_sessions() {
            live.close().await;
        }
    }

    pub(crate) fn forget(&self, id: &SessionId) {
        self.live().remove(id);
        self.signal.tell();
    }

    fn live(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<LiveSession>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refuse_if_closed(closed: IsClosed) -> Result<(), HubError> {
    if closed == IsClosed::Yes { Err(HubError::Closing) } else { Ok(()) }
}
