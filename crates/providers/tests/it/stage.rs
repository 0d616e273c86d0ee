//! A real conversation on real providers: only the model's lines and the tools are made up.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use context_manager::{
    AgentOptions, ChatContext, Inbox, LogError, Ports, Purse, RetryPolicy, SessionLog, ToolListing,
    ToolRuntime, ToolSpec, TurnOutcome,
};
use protocol::{
    CallReport, Content, ErrorCode, LogEntry, ModelAnswer, SessionEvent, ToolCall, ToolError,
};
use providers::HttpProvider;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

#[derive(Default)]
struct MemoryLog(watch::Sender<Vec<LogEntry>>);

#[async_trait]
impl SessionLog for MemoryLog {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        let numbers = self.0.borrow().len() as u64 + 1..;
        let entry = |(sequence, event)| LogEntry { sequence, at: 0, event };
        let new: Vec<_> = numbers.zip(events).map(entry).collect();
        self.0.send_modify(|entries| entries.extend(new.clone()));
        Ok(new)
    }
}

struct OneTool {
    inbox: Arc<Inbox>,
}

#[async_trait]
impl ToolRuntime for OneTool {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::new([ToolSpec {
            name: "look".into(),
            description: "Looks.".into(),
            parameters: json!({"type": "object"}),
            listing: ToolListing::Always,
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
            "look" => {
                // The user may say something while it runs.
                if let Some(words) = call.arguments.get("user_says").and_then(Value::as_str) {
                    self.inbox.push(vec![Content::Text { text: words.into() }]);
                }
                Ok(json!({"seen": call.arguments}))
            }
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
    inbox: Arc<Inbox>,
}

impl Stage {
    pub(crate) fn new(options: AgentOptions) -> Self {
        let (log, inbox) = (Arc::default(), Arc::default());
        Self { log, context: ChatContext::default(), options, inbox }
    }

    /// A conversation that waits only where the server asks for it.
    pub(crate) fn impatient() -> Self {
        let retry = RetryPolicy { attempts: 3, base: Duration::ZERO, ..RetryPolicy::default() };
        Self::new(AgentOptions { retry, ..AgentOptions::default() })
    }

    pub(crate) async fn send(&mut self, words: &str, provider: &HttpProvider) -> TurnOutcome {
        self.send_until(words, provider, &CancellationToken::new()).await
    }

    pub(crate) async fn send_until(
        &mut self,
        words: &str,
        provider: &HttpProvider,
        cancel: &CancellationToken,
    ) -> TurnOutcome {
        let (model, tools) =
            (Arc::new(provider.clone()), Arc::new(OneTool { inbox: Arc::clone(&self.inbox) }));
        let inbox = Arc::clone(&self.inbox);
        let ports = Ports { model, tools, log: self.log.clone(), purse: Purse::new(), inbox };
        let content = vec![Content::Text { text: words.into() }];
        let outcome = self.context.send_message(content, &ports, &self.options, cancel).await;
        outcome.expect("the log takes everything")
    }

    /// Waits until a failed request waits to be sent again.
    pub(crate) fn waiting_to_retry(&self) -> impl Future<Output = ()> + use<> {
        let mut entries = self.log.0.subscribe();
        let is_so = |entry: &LogEntry| {
            matches!(entry.event, SessionEvent::ModelFailed { retry_in_ms: Some(_), .. })
        };
        async move { _ = entries.wait_for(|entries| entries.iter().any(is_so)).await.unwrap() }
    }

    pub(crate) fn events(&self) -> Vec<SessionEvent> {
        self.log.0.borrow().iter().map(|entry| entry.event.clone()).collect()
    }

    /// What became of each request of the turns so far, a line for each.
    pub(crate) fn attempts(&self) -> String {
        let lines = self.events().into_iter().filter_map(|event| match event {
            SessionEvent::ModelFailed { kind, message, retry_in_ms, .. } => match retry_in_ms {
                Some(wait) => Some(format!("again in {wait} ms: {message}")),
                None => Some(format!("{kind:?}: {message}")),
            },
            SessionEvent::ModelAnswered(ModelAnswer { stop, .. }) => Some(format!("done {stop:?}")),
            _ => None,
        });
        lines.collect::<Vec<_>>().join("\n")
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
