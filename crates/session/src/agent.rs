//! What tools may ask of the conversation: to show a plan, and to run a sub-agent.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use context_manager::{
    AgentOptions, Budget, ChatContext, Inbox, Ports, Purse, SessionLog, TurnOutcome,
};
use protocol::{
    AgentRole, Content, ErrorCode, LogEntry, Message, MessageHandle, PauseReason, PlanStep,
    SessionEvent, Speaker, ToolError, ToolResult, TraceContext, TurnEnd,
};
use serde_json::{Value, json};
use store::SessionId;
use tokio_util::sync::CancellationToken;
use tool_system::{
    AgentHost, Caller, Category, Delegation, LearnedRules, ListedTool, ProjectTools, Recalled,
    TextSearch,
};

use crate::approval::ApprovalManager;
use crate::log::NestedLog;
use crate::recall::{ReadableLog, recall, told_in};
use crate::runtime::{ContextToolRuntime, text_at, unwritable};
use crate::session::SessionParts;

/// Sub-agents of sub-agents of the conversation itself, and no further.
const MAX_DEPTH: usize = 2;

/// The conversation, or a sub-agent, as its tools see it.
pub(crate) struct SessionHost {
    /// The session; changes are kept under its name, for undoing all of them.
    pub(crate) session: SessionId,
    pub(crate) parts: Arc<SessionParts>,
    pub(crate) role: AgentRole,
    /// The calls that lead to this sub-agent; none for the conversation itself.
    pub(crate) path: Vec<String>,
    pub(crate) log: Arc<dyn ReadableLog>,
    /// The log of the whole session; that of a sub-agent is a part of it.
    pub(crate) session_log: Arc<dyn ReadableLog>,
    pub(crate) approvals: Arc<ApprovalManager>,
    /// What it may use up; its sub-agents draw on it.
    pub(crate) purse: Arc<Purse>,
    /// What the user says while it works; a sub-agent is not spoken to.
    pub(crate) inbox: Arc<Inbox>,
    /// What "always" has made in this session.
    pub(crate) rules: Arc<LearnedRules>,
}

/// A conversation or a sub-agent with everything that its turns need.
pub(crate) struct Agent {
    pub(crate) ports: Ports,
    pub(crate) options: AgentOptions,
    /// The same as in `ports`.
    pub(crate) runtime: Arc<ContextToolRuntime>,
}

impl SessionHost {
    /// Assembles the agent that has this host. What happens to it is written to `log`.
    pub(crate) fn agent(self, log: Arc<dyn SessionLog>, turn_limit: u32, budget: Budget) -> Agent {
        let (parts, purse, role) =
            (Arc::clone(&self.parts), Arc::clone(&self.purse), self.role.clone());
        let (inbox, rules) = (Arc::clone(&self.inbox), Arc::clone(&self.rules));
        let is_sub_agent = !self.path.is_empty();
        let executor = parts.tools.executor(Caller {
            role: role.clone(),
            approver: self.approvals.clone(),
            session: self.session.to_string(),
            agent_host: Some(Arc::new(self)),
            detect_repeats: true,
            learned_rules: rules,
        });
        let tools = executor.useful();
        let deferral = parts.model.provider.deferral(&parts.model.name);
        let system = match is_sub_agent {
            false => parts.prompts.prompt(&role, &tools, deferral),
            true => parts.prompts.prompt_for_sub_agent(&role, &tools, deferral),
        };
        let options = AgentOptions { system, turn_limit, budget, ..parts.model.options() };
        let runtime = Arc::new(ContextToolRuntime::new(executor).following(&parts.prompts));
        let model = Arc::clone(&parts.model.provider);
        let ports = Ports { model, tools: runtime.clone(), log, purse, inbox };
        Agent { ports, options, runtime }
    }
}

#[async_trait]
impl AgentHost for SessionHost {
    async fn plan_changed(&self, steps: Vec<PlanStep>) -> Result<(), ToolError> {
        self.log.append(vec![SessionEvent::PlanChanged { steps }]).await.map_err(unwritable)?;
        Ok(())
    }

