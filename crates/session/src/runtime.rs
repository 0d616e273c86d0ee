//! The tool system as a conversation sees it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use context_manager::{LogError, ToolListing, ToolRuntime, ToolSpec};
use protocol::{CallReport, ContentHash, ErrorCode, Instructions, ToolCall, ToolError};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tool_system::{Category, DELEGATE_ROLE, InstructionFile, ListedTool, TERMINATE, ToolExecutor};

use crate::instructions::told_within;
use crate::prompt::SystemPromptService;

/// [`ToolRuntime`] over [`ToolExecutor`].
pub struct ContextToolRuntime {
    executor: ToolExecutor,
    specs: Arc<[ToolSpec]>,
    /// Any of the tools, until what the first call of a process would have to wait for is under way.
    unprepared: Mutex<Option<Arc<ListedTool>>>,
    /// The version of the project's instructions that every request carries; none if the project's are
    /// not wanted.
    in_prompt: Option<BTreeMap<String, ContentHash>>,
}

impl ContextToolRuntime {
    /// The tools that `executor` offers.
    pub fn new(executor: ToolExecutor) -> Self {
        let offered = executor.useful();
        let specs = offered.iter().map(|tool| tool_spec(tool));
        let unprepared = Mutex::new(offered.first().cloned());
        Self { specs: specs.collect(), executor, unprepared, in_prompt: None }
    }

    /// Tells the model what the project says about the parts that it works in, as `prompts` want it.
    #[must_use]
    pub(crate) fn following(mut self, prompts: &SystemPromptService) -> Self {
        let files = prompts.project.iter();
        let in_prompt = files.map(|file| (file.path.clone(), file.version)).collect();
        self.in_prompt = prompts.follows_project.then_some(in_prompt);
        self
    }

    /// Makes ready, beside the first request, what every check of arguments and the first command need:
    /// that takes longer than a call, and the model takes longer than that.
    fn prepare(&self) {
        let tool = self.unprepared.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(tool), Ok(runtime)) = (tool, Handle::try_current()) {
            // Should it fail, the call that needs it will say so.
            runtime.spawn_blocking(move || tool.validator().is_ok());
            runtime.spawn_blocking(self.executor.preparation());
        }
    }

    /// What runs the calls.
    pub fn executor(&self) -> &ToolExecutor {
        &self.executor
    }
}

/// A tool as a model is told about it.
pub fn tool_spec(tool: &ListedTool) -> ToolSpec {
    ToolSpec {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
        parameters: tool.schema_for_models(),
        listing: match tool.definition() {
            definition if definition.finds_tools => ToolListing::Finder,
            definition if definition.category == Category::External => ToolListing::Foreign,
            definition if definition.on_demand => ToolListing::OnDemand,
            _ => ToolListing::Always,
        },
    }
}

#[async_trait]
impl ToolRuntime for ContextToolRuntime {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }

    fn is_read_only(&self, call: &ToolCall) -> bool {
        let Ok(tool) = self.executor.tool_of(call) else { return true };
        let definition = tool.definition();
        // A sub-agent only reads if its role does; a plan has to come in order.
        let reads = definition.category != Category::Agent
            || call.arguments.get("task").is_some()
                && call.arguments.get("role").is_none_or(|role| role == DELEGATE_ROLE);
        reads && definition.is_read_only()
    }

    fn terminates(&self, call: &ToolCall) -> bool {
        call.arguments.get(TERMINATE).and_then(Value::as_bool).unwrap_or(false)
    }

    fn reads_messages(&self) -> bool {
        self.executor.reads_messages()
    }

    async fn execute_tool(&self, call: &ToolCall, cancel: &CancellationToken) -> CallReport {
        self.executor.report(call, cancel, self.executor.approver()).await
    }

    fn title(&self, call: &ToolCall) -> Option<String> {
        self.executor.title(call)
    }

    async fn instructions(
        &self,
        known: &BTreeMap<String, ContentHash>,
        room: u64,
    ) -> Vec<Instructions> {
        let Some(in_prompt) = &self.in_prompt else { return Vec::new() };
        let files = self.executor.instructions().await;
        let is_known = |file: &&InstructionFile| {
            let seen = known.get(&file.path).or_else(|| in_prompt.get(&file.path));
            seen == Some(&file.version)
        };
        told_within(files.iter().filter(|file| !is_known(file)), room)
    }

    fn turn_began(&self) {
        self.executor.clear_current_turn();
        self.prepare();
    }
}

/// What cannot be written down does not happen.
pub(crate) fn unwritable(error: LogError) -> ToolError {
    ToolError::new(ErrorCode::ExecutionError, error.to_string())
        .suggest("Tell the user: the disk may be full, or the state directory not writable.")
}

/// The text under `key`, if it is one.
pub(crate) fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}
