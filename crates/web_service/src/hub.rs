//! The sessions of one or many projects, open for any number of clients.
//!
//! A session that is worked in is a [`LiveSession`]: a task that runs whether or not a client is
//! connected. All others are read from the store. The hub tells of every change by one signal; what
//! has changed, each reader finds out by itself, so that no reader can hold up another.

mod agent_change;
mod conversation;
mod direct_call_answers;
mod direct_calls;
mod equal_answers;
mod hub_checks;
mod hub_error;
mod live_session;
mod live_shared;
mod live_task;
mod owner_budget;
mod project_port;
mod queue_room;
mod replicas;
mod served_project;
mod session_feed;
mod shared_rules;
mod user_sight;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use session::Session;
use store::SessionId;
use team::UserId;
use tokio::sync::watch;
use tool_system::ToolExecutor;

use crate::cursor::MAX_FOLLOWED;
use crate::operation::{HealthCheck, SessionCounters};

pub(crate) use agent_change::{AgentChange, AgentNames, PaidSession, Payment, SessionTeam};
pub(crate) use conversation::text_of;
pub(crate) use direct_call_answers::{AnswerByHand, name_by_hand};
pub use direct_calls::DirectCalls;
use hub_checks::{DirectoryCheck, DrainCheck, StoreCheck};
pub use hub_error::HubError;
pub(crate) use live_session::{LiveSession, LiveState, Sent};
use live_shared::Delivered;
pub use project_port::{
    AgentEndpoint, CompletedCommand, ConfiguredFacts, CustomToolFile, KeptWorktree, KeyStatus,
    Mentionable, MentionableKind, ProjectPort,
};
pub use replicas::ReplicaOptions;
pub(crate) use replicas::{OpenSession, QuestionElsewhere, QueuedText, ReplicaLink, RequestKey};
pub use served_project::ServedProject;
pub(crate) use session_feed::SessionFeed;

