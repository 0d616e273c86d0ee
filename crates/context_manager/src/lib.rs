//! The orchestrator of a conversation.
//!
//! [`ChatContext`] is a pure fold over the log of a session, plus the loop that carries a turn on:
//! ask the model, run its calls, ask again. It knows no tool, no provider and no wire format. Its
//! [`Ports`] are traits: [`ModelProvider`] answers a [`ModelRequest`] with a stream of
//! [`ModelEvent`]s, [`ToolRuntime`] runs tool calls, and [`SessionLog`] writes every event down
//! before it is acted on.
//!
//! Where to look: `state.rs` is the transition function, `context.rs` the fold around it,
//! `conversation.rs` what a model gets to see; `turn.rs` is the loop, `answer.rs` and `calls.rs` are
//! its two halves; `images.rs` is about those in it; `purse.rs` decides what may still be used,
//! `budget.rs` and `meter.rs` count it; `retry.rs` decides when a failed request is sent again;
//! `circles.rs` notices repetition, `compaction.rs` makes room; `inbox.rs` holds what the user says
//! while a turn runs.

mod answer;
mod budget;
mod calls;
mod circles;
mod compaction;
mod context;
mod conversation;
mod facts;
mod images;
mod inbox;
mod instructed;
mod meter;
mod model;
mod open_requests;
mod options;
mod purse;
mod retry;
mod runtime;
mod state;
mod tool_list;
mod turn;

pub use budget::{Budget, Prices};
pub use calls::ToolStep;
pub use compaction::CompactOutcome;
pub use context::ChatContext;
pub use inbox::{Inbox, QueuedId, QueuedMessage};
pub use model::{
    CacheHint, Deferral, Effort, ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream,
    ToolListing, ToolSpec,
};
pub use open_requests::Charge;
pub use options::AgentOptions;
pub use protocol::{ModelErrorKind, StopReason, Usage};
pub use purse::{Purse, SharedBalance, SharedBudget};
pub use retry::RetryPolicy;
pub use runtime::{LogError, Ports, SessionLog, ToolRuntime};
pub use state::{CallProgress, ContextState, OpenCall, PartialAnswer};
pub use turn::TurnOutcome;
