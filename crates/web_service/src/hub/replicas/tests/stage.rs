//! Two replicas of a small project, with a model that follows a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use context_manager::{
    Budget, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream,
    StopReason,
};
use futures_util::{StreamExt as _, stream};
use protocol::{AgentRole, LogEntry, SessionEvent, ToolCall, ToolError};
use serde_json::Value;
use session::{Model, SessionParts, SystemPromptService};
use store::{Exchange, PostgresDatabase, PostgresOptions, SessionId, SqliteStore, Store};
use testkit::Fixture;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tool_system::{
    ExecutorOptions, History, JournalPerformer, OnDemand, ProjectTools, ToolRegistry,
};
use workspace::{Journal, JournalOptions, Workspace};

use super::memory_exchange::{MemoryExchange, SharedMemory};
use crate::hub::{
    AgentEndpoint, CompletedCommand, ConfiguredFacts, CustomToolFile, DirectCalls, LiveState,
    Mentionable, ProjectPort, ReplicaOptions, ServedProject, SessionHub,
};

/// How long a test waits for what must come.
pub(super) const WATCHDOG: Duration = Duration::from_secs(20);

/// One answer of the scripted model.
pub(super) enum Reply {
    Complete(Vec<ModelEvent>),
    /// Nothing ever comes.
    Silence,
}

pub(super) fn says(text: &str) -> Reply {
    let text = ModelEvent::Text(text.to_owned());
    Reply::Complete(vec![text, ModelEvent::Done(StopReason::EndOfTurn)])
}

pub(super) fn calls(id: &str, tool: &str, arguments: Value) -> Reply {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let call = ModelEvent::ToolCall(ToolCall::new(id, tool, arguments));
    Reply::Complete(vec![call, ModelEvent::Done(StopReason::ToolUse)])
}

struct Scripted {
    replies: Mutex<VecDeque<Reply>>,
    /// How often it was asked.
    asked: watch::Sender<usize>,
}

#[async_trait]
impl ModelProvider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn stream(&self, _: &ModelRequest) -> Result<ModelStream, ModelError> {
        let reply = self.replies.lock().unwrap().pop_front();
        self.asked.send_modify(|asked| *asked += 1);
        match reply {
            Some(Reply::Complete(events)) => Ok(stream::iter(events.into_iter().map(Ok)).boxed()),
            Some(Reply::Silence) => Ok(stream::pending().boxed()),
            None => Err(ModelError::new(ModelErrorKind::InvalidRequest, "the script is over")),
        }
    }
}

/// A project without configuration.
#[derive(Default)]
struct Bare {
    /// The tools of its sessions, if they work in directories of their own.
    own_tools: Option<ProjectTools>,
}

#[async_trait]
impl ProjectPort for Bare {
    fn is_reachable(&self) -> bool {
        true
    }

    fn revoke(&self, _: &str) -> Result<bool, ToolError> {
        Ok(false)
    }

    async fn models(&self) -> Vec<String> {
        Vec::new()
    }

    async fn model(&self, name: &str) -> Result<Model, ToolError> {
        Err(ToolError::new(protocol::ErrorCode::InvalidArguments, format!("no model `{name}`")))
    }

    async fn model_with_keys(
        &self,
        _: Option<&str>,
        _: &[(String, team::ProviderKey)],
    ) -> Result<Option<Model>, ToolError> {
        Ok(None)
    }

    fn configured(&self) -> ConfiguredFacts {
        ConfiguredFacts::default()
    }

    fn custom_tools(&self) -> Vec<CustomToolFile> {
        Vec::new()
    }

    fn trust(&self, _: &str, _: &str) -> Result<String, ToolError> {
        Ok(String::new())
    }

    async fn mentions(&self, _: &str) -> Vec<Mentionable> {
        Vec::new()
    }

    async fn symbols(&self, _: &str) -> (Vec<Mentionable>, bool) {
        (Vec::new(), true)
    }

    fn commands(&self, _: &str, _: &str) -> Vec<CompletedCommand> {
        Vec::new()
    }

    async fn tools_for(&self, _: &SessionId) -> Result<Option<ProjectTools>, ToolError> {
        Ok(self.own_tools.clone())
    }

    fn agents(&self, _: &DirectCalls, _: &str, _: &CancellationToken) -> Arc<dyn AgentEndpoint> {
        unreachable!("no agent connects")
    }
}

/// Two hubs that share their sessions.
pub(super) struct TwoReplicas {
    pub(super) project: Fixture,
    pub(super) first: Arc<SessionHub>,
    pub(super) second: Arc<SessionHub>,
    model: Arc<Scripted>,
    store: Arc<dyn Store>,
    exchange: Arc<dyn Exchange>,
    _database: Option<testkit::PostgresDatabase>,
}

/// What the replicas share.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sharing {
    /// Memory, and a store of SQLite.
    Memory,
    /// A real PostgreSQL.
    Postgres,
}

/// A replica's own way to what they share.
type Side = (Arc<dyn Store>, Arc<dyn Exchange>);

async fn in_memory(project: &Fixture) -> [Side; 2] {
    let file = project.root().with_file_name("sessions.db");
    let shared = SharedMemory::new();
    let open = || async { shared.hinting(Arc::new(SqliteStore::open(&file).await.unwrap())) };
    let (first, second) = (open().await, open().await);
    ["first", "second"]
        .into_iter()
        .zip([first, second])
        .map(|(name, store)| {
            let exchange: Arc<dyn Exchange> =
                MemoryExchange::new(&shared, Arc::clone(&store), name);
            (store, exchange)
        })
        .collect::<Vec<_>>()
        .try_into()
        .unwrap_or_else(|_| unreachable!("two sides"))
}

