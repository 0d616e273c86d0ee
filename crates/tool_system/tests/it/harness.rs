//! A project and an executor on it.

use std::sync::Arc;

use protocol::{ToolCall, ToolError, ToolResult};
use serde_json::Value;
use testkit::Fixture;
use tokio_util::sync::CancellationToken;
use tool_system::{ExecutorOptions, Limits, Tool, ToolExecutor, ToolRegistry, Vocabulary};
use workspace::Workspace;

pub(crate) struct Bench {
    pub(crate) project: Fixture,
    pub(crate) executor: ToolExecutor,
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
        Self { project, executor }
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
