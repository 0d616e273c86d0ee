//! A real conversation on real providers: only the model's lines and the tools are made up.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_manager::{
    AgentOptions, ChatContext, Listing, LogError, Ports, Purse, SessionLog, ToolRuntime, ToolSpec,
    TurnOutcome,
};
use protocol::{
    CallReport, Content, ErrorCode, LogEntry, ModelAnswer, SessionEvent, ToolCall, ToolError,
};
use providers::HttpProvider;
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[derive(Default)]
struct MemoryLog(Mutex<Vec<LogEntry>>);

#[async_trait]
impl SessionLog for MemoryLog {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        let mut entries = self.0.lock().unwrap();
        let numbers = entries.len() as u64 + 1..;
        let entry = |(sequence, event)| LogEntry { sequence, at: 0, event };
        let new: Vec<_> = numbers.zip(events).map(entry).collect();
        entries.extend(new.clone());
        Ok(new)
    }
}

struct OneTool;

#[async_trait]
impl ToolRuntime for OneTool {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::new([ToolSpec {
            name: "look".into(),
            description: "Looks.".into(),
            parameters: json!({"type": "object"}),
            listing: Listing::Always,
        }])
    }

    fn is_read_only(&self, _: &ToolCall) -> bool {
        true
    }

    fn terminates(&self, _: &ToolCall) -> bool {
        false
    }

    fn reads_messages(&self) -> bool {
        false
    }

    async fn execute_tool(&self, call: &ToolCall, _: &CancellationToken) -> CallReport {
        let result = match call.name.as_str() {
            "look" => Ok(json!({"seen": call.arguments})),
            other => Err(ToolError::new(ErrorCode::UnknownTool, format!("no tool `{other}`"))),
        };
        result.into()
    }

    fn turn_began(&self) {}
}

/// A conversation, which can go on with another provider at any time.
pub(crate) struct Stage {
    log: Arc<MemoryLog>,
    context: ChatContext,
    options: AgentOptions,
}

impl Stage {
    pub(crate) fn new(options: AgentOptions) -> Self {
        Self { log: Arc::default(), context: ChatContext::default(), options }
    }

    pub(crate) async fn send(&mut self, words: &str, provider: &HttpProvider) -> TurnOutcome {
        let (model, tools) = (Arc::new(provider.clone()), Arc::new(OneTool));
        let ports = Ports { model, tools, log: self.log.clone(), purse: Purse::new() };
        let content = vec![Content::Text { text: words.into() }];
        let cancel = CancellationToken::new();
        let outcome = self.context.send_message(content, &ports, &self.options, &cancel).await;
        outcome.expect("the log takes everything")
    }

    pub(crate) fn events(&self) -> Vec<SessionEvent> {
        self.log.0.lock().unwrap().iter().map(|entry| entry.event.clone()).collect()
    }

    /// The calls of all answers, as they are written down.
    pub(crate) fn calls(&self) -> Vec<ToolCall> {
        let answers = self.events().into_iter().filter_map(|event| match event {
            SessionEvent::ModelAnswered(ModelAnswer { content, .. }) => Some(content),
            _ => None,
        });
        let calls = answers.flatten().filter_map(|content| match content {
            Content::ToolUse(call) => Some(call),
            _ => None,
        });
        calls.collect()
    }
}
