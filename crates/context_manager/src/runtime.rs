//! The doors out of a conversation: to tools, to the log, and to the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{CallReport, ContentHash, Instructions, LogEntry, SessionEvent, ToolCall};
use tokio_util::sync::CancellationToken;

use crate::{ModelProvider, Purse, ToolSpec};

/// Everything a turn needs from outside.
#[derive(Clone)]
pub struct Doors {
    /// Who answers.
    pub model: Arc<dyn ModelProvider>,
    /// Who runs calls.
    pub tools: Arc<dyn ToolRuntime>,
    /// Where everything is written down.
    pub log: Arc<dyn SessionLog>,
    /// What may be used. A session and its sub-agents draw on the same.
    pub purse: Arc<Purse>,
}

/// Somebody who runs tool calls.
#[async_trait]
pub trait ToolRuntime: Send + Sync {
    /// The tools the model is told about, in an order that does not change during a session.
    fn tools(&self) -> Arc<[ToolSpec]>;

    /// Whether a call only looks, so that it may run beside others.
    fn is_read_only(&self, call: &ToolCall) -> bool;

    /// Whether the model wants its turn to end with this call.
    fn terminates(&self, call: &ToolCall) -> bool;

    /// Whether one of these tools reads a [`protocol::MessageHandle`], so that the model can be told
    /// of what is left out.
    fn reads_messages(&self) -> bool;

    /// What a call does, for people who watch.
    fn title(&self, _call: &ToolCall) -> Option<String> {
        None
    }

    /// Runs a call to its result, soon after `cancel` fires at the latest.
    async fn execute_tool(&self, call: &ToolCall, cancel: &CancellationToken) -> CallReport;

    /// The instructions for where the calls so far have worked, but for those that the model can see:
    /// `known` has the version of each by its path. Those that would take more than `room` tokens
    /// together are only named.
    async fn instructions(
        &self,
        _known: &BTreeMap<String, ContentHash>,
        _room: u64,
    ) -> Vec<Instructions> {
        Vec::new()
    }

    /// The person has said something new: what was answered before no longer stands for it.
    fn turn_began(&self);
}

/// Where events are written before they are acted on.
#[async_trait]
pub trait SessionLog: Send + Sync {
    /// Writes events in this order, all or none. They are safe from the end of the process once
    /// this returns; only then may anybody be shown them.
    ///
    /// Returns all entries since the last append through this door: those that others have written
    /// to the same log in between come first.
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError>;
}

/// The log cannot be written, so nothing may happen either.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the session cannot be written down: {message}")]
pub struct LogError {
    /// What went wrong.
    pub message: String,
}