async fn in_postgres(url: &str) -> [Side; 2] {
    let open = |name: &'static str| async move {
        let options = PostgresOptions::new(url, name);
        let database = PostgresDatabase::open(options).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(database.store("project"));
        (store, Arc::new(database) as Arc<dyn Exchange>)
    };
    [open("first").await, open("second").await]
}

impl TwoReplicas {
    /// The replicas have one model, which gives these replies to whichever asks. None where there is no PostgreSQL.
    pub(super) async fn new(
        sharing: Sharing,
        replies: impl IntoIterator<Item = Reply>,
    ) -> Option<Self> {
        let project = Fixture::new("//- /notes.txt\nfirst\n");
        let replies = Mutex::new(replies.into_iter().collect());
        let model = Arc::new(Scripted { replies, asked: watch::Sender::new(0) });
        let (sides, database) = match sharing {
            Sharing::Memory => (in_memory(&project).await, None),
            Sharing::Postgres => {
                let database = testkit::Postgres::shared()?.database();
                (in_postgres(database.url()).await, Some(database))
            }
        };
        let (store, exchange) = sides[1].clone();
        let mut state = 0;
        let [first, second] = sides.map(|(store, exchange)| {
            state += 1;
            let parts = parts(&project, &model, store, &format!("state-{state}"));
            let served = ServedProject::new(
                "project".to_owned(),
                parts,
                String::new(),
                Arc::new(Bare::default()),
            );
            let drain_time = Duration::ZERO;
            SessionHub::shared(vec![served], ReplicaOptions { exchange, drain_time })
        });
        Some(Self { project, first, second, model, store, exchange, _database: database })
    }

    /// A hub of its own, where sessions work in directories of their own.
    pub(super) fn with_own_directories(&self) -> Arc<SessionHub> {
        let parts = parts(&self.project, &self.model, Arc::clone(&self.store), "state-own");
        let port = Bare { own_tools: Some(parts.tools.clone()) };
        let name = "project".to_owned();
        SessionHub::new(vec![ServedProject::new(name, parts, String::new(), Arc::new(port))])
    }

    /// The log of a session, as it is stored.
    pub(super) async fn log(&self, id: &SessionId) -> Vec<LogEntry> {
        self.store.load(id).await.map(|it| it.entries).unwrap_or_default()
    }

    /// Waits until the model was asked so often.
    pub(super) async fn asked(&self, count: usize) {
        let mut asked = self.model.asked.subscribe();
        let waiting = asked.wait_for(|asked| *asked >= count);
        tokio::time::timeout(WATCHDOG, waiting).await.unwrap().unwrap();
    }

    /// Waits until a replica shows something.
    pub(super) async fn until(
        &self,
        hub: &SessionHub,
        what: &str,
        is_so: impl Fn(&SessionHub) -> bool,
    ) {
        let mut signal = hub.signal().watch();
        let waiting = async {
            while !is_so(hub) {
                signal.changed().await.unwrap();
            }
        };
        tokio::time::timeout(WATCHDOG, waiting).await.unwrap_or_else(|_| panic!("{what}: never"));
    }

    pub(super) async fn second_knows(&self, id: &SessionId) {
        self.until(&self.second, "the session is known", |hub| hub.open_session(id).is_some())
            .await;
    }

    pub(super) async fn state(&self, hub: &SessionHub, id: &SessionId, state: LiveState) {
        self.until(hub, "the state", |hub| {
            hub.open_session(id).is_some_and(|open| open.brief().state == state)
        })
        .await;
    }

    pub(super) async fn questions(&self, hub: &SessionHub, id: &SessionId, count: usize) {
        self.until(hub, "the questions", |hub| {
            hub.open_session(id).is_some_and(|open| open.questions().len() == count)
        })
        .await;
    }

    /// Waits until so many turns have ended.
    pub(super) async fn ended_turns(&self, id: &SessionId, count: usize) {
        let mut hints = self.exchange.hints();
        let waiting = async {
            loop {
                let log = self.log(id).await;
                let ended = log.iter().filter(|it| matches!(it.event, SessionEvent::TurnEnded(_)));
                if ended.count() >= count {
                    return;
                }
                // One that was missed is as good as any.
                let _ = hints.recv().await;
            }
        };
        tokio::time::timeout(WATCHDOG, waiting).await.unwrap();
    }
}

fn parts(
    project: &Fixture,
    model: &Arc<Scripted>,
    store: Arc<dyn Store>,
    state: &str,
) -> SessionParts {
    let workspace = Arc::new(Workspace::open(project.root()).unwrap());
    let state = project.root().with_file_name(state);
    let journal = Journal::open(Arc::clone(&workspace), &state, JournalOptions::default());
    let journal = Arc::new(OnDemand::from(Arc::new(journal.unwrap())));
    let options = ExecutorOptions {
        performer: Some(Arc::new(JournalPerformer::new(Arc::clone(&journal)))),
        history: Some(History::of(journal)),
        ..ExecutorOptions::default()
    };
    let tools = ProjectTools::new(ToolRegistry::builtin(), workspace, options);
    SessionParts {
        observers: Vec::new(),
        exchange: None,
        store,
        tools,
        approver: None,
        root: "/project".to_owned(),
        model: Model {
            provider: model.clone(),
            name: "scripted-1".to_owned(),
            max_tokens: 1_000,
            context_tokens: 200_000,
            effort: None,
            prices: None,
            calls_tools: true,
            images: None,
        },
        role: AgentRole::Actor,
        prompts: SystemPromptService::default(),
        turn_limit: 10,
        budget: Budget::default(),
        shared_budget: None,
    }
}
