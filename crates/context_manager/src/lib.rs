//! The orchestrator of a conversation.
//!
//! It knows no tool, no provider and no wire format. Its doors out are traits; this one is to the
//! model: a [`ModelRequest`] in no provider's format, answered by a stream of [`ModelEvent`]s.

mod model;

pub use model::{
    CacheHint, Effort, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest,
    ModelStream, StopReason, ToolSpec, Usage,
};
