//! What a conversation needs from outside: tools, the log, and the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{CallReport, ContentHash, Instructions, LogEntry, SessionEvent, ToolCall};
use tokio_util::sync::CancellationToken;

use crate::{Inbox, ModelProvider, Purse, ToolSpec};

/// Everything a turn needs from outside.
#[derive(Clone)]
pub struct Ports {
    /// Answers requests.
    pub model: Arc<dyn ModelProvider>,
    /// Runs tool calls.
    pub tools: Arc<dyn ToolRuntime>,
    /// Keeps every event before it is acted on.
    pub log: Arc<dyn SessionLog>,
    /// What may be used up. A session and its sub-agents draw on the same.
    pub purse: Arc<Purse>,
    /// What the user says while a turn runs. An agent that the user does not talk to has an empty one.
    pub inbox: Arc<Inbox>,
}

/// Runs tool calls. Implementations catch panics of their tools: the loop does not, and a panic that
/// reaches it ends the turn.
#[async_trait]
pub trait ToolRuntime: Send + Sync {
    /// The tools the model is told about, in an order that does not change during a session.
    fn tools(&self) -> Arc<[ToolSpec]>;

    /// Whether a call changes nothing, so that it may run in parallel with others.
    fn is_read_only(&self, call: &ToolCall) -> bool;

    /// Whether the model wants its turn to end with this call.
    fn terminates(&self, call: &ToolCall) -> bool;

    /// Whether one of these tools reads a [`protocol::MessageHandle`], so that the model can be told
    /// of what is left out.
    fn reads_messages(&self) -> bool;

    /// What a call does, in words for the user.
    fn title(&self, _call: &ToolCall) -> Option<String> {
        None
    }

    /// Runs a call to its result, soon after `cancel` fires at the latest.
    async fn execute_tool(&self, call: &ToolCall, cancel: &CancellationToken) -> CallReport;

    /// The instructions for the directories the calls so far worked in, without those that the model can see:
    /// `known` has the version of each by its path. Those that would take more than `room` tokens
    /// together are only named.
    async fn instructions(
        &self,
        _known: &BTreeMap<String, ContentHash>,
        _room: u64,
    ) -> Vec<Instructions> {
        Vec::new()
    }

    /// The user has sent a message: answers to earlier calls no longer stand for identical ones.
    fn turn_began(&self);
}

/// Where events are written before they are acted on.
#[async_trait]
pub trait SessionLog: Send + Sync {
    /// Writes events in this order, all or none. They are safe from the end of the process once
    /// this returns; only then may they be shown.
    ///
    /// Returns all entries since the last append through this object: those that others have written
    /// to the same log in between come first.
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError>;

    /// The same for events that items of a shared inbox have caused. The items are done as soon as the events are
    /// written, and not before. A log without such an inbox has no items to mark.
    async fn append_taking(
        &self,
        events: Vec<SessionEvent>,
        _items: &[i64],
    ) -> Result<Vec<LogEntry>, LogError> {
        self.append(events).await
    }
}

/// The log cannot be written, so the turn stops.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session cannot be written down: {message}")]
pub struct LogError {
    /// What went wrong.
    pub message: String,
}
