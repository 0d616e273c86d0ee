//! What happens while tools run, as events that any screen or log can follow.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ApprovalRequest, ErrorCode};

/// Something that happened to a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActivityEvent {
    /// Grows by one with every event of a stream.
    pub sequence: u64,
    /// The id of the call.
    pub call_id: Arc<str>,
    /// What happened.
    #[serde(flatten)]
    pub data: ActivityData,
}

/// The kinds of event and what each carries; `{"type": "tool_call_start", "data": {…}}` in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ActivityData {
    /// A tool begins.
    ToolCallStart {
        /// The tool, as the caller names it.
        tool_name: Arc<str>,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// A tool has ended well.
    ToolCallEnd {
        /// The tool, as the caller names it.
        tool_name: Arc<str>,
        /// Always true here; failures are `error` events.
        success: bool,
        /// How long it took.
        duration_ms: u64,
        /// A few lines for people.
        preview: Vec<String>,
    },
    /// A piece of output, as it comes.
    ToolOutputChunk {
        /// The text.
        chunk: Arc<str>,
    },
    /// A tool has failed.
    Error {
        /// The tool, as the caller names it.
        tool_name: Arc<str>,
        /// What went wrong.
        code: ErrorCode,
        /// In words.
        error: String,
    },
    /// A person is being asked.
    ApprovalRequested(Box<ApprovalRequest>),
    /// The person has answered.
    ApprovalAnswered {
        /// The answer.
        approved: bool,
    },
    /// The reader was slow and this many events are lost to it.
    Missed {
        /// How many.
        events: u64,
    },
}

/// The type of an event, for subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActivityType {
    /// `tool_call_start`
    ToolCallStart,
    /// `tool_call_end`
    ToolCallEnd,
    /// `tool_output_chunk`
    ToolOutputChunk,
    /// `error`
    Error,
    /// `approval_requested`
    ApprovalRequested,
    /// `approval_answered`
    ApprovalAnswered,
    /// `missed`
    Missed,
}

impl ActivityType {
    /// All types.
    pub const ALL: [ActivityType; 7] = [
        ActivityType::ToolCallStart,
        ActivityType::ToolCallEnd,
        ActivityType::ToolOutputChunk,
        ActivityType::Error,
        ActivityType::ApprovalRequested,
        ActivityType::ApprovalAnswered,
        ActivityType::Missed,
    ];

    /// The spelling in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ActivityType::ToolCallStart => "tool_call_start",
            ActivityType::ToolCallEnd => "tool_call_end",
            ActivityType::ToolOutputChunk => "tool_output_chunk",
            ActivityType::Error => "error",
            ActivityType::ApprovalRequested => "approval_requested",
            ActivityType::ApprovalAnswered => "approval_answered",
            ActivityType::Missed => "missed",
        }
    }
}

impl ActivityData {
    /// The type of this event.
    pub fn activity_type(&self) -> ActivityType {
        match self {
            ActivityData::ToolCallStart { .. } => ActivityType::ToolCallStart,
            ActivityData::ToolCallEnd { .. } => ActivityType::ToolCallEnd,
            ActivityData::ToolOutputChunk { .. } => ActivityType::ToolOutputChunk,
            ActivityData::Error { .. } => ActivityType::Error,
            ActivityData::ApprovalRequested(_) => ActivityType::ApprovalRequested,
            ActivityData::ApprovalAnswered { .. } => ActivityType::ApprovalAnswered,
            ActivityData::Missed { .. } => ActivityType::Missed,
        }
    }
}

impl fmt::Display for ActivityType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of an event type.
#[derive(Debug, thiserror::Error)]
#[error("unknown event type `{0}`")]
pub struct UnknownActivityType(String);

impl FromStr for ActivityType {
    type Err = UnknownActivityType;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| UnknownActivityType(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_in_json_has_a_type_and_data_with_the_specified_names() {
        let event = ActivityEvent {
            sequence: 7,
            call_id: "c1".into(),
            data: ActivityData::ToolCallStart { tool_name: "bash".into(), arguments: Map::new() },
        };
        let json = serde_json::to_string(&event).unwrap();
        assert_eq!(
            json,
            r#"{"sequence":7,"call_id":"c1","type":"tool_call_start","data":{"toolName":"bash","arguments":{}}}"#
        );
        assert_eq!(serde_json::from_str::<ActivityEvent>(&json).unwrap(), event);
    }

    #[test]
    fn every_type_has_the_name_that_its_events_carry() {
        for kind in ActivityType::ALL {
            assert_eq!(kind.as_str().parse::<ActivityType>().unwrap(), kind);
        }
        let chunk = ActivityData::ToolOutputChunk { chunk: "x".into() };
        let json = serde_json::to_value(&chunk).unwrap();
        assert_eq!(json["type"], chunk.activity_type().as_str());
        assert!("nope".parse::<ActivityType>().is_err());
    }
}
