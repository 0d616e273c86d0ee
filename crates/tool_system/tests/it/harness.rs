//! A project and an executor on it.

use std::sync::{Arc, Mutex};

use protocol::{ApprovalRequest, ApprovalResponse, ToolCall, ToolError, ToolResult};
use serde_json::Value;
use testkit::Fixture;
use tokio_util::sync::CancellationToken;
use tool_system::prelude::async_trait;
use tool_system::{
    Approver, ExecutorOptions, JournalPerformer, Limits, Tool, ToolExecutor, ToolRegistry,
    Vocabulary,
};
use workspace::{Journal, JournalOptions, Workspace};

/// A person who answers from a list, yes once it is used up, and remembers what was asked.
#[derive(Default)]
pub(crate) struct Person {
    answers: Mutex<Vec<ApprovalResponse>>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Person {
    pub(crate) fn answering(answers: impl IntoIterator<Item = ApprovalResponse>) -> Arc<Self> {
        let mut answers: Vec<_> = answers.into_iter().collect();
        answers.reverse();
        Arc::new(Self { answers: Mutex::new(answers), asked: Mutex::default() })
    }

    /// What was asked since the last look.
    pub(crate) fn asked(&self) -> Vec<ApprovalRequest> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

#[async_trait]
impl Approver for Person {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        self.asked.lock().unwrap().push(request.clone());
        Ok(self.answers.lock().unwrap().pop().unwrap_or_else(ApprovalResponse::yes))
    }
}

pub(crate) struct Bench {
    pub(crate) project: Fixture,
    pub(crate) executor: ToolExecutor,
    pub(crate) person: Arc<Person>,
}

impl Bench {
    pub(crate) fn new(fixture: &str) -> Self {
        Self::with(fixture, ExecutorOptions::default(), Vec::new())
    }

    pub(crate) fn speaking(vocabulary: Vocabulary, fixture: &str) -> Self {
        Self::with(fixture, ExecutorOptions { vocabulary, ..Default::default() }, Vec::new())
    }

    pub(crate) fn limited(fixture: &str, limits: Limits) -> Self {
        Self::with(fixture, ExecutorOptions { limits, ..Default::default() }, Vec::new())
    }

    pub(crate) fn with(fixture: &str, options: ExecutorOptions, more: Vec<Arc<dyn Tool>>) -> Self {
        let project = Fixture::new(fixture);
        let workspace = Arc::new(Workspace::open(project.root()).unwrap());
        let mut registry = ToolRegistry::builtin();
        more.into_iter().for_each(|tool| registry.register(tool));
        let executor = ToolExecutor::new(Arc::new(registry), workspace, options);
        Self { project, executor, person: Person::answering([]) }
    }

    /// A project that can be changed, by a person who says yes to everything.
    pub(crate) fn writable(fixture: &str) -> Self {
        Self::asking(fixture, Person::answering([]), ExecutorOptions::default())
    }

    /// A project that can be changed, with a person to ask.
    pub(crate) fn asking(fixture: &str, person: Arc<Person>, mut options: ExecutorOptions) -> Self {
        let project = Fixture::new(fixture);
        let workspace = Arc::new(Workspace::open(project.root()).unwrap());
        let state = project.root().with_file_name("state");
        let journal =
            Journal::open(Arc::clone(&workspace), &state, JournalOptions::default()).unwrap();
        let journal = Arc::new(tool_system::OnDemand::from(Arc::new(journal)));
        options.session = "s1".into();
        options.approver = person.clone();
        options.performer = Some(Arc::new(JournalPerformer::new(Arc::clone(&journal))));
        options.journal = Some(journal);
        let executor = ToolExecutor::new(Arc::new(ToolRegistry::builtin()), workspace, options);
        Self { project, executor, person }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        let call = ToolCall::new("c1", name, arguments.as_object().unwrap().clone());
        self.executor.execute_tool(&call, &CancellationToken::new()).await
    }

    pub(crate) async fn ok(&self, name: &str, arguments: Value) -> Value {
        match self.call(name, arguments).await {
            Ok(value) => value,
            Err(error) => panic!("{name} failed: {error:?}"),
        }
    }

    pub(crate) async fn err(&self, name: &str, arguments: Value) -> ToolError {
        match self.call(name, arguments).await {
            Ok(value) => panic!("{name} should have failed but gave {value:#}"),
            Err(error) => error,
        }
    }
}

/// The strings under `key` of each item of a list.
pub(crate) fn each<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap()).collect()
}

/// The strings of a list.
pub(crate) fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}
