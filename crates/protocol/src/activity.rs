//! What happens while tools run, as events that any screen or log can follow.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ApprovalRequest, ErrorCode, UnknownName};

/// Something that happened to a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActivityEvent {
    /// Grows by one with every event of a stream.
    pub sequence: u64,
    pub call_id: Arc<str>,
    /// What happened.
    #[serde(flatten)]
    pub data: ActivityData,
}

/// The kinds of event and what each carries; `{"type": "tool_call_start", "data": {…}}` in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ActivityData {
    /// A call begins.
    ToolCallStart {
        /// The tool, as the caller names it.
        tool_name: Arc<str>,
        arguments: Map<String, Value>,
    },
    /// A call has succeeded.
    ToolCallEnd {
        /// The tool, as the caller names it.
        tool_name: Arc<str>,
        /// Always true here; failures are `error` events.
        success: bool,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// The result in a few lines, for the user.
        preview: Vec<String>,
    },
    /// A piece of output, as it comes.
    ToolOutputChunk {
        /// The text.
        chunk: Arc<str>,
    },
    /// A call has failed.
    Error {
        /// The tool, as the caller names it.
        tool_name: Arc<str>,
        /// What went wrong.
        code: ErrorCode,
        /// The message of the error.
        error: String,
    },
    /// The approver is being asked.
    ApprovalRequested(Box<ApprovalRequest>),
    /// The approver has answered.
    ApprovalAnswered {
        /// Whether the call may go on.
        approved: bool,
    },
    /// The reader was too slow, and events are lost to it.
    Missed {
        /// How many.
        events: u64,
    },
}

/// The type of an event, for subscriptions.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(
    serialize_all = "snake_case",
    parse_err_ty = UnknownName,
    parse_err_fn = ActivityType::unknown
)]
pub enum ActivityType {
    ToolCallStart,
    ToolCallEnd,
    ToolOutputChunk,
    Error,
    ApprovalRequested,
    ApprovalAnswered,
    Missed,
}

crate::names_of!(ActivityType, "event type");

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
            assert_eq!(kind.as_str().parse::<ActivityType>().unwrap(), *kind);
        }
        let chunk = ActivityData::ToolOutputChunk { chunk: "x".into() };
        let json = serde_json::to_value(&chunk).unwrap();
        assert_eq!(json["type"], chunk.activity_type().as_str());
        assert!("nope".parse::<ActivityType>().is_err());
    }
}
