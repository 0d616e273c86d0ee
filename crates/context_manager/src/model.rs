//! What is asked of a model, and what comes back.

use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::Stream;
use protocol::{Content, Message, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything a model gets to see, in no provider's format.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The model, as its provider calls it.
    pub model: String,
    /// Instructions that frame the conversation.
    pub system: String,
    /// The conversation so far. Each tool call in it has a result.
    pub messages: Vec<Message>,
    /// The tools, in an order that does not change during a session.
    pub tools: Vec<ToolSpec>,
    /// The most tokens that may be answered.
    pub max_tokens: u32,
    /// How hard to think, where the model can be told.
    pub effort: Option<Effort>,
    /// What is worth keeping in the provider's cache.
    pub cache: CacheHint,
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
}

/// How hard a model is asked to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// None that is known of.
    #[default]
    Nothing,
    /// Tools, instructions and the conversation up to its last message.
    Conversation,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More text for the person.
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
    /// A tool call whose arguments are no JSON object. It is answered with an error, not run.
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

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model has said what it wanted to say.
    EndOfTurn,
    /// It waits for the results of its tool calls.
    ToolUse,
    /// It reached the most tokens it may answer.
    MaxTokens,
    /// It reached the most tokens it can see.
    ContextFull,
    /// It will not answer.
    Refusal,
    /// It pauses and wants to be called again with what it said.
    Pause,
    /// Something else, as the provider calls it.
    Other(String),
}

/// Tokens that were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read by the model and not taken from the cache.
    pub input: u64,
    /// Written by the model, its thoughts included.
    pub output: u64,
    /// Taken from the cache.
    pub cache_read: u64,
    /// Put into the cache.
    pub cache_write: u64,
}

/// Why a model did not answer, or not to the end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// The kind of failure, which decides what to do about it.
    pub kind: ModelErrorKind,
    /// One line for a person.
    pub message: String,
    /// When the provider wants to be asked again.
    pub retry_after: Option<Duration>,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The request is wrong; sending it again is no use.
    InvalidRequest,
    /// The key is missing, wrong or not allowed to do this.
    Unauthorized,
    /// The model does not exist there.
    UnknownModel,
    /// The conversation is longer than the model can see.
    ContextFull,
    /// Too many requests.
    RateLimited,
    /// The provider has too much to do or is broken.
    Overloaded,
    /// The connection failed or fell silent.
    Connection,
    /// The answer ended before it was complete.
    Cut,
    /// What came back cannot be understood.
    Malformed,
    /// The caller gave up.
    Cancelled,
}

/// An answer as it comes. After an error nothing follows.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// Somebody who answers requests. Dropping the stream ends the request.
#[async_trait]
pub trait ModelProvider: Send + Sync {
    /// The name of the provider, for people and for [`Content::Opaque`].
    fn name(&self) -> &str;

    /// Sends a request. An error here means that nothing was answered.
    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError>;
}
