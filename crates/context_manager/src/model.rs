//! What is asked of a model, and what comes back.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::Stream;
use protocol::{Content, Message, ModelErrorKind, StopReason, ToolCall, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything a model gets to see, in no provider's format.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The model, as its provider calls it.
    pub model: String,
    /// Instructions that frame the conversation.
    pub system: String,
    /// The conversation so far. Each tool call in it has a result. The messages are shared with
    /// the conversation, so that a long one costs little to send again.
    pub messages: Vec<Arc<Message>>,
    /// The tools, in an order that does not change during a session. They are shared by its requests.
    pub tools: Arc<[ToolSpec]>,
    /// The most tokens that may be answered.
    pub max_tokens: u32,
    /// How hard to think, where the model can be told.
    pub effort: Option<Effort>,
    /// What is worth keeping in the provider's cache.
    pub cache: CacheHint,
    /// Whether the model gets to see images; if not, they are described in words.
    pub shows_images: bool,
}

/// A tool as a model is told about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name to call it by.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: Value,
    /// When it is listed.
    pub listing: ToolListing,
}

/// When a tool is listed in requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolListing {
    /// In every request.
    #[default]
    Always,
    /// Once the model has asked for it. In a request, such a tool is one that the model was told of by
    /// the result of a call.
    OnDemand,
    /// Once the model has asked for it, also where requests list everything else. No request has such a
    /// tool.
    Foreign,
    /// The tool by which the model asks for others.
    Finder,
}

impl ToolListing {
    /// Whether the model has to ask for it.
    pub(crate) fn is_deferred(self) -> bool {
        matches!(self, ToolListing::OnDemand | ToolListing::Foreign)
    }
}

/// How a model learns of tools that its first request does not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deferral {
    /// Not at all: every request lists everything.
    #[default]
    ListAll,
    /// The tools that it has asked for are listed after the others.
    Append,
    /// By a tool search of its provider, which does not invalidate the cache.
    Native,
}

/// How hard a model is asked to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Effort {
    /// As little as possible.
    Low,
    /// As usual.
    Medium,
    /// As much as it takes.
    High,
}

/// Which prefixes of the request will be sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheHint {
    /// None.
    #[default]
    Nothing,
    /// Tools, instructions and the conversation up to its last message.
    Conversation,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More text for the user.
    Text(String),
    /// More of what the model thinks, where it is shown.
    Thinking(String),
    /// A tool call has begun; its arguments are still on their way.
    ToolCallStarted {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
    },
    /// A tool call is complete. Only complete calls are ever run.
    ToolCall(ToolCall),
    /// A tool call whose arguments are not a JSON object. It is answered with an error, not run.
    BrokenToolCall {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as sent.
        arguments: String,
        /// What is wrong with them.
        reason: String,
    },
    /// A part of the message as it is to be kept and sent back, in its place among the others.
    Kept(Content),
    /// What has been used so far; later reports replace earlier ones.
    Usage(Usage),
    /// The answer is complete. Nothing follows.
    Done(StopReason),
}

/// Why a model did not answer, or not to the end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// The kind of failure, which decides what to do about it.
    pub kind: ModelErrorKind,
    /// One line for the user.
    pub message: String,
    /// How long the provider asks to wait before the next attempt.
    pub retry_after: Option<Duration>,
    /// What the provider says about sending the same request again. If it says nothing, the kind
    /// decides.
    pub should_retry: Option<bool>,
    /// Whether the provider may charge for the request although nothing was answered.
    pub may_be_charged: bool,
}

impl ModelError {
    /// An error of which no more is known than its kind. A refusal is free; silence and half an
    /// answer may have cost the provider work.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        use ModelErrorKind as Kind;
        let may_be_charged = match kind {
            Kind::Connection | Kind::Cut | Kind::Malformed | Kind::Cancelled => true,
            Kind::InvalidRequest
            | Kind::Unauthorized
            | Kind::UnknownModel
            | Kind::ContextFull
            | Kind::RateLimited
            | Kind::Overloaded => false,
        };
        let message = message.into();
        Self { kind, message, retry_after: None, should_retry: None, may_be_charged }
    }
}

/// An answer as it comes. After an error nothing follows.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// Answers requests. Dropping the stream ends the request.
#[async_trait]
pub trait ModelProvider: Send + Sync {
    /// The name of the provider, for messages and for [`Content::Opaque`].
    fn name(&self) -> &str;

    /// Whether answers take tokens. If they do and no report says how many, they are estimated.
    fn takes_tokens(&self) -> bool {
        true
    }

    /// How `model` learns of tools that are not listed.
    fn deferral(&self, model: &str) -> Deferral {
        let _ = model;
        Deferral::ListAll
    }

    /// Prepares one attempt at a request. It is sent when the stream is first polled, not before, and
    /// only once: the loop decides about further attempts. An error here means that nothing was sent.
    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError>;
}