/// Sessions that are open at a time. Each takes some hundred kilobytes; one in which nothing happens makes room for
/// another, and is taken up from the store when it is needed again. A stream can follow all of them.
const MOST_OPEN: usize = MAX_FOLLOWED;
/// The same for a replica of a service that many people use, which may have to take up the sessions of others.
const MOST_TEAM_OPEN: usize = 4096;

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
    choices: Mutex<HashMap<SessionId, AgentNames>>,
    /// Held while a session is opened: two clients that want the same one get the same one.
    opening: tokio::sync::Mutex<IsClosed>,
    /// Counts how often sessions were used, to tell which was not for long.
    uses: AtomicU64,
    /// The other replicas of the service, if it can have any.
    link: Option<Arc<ReplicaLink>>,
    /// The users that sessions belong to, if they do.
    team: OnceLock<Arc<dyn SessionTeam>>,
    counters: Arc<SessionCounters>,
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
        Self::with_link(projects, None)
    }

    /// The hub of one of several replicas. The sessions of the projects are in the store of its exchange.
    pub fn shared(mut projects: Vec<ServedProject>, options: ReplicaOptions) -> Arc<Self> {
        for project in &mut projects {
            project.parts.exchange = Some(Arc::clone(&options.exchange));
        }
        let link = ReplicaLink::new(options);
        let hub = Self::with_link(projects, Some(Arc::clone(&link)));
        replicas::watch(&hub, &link);
        hub
    }

    fn with_link(projects: Vec<ServedProject>, link: Option<Arc<ReplicaLink>>) -> Arc<Self> {
        let counters = Arc::<SessionCounters>::default();
        let counted = |mut project: ServedProject| {
            project.parts.observers.push(counters.clone());
            Arc::new(project)
        };
        let hub = Arc::new(Self {
            projects: projects.into_iter().map(counted).collect(),
            signal: HubSignal::default(),
            live: Mutex::default(),
            feeds: Mutex::default(),
            choices: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            uses: AtomicU64::default(),
            link,
            team: OnceLock::new(),
            counters,
        });
        for project in &hub.projects {
            project.rules.tell(&hub, &project.name);
        }
        hub
    }

    /// Where a user calls tools by hand; the only one, who has no name, without a team.
    pub(crate) fn direct_calls(
        &self,
        project: &ServedProject,
        user: Option<&UserId>,
    ) -> Arc<DirectCalls> {
        project.direct_calls_of(user, &self.signal, self.team.get())
    }

    /// Sessions belong to these users from now on.
    pub(crate) fn belongs_to(&self, team: Arc<dyn SessionTeam>) {
        let _ = self.team.set(team);
    }

    pub(crate) fn team(&self) -> Option<&dyn SessionTeam> {
        self.team.get().map(|team| &**team)
    }

    /// Whether there can be other replicas.
    pub fn is_shared(&self) -> bool {
        self.link.is_some()
    }

    pub(crate) fn link(&self) -> Option<&Arc<ReplicaLink>> {
        self.link.as_ref()
    }

    fn linked(&self) -> Result<&Arc<ReplicaLink>, HubError> {
        self.link().ok_or(HubError::NoReplicas)
    }

    /// Tells of every change.
    pub fn signal(&self) -> &HubSignal {
        &self.signal
    }

    /// What happened in all sessions.
    pub(crate) fn counters(&self) -> &SessionCounters {
        &self.counters
    }

    /// Without what the service cannot work: the stores and the directories of all projects.
    pub(crate) fn checks(&self) -> Vec<Box<dyn HealthCheck>> {
        let mut checks: Vec<Box<dyn HealthCheck>> = vec![
            Box::new(StoreCheck(self.projects.clone())),
            Box::new(DirectoryCheck::new(self.projects.clone())),
        ];
        if let Some(link) = &self.link {
            checks.push(Box::new(DrainCheck(Arc::clone(link))));
        }
        checks
    }

    pub fn projects(&self) -> &[Arc<ServedProject>] {
        &self.projects
    }

    /// The project that a session belongs to.
    pub async fn project_of(&self, id: &SessionId) -> Result<Arc<ServedProject>, HubError> {
        if let Some(live) = self.live_session(id) {
            return Ok(Arc::clone(live.project()));
        }
        if let Some(remote) = self.remote_session(id) {
            return Ok(Arc::clone(remote.project()));
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

    /// Begins a session, which belongs to this user. It is in the store when this returns.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        project: &Arc<ServedProject>,
        owner: Option<&UserId>,
        choice: AgentNames,
    ) -> Result<Arc<LiveSession>, HubError> {
        let paid = owner.map(PaidSession::New);
        let change = AgentChange::named(self, project, paid, &choice).await?;
        let opening = self.opening.lock().await;
        refuse_if_closed(*opening)?;
        self.refuse_if_draining()?;
        self.make_room().await?;
        let id = SessionId::generate()?;
        let mut parts = project.parts_for(&id).await?;
        change.apply(&mut parts);
        let sharing = self.sharing();
        let mut session = Session::begin_as(parts, id)?;
        let feed = self.feed(project, session.id());
        let sources = live_task::Sources::of(&session);
        session.store_now().await?;
        Ok(self.run(project, session, feed, sources, sharing, choice))
    }

    /// The session, open here. One that is not is taken up from the store.
    pub async fn open(self: &Arc<Self>, id: &SessionId) -> Result<Arc<LiveSession>, HubError> {
        let opening = self.opening.lock().await;
        refuse_if_closed(*opening)?;
        if let Some(live) = self.live_session(id) {
            live.is_used(self.next_use());
            return Ok(live);
        }
        self.refuse_if_draining()?;
        let project = self.project_of(id).await?;
        self.make_room().await?;
        let choice = self.choice_of(id).await?;
        let mut parts = project.parts_for(id).await?;
        let paid = Some(PaidSession::Stored(id));
        let change = match AgentChange::named(self, &project, paid, &choice).await {
            Ok(change) => change,
            // What was chosen elsewhere may not be there here.
            Err(HubError::Named(_)) => {
                AgentChange::named(self, &project, paid, &AgentNames::default()).await?
            }
            Err(error) => return Err(error),
        };
        change.apply(&mut parts);
        let sharing = self.sharing();
        let (session, _) = Session::resume(parts, id.clone()).await?;
        let feed = self.feed(&project, id);
        let sources = live_task::Sources::of(&session);
        // What resuming has written is in the store, and what is written from now on is told.
        feed.refresh().await?;
        Ok(self.run(&project, session, feed, sources, sharing, choice))
    }

    /// The right to share a session that is about to be claimed.
    fn sharing(&self) -> Option<live_task::Sharing> {
        let link = Arc::clone(self.link()?);
        let lost = link.exchange.lost();
        Some(live_task::Sharing { link, lost })
    }

    fn refuse_if_draining(&self) -> Result<(), HubError> {
        if self.is_draining() { Err(HubError::Closing) } else { Ok(()) }
    }

    fn choose(&self, id: &SessionId, choice: AgentNames) {
        if !choice.is_empty() {
            self.choices().entry(id.clone()).or_default().extend(choice);
        }
    }

    fn choices(&self) -> MutexGuard<'_, HashMap<SessionId, AgentNames>> {
        self.choices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(
        self: &Arc<Self>,
        project: &Arc<ServedProject>,
        session: Session,
        feed: Arc<SessionFeed>,
        sources: live_task::Sources,
        sharing: Option<live_task::Sharing>,
        choice: AgentNames,
    ) -> Arc<LiveSession> {
        let (live, commands) = LiveSession::new(Arc::clone(project), &session, feed);
        let live = Arc::new(live);
        self.choose(session.id(), choice.clone());
        live.choose(choice);
        live.is_used(self.next_use());
        self.live().insert(live.id().clone(), Arc::clone(&live));
        self.link().into_iter().for_each(|link| link.forget(live.id()));
        let hub = Arc::downgrade(self);
        live_task::spawn(hub, Arc::clone(&live), session, sources, commands, sharing);
        live.feed().tell();
        live
    }

    /// Closes the idle session that was not used for the longest time, if there are too many.
    async fn make_room(&self) -> Result<(), HubError> {
        let mut live = self.live_sessions();
        if live.len() < if self.is_shared() { MOST_TEAM_OPEN } else { MOST_OPEN } {
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
        let direct: Vec<Arc<DirectCalls>> =
            by_hand.flat_map(|served| served.all_direct_calls()).collect();
        let by_hand = direct.iter().flat_map(|calls| calls.executors());
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

    fn known_feeds(&self) -> Vec<Arc<SessionFeed>> {
        self.feeds().values().filter_map(Weak::upgrade).collect()
    }

    /// Closes a session here and deletes it.
    async fn delete_here(&self, id: &SessionId) -> Result<Option<KeptWorktree>, HubError> {
        let _opening = self.opening.lock().await;
        let project = self.project_of(id).await?;
        if let Some(live) = self.live_session(id) {
            live.close().await;
        }
        if let Some(team) = self.team() {
            team.keep_of(&project, id).await?;
        }
        project.parts.store.delete(id).await?;
        self.choices().remove(id);
        self.gone(id);
        Ok(project.port.session_gone(id).await)
    }

    /// Tells that a session was deleted.
    fn gone(&self, id: &SessionId) {
        self.link().into_iter().for_each(|link| link.forget(id));
        if let Some(feed) = self.known_feed(id) {
            feed.deleted();
        }
        self.signal.tell();
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
        match self.known_feed(id) {
            Some(feed) => feed.tell(),
            None => self.signal.tell(),
        }
    }

    fn live(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<LiveSession>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refuse_if_closed(closed: IsClosed) -> Result<(), HubError> {
    if closed == IsClosed::Yes { Err(HubError::Closing) } else { Ok(()) }
}
