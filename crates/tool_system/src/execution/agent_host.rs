//! What tools can ask of the conversation that they are called from.

use std::sync::Arc;

use async_trait::async_trait;
use protocol::{MessageHandle, PlanStep, ToolError, ToolResult, TraceContext};
use tokio_util::sync::CancellationToken;

use crate::ListedTool;

/// The role of a sub-agent when none is asked for: it only reads.
pub const DELEGATE_ROLE: &str = "planner";

/// The conversation behind an executor. Front ends that only serve tools have none.
#[async_trait]
pub trait AgentHost: Send + Sync {
    /// Shows the plan to the user and keeps it, instead of the one before.
    async fn plan_changed(&self, steps: Vec<PlanStep>) -> Result<(), ToolError>;

    /// Has a sub-agent do a task to its end, soon after `cancel` fires at the latest.
    async fn delegate(&self, task: Delegation, cancel: &CancellationToken) -> ToolResult;

    /// The tools that requests leave out until the model asks for them.
    fn tools_on_demand(&self) -> Vec<Arc<ListedTool>>;

    /// What an entry of the conversation's log says. The conversation names handles where it shows
    /// its model only a part of something.
    async fn recall(&self, handle: MessageHandle) -> Result<Recalled, ToolError>;

    /// Whether a message of the user or the result of an earlier call says something. What the model
    /// has said itself does not count.
    async fn was_told(&self, says: TextSearch) -> bool;

    /// The span of a call that runs, if the conversation is traced.
    fn trace_context(&self, call_id: &str) -> Option<TraceContext>;
}

/// Decides whether a text says something.
pub type TextSearch = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// What an entry of a conversation's log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recalled {
    /// All of it, in lines of moderate length.
    pub text: String,
    /// The most bytes of it that the conversation can take at once.
    pub page_bytes: u64,
}

/// A task for a sub-agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Delegation {
    /// The call that asks for it.
    pub call_id: String,
    /// What to do, in words that need no earlier conversation.
    pub task: String,
    /// The name of the role, which never grants more than the caller has.
    pub role: String,
    /// How often the sub-agent may use tools in a row.
    pub max_turns: Option<u32>,
    /// How many tokens it may use.
    pub max_tokens: Option<u64>,
}