    async fn delegate(&self, task: Delegation, cancel: &CancellationToken) -> ToolResult {
        if self.path.len() >= MAX_DEPTH {
            let message = "a sub-agent at this depth cannot have sub-agents of its own";
            return Err(ToolError::new(ErrorCode::PermissionDenied, message)
                .suggest("Do the task with the other tools."));
        }
        let log = Arc::new(NestedLog::new(Arc::clone(&self.log), task.call_id.clone()));
        let host = SessionHost {
            session: self.session.clone(),
            parts: Arc::clone(&self.parts),
            role: self.parts.tools.role(&task.role)?.within(&self.role),
            path: self.path.iter().chain([&task.call_id]).cloned().collect(),
            log: log.aside(),
            session_log: Arc::clone(&self.session_log),
            approvals: Arc::new(self.approvals.for_sub_agent(log.aside())),
            purse: self.purse.for_sub_agent(),
            inbox: Arc::default(),
            rules: Arc::clone(&self.rules),
        };
        let seen = Arc::new(Mutex::new(SubAgentSummary::default()));
        let watched = Arc::new(Watched { log, seen: Arc::clone(&seen) });
        // Like the conversation, within limits of its own that draw on the session's.
        let turn_limit = task.max_turns.unwrap_or(self.parts.turn_limit).min(self.parts.turn_limit);
        let budget = Budget { tokens: task.max_tokens, ..Budget::default() };
        let agent = host.agent(watched, turn_limit, budget);
        let mut context = ChatContext::default();
        let content = vec![Content::Text { text: task.task.into() }];
        let outcome = context.send_message(content, &agent.ports, &agent.options, cancel).await;
        let outcome = outcome.map_err(unwritable)?;
        let whose = if self.purse.ran_out().is_some() { Whose::Session } else { Whose::Task };
        report(&context, &outcome, whose, &locked(&seen))
    }

    fn tools_on_demand(&self) -> Vec<Arc<ListedTool>> {
        let ProjectTools { registry, options, .. } = &self.parts.tools;
        let mut tools = registry.list_for(options.vocabulary, &self.role);
        let is_reachable =
            |tool: &ListedTool| options.network || tool.definition().category != Category::Web;
        tools.retain(|tool| tool.definition().on_demand && is_reachable(tool));
        tools
    }

    async fn recall(&self, handle: MessageHandle) -> Result<Recalled, ToolError> {
        recall(&*self.log, handle, &self.parts.model).await
    }

    async fn was_told(&self, says: TextSearch) -> bool {
        told_in(&*self.session_log, says).await
    }

    fn trace_context(&self, call_id: &str) -> Option<TraceContext> {
        let mut observers = self.parts.observers.iter();
        observers.find_map(|one| one.trace_context(&self.session, &self.path, call_id))
    }
}

/// What a report tells of a sub-agent's log.
#[derive(Default)]
struct SubAgentSummary {
    /// The paths that were changed.
    changed: BTreeSet<String>,
    /// What the provider said when it last failed.
    failure: Option<String>,
}

fn locked(seen: &Mutex<SubAgentSummary>) -> MutexGuard<'_, SubAgentSummary> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes what a sub-agent changes, and why its model fails, while it is written down.
struct Watched {
    log: Arc<NestedLog>,
    seen: Arc<Mutex<SubAgentSummary>>,
}

#[async_trait]
impl SessionLog for Watched {
    async fn append(
        &self,
        events: Vec<SessionEvent>,
    ) -> Result<Vec<LogEntry>, context_manager::LogError> {
        self.append_taking(events, &[]).await
    }

    async fn append_taking(
        &self,
        events: Vec<SessionEvent>,
        items: &[i64],
    ) -> Result<Vec<LogEntry>, context_manager::LogError> {
        let entries = self.log.append_taking(events, items).await?;
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
fn report(
    context: &ChatContext,
    outcome: &TurnOutcome,
    whose: Whose,
    seen: &SubAgentSummary,
) -> ToolResult {
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
fn why_it_ended(end: TurnEnd, seen: &SubAgentSummary) -> String {
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
            Content::Text { text } => Some(text.to_string()),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        if !text.trim().is_empty() {
            return text;
        }
    }
    String::new()
}
