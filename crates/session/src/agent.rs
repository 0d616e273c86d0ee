//! What tools may ask of the conversation: to show a plan, and to set a sub-agent to work.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use context_manager::{AgentOptions, Budget, ChatContext, Doors, SessionLog, TurnOutcome};
use protocol::{
    AgentRole, Content, ErrorCode, LogEntry, Message, MessageHandle, PlanStep, SessionEvent,
    Speaker, ToolError, ToolResult, TurnEnd,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tool_system::{AgentHost, Delegation, Recalled};

use crate::approval::ApprovalManager;
use crate::log::NestedLog;
use crate::prompt::SystemPromptService;
use crate::recall::{ReadableLog, recall};
use crate::runtime::{ContextToolRuntime, Toolbox, Wiring, text_at, unwritable};
use crate::session::Model;

/// Sub-agents of sub-agents of the conversation itself, and no further.
const MAX_DEPTH: u32 = 2;

/// The conversation, or a sub-agent, as its tools see it.
pub(crate) struct Host {
    pub(crate) shared: Arc<Shared>,
    pub(crate) log: Arc<dyn ReadableLog>,
    pub(crate) role: AgentRole,
    pub(crate) depth: u32,
}

/// What a conversation and its sub-agents have in common.
pub(crate) struct Shared {
    pub(crate) session: String,
    pub(crate) model: Model,
    pub(crate) toolbox: Arc<dyn Toolbox>,
    pub(crate) prompts: SystemPromptService,
    pub(crate) turn_limit: u32,
    /// The questions to the person.
    pub(crate) approvals: Arc<ApprovalManager>,
}

#[async_trait]
impl AgentHost for Host {
    async fn plan_changed(&self, steps: Vec<PlanStep>) -> Result<(), ToolError> {
        self.log.append(vec![SessionEvent::PlanChanged { steps }]).await.map_err(unwritable)?;
        Ok(())
    }

    async fn delegate(&self, task: Delegation, cancel: &CancellationToken) -> ToolResult {
        if self.depth >= MAX_DEPTH {
            let message = "a sub-agent at this depth cannot have sub-agents of its own";
            return Err(ToolError::new(ErrorCode::PermissionDenied, message)
                .suggest("Do the task with the other tools."));
        }
        let role = self.shared.toolbox.role(&task.role)?.within(&self.role);
        let log = Arc::new(NestedLog::new(Arc::clone(&self.log), task.call_id.clone()));
        let (runtime, changed) = self.tools_for(role.clone(), log.aside())?;
        let options = self.shared.options_for(&role, &runtime, &task);
        let doors = Doors {
            model: Arc::clone(&self.shared.model.provider),
            tools: runtime.clone(),
            log: Arc::new(Watched { log, changed: Arc::clone(&changed) }),
        };
        let mut context = ChatContext::default();
        let content = vec![Content::Text { text: task.task }];
        let outcome = context.send_message(content, &doors, &options, cancel).await;
        let outcome = outcome.map_err(unwritable)?;
        report(&context, &outcome, &changed)
    }

    async fn recall(&self, handle: MessageHandle) -> Result<Recalled, ToolError> {
        recall(&*self.log, handle, &self.shared.model).await
    }
}

impl Host {
    fn tools_for(
        &self,
        role: AgentRole,
        log: Arc<dyn ReadableLog>,
    ) -> Result<(Arc<ContextToolRuntime>, Changed), ToolError> {
        let host = Host {
            shared: Arc::clone(&self.shared),
            log: Arc::clone(&log),
            role: role.clone(),
            depth: self.depth + 1,
        };
        let executor = self.shared.toolbox.executor(Wiring {
            role,
            approver: Arc::new(self.shared.approvals.for_sub_agent(log)),
            agent_host: Arc::new(host),
            session: self.shared.session.clone(),
        })?;
        let runtime = ContextToolRuntime::new(executor).following(&self.shared.prompts);
        Ok((Arc::new(runtime), Changed::default()))
    }
}

impl Shared {
    /// How a sub-agent behaves: like the conversation, within its own budget.
    fn options_for(
        &self,
        role: &AgentRole,
        runtime: &ContextToolRuntime,
        task: &Delegation,
    ) -> AgentOptions {
        let tools = runtime.executor().useful();
        AgentOptions {
            system: self.prompts.prompt_for_sub_agent(role, &tools),
            turn_limit: task.max_turns.unwrap_or(self.turn_limit).min(self.turn_limit),
            budget: Budget { tokens: task.max_tokens, ..Budget::default() },
            ..self.model.options()
        }
    }
}

/// The paths that were changed.
type Changed = Arc<std::sync::Mutex<BTreeSet<String>>>;

/// Notes what a sub-agent changes while it is written down.
struct Watched {
    log: Arc<NestedLog>,
    changed: Changed,
}

#[async_trait]
impl SessionLog for Watched {
    async fn append(
        &self,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, context_manager::LogError> {
        let entries = self.log.append(events).await?;
        let mut changed = self.changed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for entry in &entries {
            if let SessionEvent::CallEnded { result: Ok(value), .. } = &entry.event
                && value.get("change_id").is_some()
            {
                changed.extend(changed_paths(value).map(str::to_owned));
            }
        }
        Ok(entries)
    }
}

/// The paths in the answer of a tool that has changed something.
fn changed_paths(value: &Value) -> impl Iterator<Item = &str> {
    let own = ["path", "from", "to"].into_iter().filter_map(|key| text_at(value, key));
    let lists =
        ["files", "deleted", "changes"].into_iter().filter_map(|key| value.get(key)?.as_array());
    let listed = lists.flatten().filter_map(|item| item.as_str().or_else(|| text_at(item, "path")));
    own.chain(listed)
}

/// What the caller of a sub-agent is told.
fn report(context: &ChatContext, outcome: &TurnOutcome, changed: &Changed) -> ToolResult {
    let messages = context.messages();
    let text = last_words(messages.iter().map(AsRef::as_ref));
    let turns = messages.iter().filter(|message| message.role == Speaker::Assistant).count();
    let changed = changed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (name, failed) = match outcome {
        TurnOutcome::Ended(TurnEnd::Done | TurnEnd::Terminated) => ("done", false),
        TurnOutcome::Ended(TurnEnd::Cancelled) => {
            return Err(ToolError::new(ErrorCode::Cancelled, "the sub-agent was cancelled"));
        }
        TurnOutcome::Ended(_) => ("failed", text.is_empty()),
        TurnOutcome::Paused(_) => ("limit reached", false),
    };
    if failed {
        let message = format!("the sub-agent ended without a report: {outcome:?}");
        return Err(ToolError::new(ErrorCode::ExecutionError, message)
            .suggest("Do the task with the other tools, or try again later."));
    }
    let mut value = json!({
        "report": text,
        "outcome": name,
        "turns": turns,
        "tokens": context.usage().total(),
    });
    if !changed.is_empty() {
        value["changed"] = json!(*changed);
    }
    Ok(value)
}

/// What the model said last.
fn last_words<'a>(messages: impl DoubleEndedIterator<Item = &'a Message>) -> String {
    for message in messages.rev().filter(|message| message.role == Speaker::Assistant) {
        let texts = message.content.iter().filter_map(|content| match content {
            Content::Text { text } => Some(text.as_str()),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        if !text.trim().is_empty() {
            return text;
        }
    }
    String::new()
}
