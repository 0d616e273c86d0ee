//! The orchestrator of a conversation.
//!
//! It knows no tool, no provider and no wire format. Its doors out are traits: [`ModelProvider`]
//! answers a [`ModelRequest`] with a stream of [`ModelEvent`]s, [`ToolRuntime`] runs tool calls,
//! and [`SessionLog`] writes every event down before it is acted on.

mod model;
mod runtime;

pub use model::{
    CacheHint, Effort, ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream, ToolSpec,
};
pub use protocol::{ModelErrorKind, StopReason, Usage};
pub use runtime::{LogError, SessionLog, ToolRuntime};
