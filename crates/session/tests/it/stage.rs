//! A conversation on a stage: the project, its tools and the store are real, the model follows a
//! script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_manager::{
    Budget, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream,
    StopReason, Usage,
};
use futures_util::{StreamExt as _, stream};
use protocol::{
    AgentRole, ApprovalRequest, ApprovalResponse, Content, LogEntry, SessionEvent, ToolCall,
    ToolError, ToolResult,
};
use serde_json::Value;
use session::{Model, Session, SessionParts, SystemPromptService, TurnOutcome};
use store::{SqliteStore, Store};
use testkit::Fixture;
use tokio_util::sync::CancellationToken;
use tool_system::{
    Approver, ExecutorOptions, History, JournalPerformer, OnDemand, ProjectTools, ToolRegistry,
    Vocabulary,
};
use workspace::{Journal, JournalOptions, Workspace};

/// One answer of the scripted model.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Complete(Vec<ModelEvent>),
    /// Nothing ever comes.
    Silence,
    /// The provider refuses, in these words.
    Fails(ModelErrorKind, &'static str),
}

/// What every answer takes.
pub(crate) const USED: Usage = Usage { input: 10, output: 5, cache_read: 0, cache_write: 0 };

pub(crate) fn says(text: &str) -> Reply {
    let text = ModelEvent::Text(text.to_owned());
    Reply::Complete(vec![text, ModelEvent::Usage(USED), ModelEvent::Done(StopReason::EndOfTurn)])
}

pub(crate) fn calls(id: &str, tool: &str, arguments: Value) -> Reply {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let call = ModelEvent::ToolCall(ToolCall::new(id, tool, arguments));
    Reply::Complete(vec![call, ModelEvent::Usage(USED), ModelEvent::Done(StopReason::ToolUse)])
}

/// A model that follows a script and remembers what it was asked.
pub(crate) struct Scripted {
    name: &'static str,
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<ModelRequest>>,
    /// Told at every request.
    asked: tokio::sync::Notify,
}

impl Scripted {
    pub(crate) fn new(name: &'static str, replies: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        let replies = Mutex::new(replies.into_iter().collect());
        Arc::new(Self { name, replies, requests: Mutex::default(), asked: Default::default() })
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits for so many requests.
    pub(crate) async fn wait_for(&self, requests: usize) {
        while self.requests.lock().unwrap().len() < requests {
            self.asked.notified().await;
        }
    }

    pub(crate) fn model(self: &Arc<Self>) -> Model {
        Model {
            provider: self.clone(),
            name: format!("{}-1", self.name),
            max_tokens: 1_000,
            context_tokens: 200_000,
            effort: None,
            prices: None,
            calls_tools: true,
            images: None,
        }
    }
}

#[async_trait]
impl ModelProvider for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        self.requests.lock().unwrap().push(request.clone());
        self.asked.notify_one();
        match self.replies.lock().unwrap().pop_front() {
            Some(Reply::Complete(events)) => Ok(stream::iter(events.into_iter().map(Ok)).boxed()),
            Some(Reply::Silence) => Ok(stream::pending().boxed()),
            Some(Reply::Fails(kind, message)) => Err(failure(kind, message)),
            None => Err(failure(ModelErrorKind::InvalidRequest, "the script is over")),
        }
    }
}

fn failure(kind: ModelErrorKind, message: &str) -> ModelError {
    ModelError::new(kind, message)
}

/// The tool names of a request.
pub(crate) fn offered(request: &ModelRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// The result of a call in a request.
#[track_caller]
pub(crate) fn result_of(request: &ModelRequest, id: &str) -> ToolResult {
    let mut parts = request.messages.iter().flat_map(|message| &message.content);
    let found = parts.find_map(|content| match content {
        Content::ToolResult { tool_use_id, result, .. } if tool_use_id == id => {
            Some(result.clone())
        }
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no result of {id}"))
}

/// A user who always gives the same answer: yes, or no for this reason.
pub(crate) struct FixedApprover(pub(crate) Option<&'static str>);

#[async_trait]
impl Approver for FixedApprover {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        Ok(match self.0 {
            None => request.approve(),
            Some(reason) => ApprovalResponse::no(Some(reason.to_owned())),
        })
    }
}

/// A project, and everything that conversations about it are made of.
pub(crate) struct Stage {
    pub(crate) project: Fixture,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) parts: SessionParts,
}

impl Stage {
    /// An actor in a small project, with an approver that says yes.
    pub(crate) async fn new(model: &Arc<Scripted>) -> Self {
        Self::speaking(model, Vocabulary::Standard).await
    }

    pub(crate) async fn speaking(model: &Arc<Scripted>, vocabulary: Vocabulary) -> Self {
        let project = Fixture::new("//- /notes.txt\nfirst\n");
        let workspace = Arc::new(Workspace::open(project.root()).unwrap());
        let state = project.root().with_file_name("state");
        let journal = Journal::open(Arc::clone(&workspace), &state, JournalOptions::default());
        let journal = Arc::new(OnDemand::from(Arc::new(journal.unwrap())));
        let options = ExecutorOptions {
            vocabulary,
            performer: Some(Arc::new(JournalPerformer::new(Arc::clone(&journal)))),
            history: Some(History::of(journal)),
            ..ExecutorOptions::default()
        };
        let tools = ProjectTools::new(ToolRegistry::builtin(), workspace, options);
        let store = SqliteStore::open(project.root().with_file_name("sessions.db")).await;
        let store: Arc<dyn Store> = Arc::new(store.unwrap());
        let parts = SessionParts {
            exchange: None,
            store: Arc::clone(&store),
            tools,
            approver: Some(Arc::new(FixedApprover(None))),
            root: "/project".to_owned(),
            model: model.model(),
            role: AgentRole::Actor,
            prompts: SystemPromptService::default(),
            turn_limit: 10,
            budget: Budget::default(),
            shared_budget: None,
            observers: Vec::new(),
        };
        Self { project, store, parts }
    }

    pub(crate) async fn begin(&self) -> Session {
        Session::begin(self.parts.clone()).await.unwrap()
    }

    /// The log of a session, as it is stored.
    pub(crate) async fn log(&self, session: &Session) -> Vec<LogEntry> {
        self.store.load(session.id()).await.unwrap().entries
    }
}

/// Sends a message that is not cancelled.
pub(crate) async fn send(session: &mut Session, text: &str) -> TurnOutcome {
    session.send(message(text), &CancellationToken::new()).await.unwrap()
}

pub(crate) fn message(text: &str) -> Vec<Content> {
    vec![Content::Text { text: text.into() }]
}

/// The events of a log by their names, those of sub-agents indented.
pub(crate) fn story(log: &[LogEntry]) -> String {
    log.iter().map(|entry| format!("{}\n", named(&entry.event))).collect()
}

fn named(event: &SessionEvent) -> String {
    match event {
        SessionEvent::Nested { entry, .. } => format!("  {}", named(&entry.event)),
        event => serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned(),
    }
}
