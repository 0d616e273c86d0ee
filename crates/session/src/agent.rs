//! What tools may ask of the conversation: to show a plan, and to set a sub-agent to work.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use context_manager::{AgentOptions, Budget, ChatContext, Ports, Purse, SessionLog, TurnOutcome};
use protocol::{
    AgentRole, Content, ErrorCode, LogEntry, Message, MessageHandle, PauseReason, PlanStep,
    SessionEvent, Speaker, ToolError, ToolResult, TurnEnd,
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
    /// What it may use; its sub-agents draw on it.
    pub(crate) purse: Arc<Purse>,
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
        let purse = self.purse.for_sub_agent();
        let runtime = self.tools_for(role.clone(), log.aside(), Arc::clone(&purse))?;
        let options = self.shared.options_for(&role, &runtime, &task);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let ports = Ports {
            model: Arc::clone(&self.shared.model.provider),
            tools: runtime.clone(),
            log: Arc::new(Watched { log, seen: Arc::clone(&seen) }),
            purse,
        };
        let mut context = ChatContext::default();
        let content = vec![Content::Text { text: task.task }];
        let outcome = context.send_message(content, &ports, &options, cancel).await;
        let outcome = outcome.map_err(unwritable)?;
        let whose = if self.purse.ran_out().is_some() { Whose::Session } else { Whose::Task };
        report(&context, &outcome, whose, &locked(&seen))
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
        purse: Arc<Purse>,
    ) -> Result<Arc<ContextToolRuntime>, ToolError> {
        let host = Host {
            shared: Arc::clone(&self.shared),
            log: Arc::clone(&log),
            role: role.clone(),
            depth: self.depth + 1,
            purse,
        };
        let executor = self.shared.toolbox.executor(Wiring {
            role,
            approver: Arc::new(self.shared.approvals.for_sub_agent(log)),
            agent_host: Arc::new(host),
            session: self.shared.session.clone(),
        })?;
        Ok(Arc::new(ContextToolRuntime::new(executor).following(&self.shared.prompts)))
    }
}

impl Shared {
    /// How a sub-agent behaves: like the conversation, within limits of its own that draw on the
    /// session's.
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

/// What a report tells of a sub-agent's log.
#[derive(Default)]
struct Seen {
    /// The paths that were changed.
    changed: BTreeSet<String>,
    /// What the provider said when it last failed.
    failure: Option<String>,
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes what a sub-agent changes, and why its model fails, while it is written down.
struct Watched {
    log: Arc<NestedLog>,
    seen: Arc<Mutex<Seen>>,
}

#[async_trait]
impl SessionLog for Watched {
    async fn append(
        &self,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, context_manager::LogError> {
        let entries = self.log.append(events).await?;
        let mut seen = locked(&self.seen);
        for entry in &entries {
            match &entry.event {
                SessionEvent::CallEnded { result: Ok(value), .. }
                    if value.get("change_id").is_some() =>
                {
                    seen.changed.extend(changed_paths(value).map(str::to_owned));
                }
                SessionEvent::ModelFailed { message, .. } => seen.failure = Some(message.clone()),
                _ => {}
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

/// Whose limit has stopped a sub-agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The whole session's: its caller cannot go on either.
    Session,
    /// That of its own task.
    Task,
}

/// What the caller of a sub-agent is told.
fn report(context: &ChatContext, outcome: &TurnOutcome, whose: Whose, seen: &Seen) -> ToolResult {
    let messages = context.messages();
    let text = last_words(messages.iter().map(AsRef::as_ref));
    let turns = messages.iter().filter(|message| message.role == Speaker::Assistant).count();
    let (name, reason) = match outcome {
        TurnOutcome::Ended(TurnEnd::Done | TurnEnd::Terminated) => ("done", None),
        TurnOutcome::Ended(TurnEnd::Cancelled) => {
            return Err(ToolError::new(ErrorCode::Cancelled, "the sub-agent was cancelled"));
        }
        TurnOutcome::Ended(end) => ("failed", Some(why_it_ended(*end, seen))),
        TurnOutcome::Paused(reason) => ("limit reached", Some(limit_in_words(reason, whose))),
    };
    if let Some(reason) = reason.as_ref().filter(|_| name == "failed" && text.is_empty()) {
        let message = format!("the sub-agent ended without a report: {reason}");
        return Err(ToolError::new(ErrorCode::ExecutionError, message)
            .suggest("Do the task with the other tools, or try again later."));
    }
    let mut value = json!({
        "report": text,
        "outcome": name,
        "turns": turns,
        "tokens": context.usage().total(),
    });
    if let Some(reason) = reason {
        value["reason"] = reason.into();
    }
    if !seen.changed.is_empty() {
        value["changed"] = json!(seen.changed);
    }
    Ok(value)
}

/// Why a sub-agent did not come to its end.
fn why_it_ended(end: TurnEnd, seen: &Seen) -> String {
    let why = match end {
        TurnEnd::Failed => "the provider failed",
        TurnEnd::Refused => "the model refused to answer",
        TurnEnd::MaxTokens => "its answer reached the greatest length and was cut",
        TurnEnd::ContextFull => "its conversation became too long for the model",
        TurnEnd::Stopped | TurnEnd::Interrupted => "it was interrupted",
        TurnEnd::Done | TurnEnd::Terminated | TurnEnd::Cancelled => "it ended",
    };
    match (&seen.failure, end) {
        (Some(failure), TurnEnd::Failed | TurnEnd::ContextFull) => format!("{why}: {failure}"),
        _ => why.to_owned(),
    }
}

/// Which limit, and how much of it.
fn limit_in_words(reason: &PauseReason, whose: Whose) -> String {
    let of = match whose {
        Whose::Session => "of the whole session",
        Whose::Task => "of this task",
    };
    match reason {
        PauseReason::TurnLimit { turns } => {
            format!("the limit {of} on rounds: {turns} were made")
        }
        PauseReason::TokenBudget { used, limit } => {
            format!(
                "the budget {of} of {limit} tokens: {used} are used, the next request needs more than is left"
            )
        }
        PauseReason::CostBudget { used, limit } => {
            format!(
                "the budget {of} of ${limit}: ${used:.4} is spent, the next request may cost more than is left"
            )
        }
        PauseReason::TimeBudget { limit_ms, .. } => {
            format!("the time limit {of}: {} s", *limit_ms as f64 / 1e3)
        }
        PauseReason::GoingInCircles { tool, times } => {
            format!("it called {tool} {times} times with the same result")
        }
    }
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
