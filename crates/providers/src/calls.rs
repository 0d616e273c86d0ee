//! Tool calls on their way: complete or broken, with arguments that are objects.

use context_manager::{ModelEvent, StopReason};
use protocol::{ToolCall, parse_strict_json};
use serde_json::{Map, Value};

use crate::surrogates;

/// Why a call that may lack its end is not run.
pub(crate) const CUT_SHORT: &str = "the answer was cut off in the middle of this call";

/// The reason as the calls of an answer show it. Servers say "stop" beside a call, and "call" without
/// one.
pub(crate) fn shown_reason(told: StopReason, has_calls: bool) -> StopReason {
    match (told, has_calls) {
        (StopReason::EndOfTurn, true) => StopReason::ToolUse,
        (StopReason::ToolUse, false) => StopReason::EndOfTurn,
        (told, _) => told,
    }
}

/// Whether an answer that ends for this reason may have been stopped in the middle of a call.
pub(crate) fn stops_anywhere(reason: &StopReason) -> bool {
    !matches!(reason, StopReason::EndOfTurn | StopReason::ToolUse | StopReason::Pause)
}

/// A call that has begun, with id and name as the server sent them.
#[derive(Debug, Clone)]
pub(crate) struct OpenCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl OpenCall {
    pub(crate) fn started(&self) -> ModelEvent {
        ModelEvent::ToolCallStarted { id: self.id.clone(), name: self.name.clone() }
    }

    /// The call, now that nothing more of it will come. No arguments at all mean an empty object.
    pub(crate) fn complete(self) -> ModelEvent {
        if self.name.is_empty() {
            return self.broken("the call names no tool");
        }
        if self.arguments.trim().is_empty() {
            return ModelEvent::ToolCall(ToolCall::new(self.id, self.name, Map::new()));
        }
        let reason = match parse_strict_json(&surrogates::whole(&self.arguments)) {
            Ok(Value::Object(arguments)) => {
                return ModelEvent::ToolCall(ToolCall::new(self.id, self.name, arguments));
            }
            Ok(_) => "the arguments are not a JSON object".to_owned(),
            Err(error) => format!("the arguments are not valid JSON: {error}"),
        };
        self.broken(&reason)
    }

    pub(crate) fn broken(self, reason: &str) -> ModelEvent {
        let Self { id, name, arguments } = self;
        ModelEvent::BrokenToolCall { id, name, arguments, reason: reason.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_tell_why_an_answer_ends_better_than_the_server_does() {
        use StopReason::{EndOfTurn, MaxTokens, ToolUse};
        assert_eq!(shown_reason(EndOfTurn, true), ToolUse);
        assert_eq!(shown_reason(ToolUse, false), EndOfTurn);
        assert_eq!(shown_reason(ToolUse, true), ToolUse);
        assert_eq!(shown_reason(MaxTokens, true), MaxTokens);
    }

    #[test]
    fn arguments_are_an_object_or_the_call_is_broken() {
        let cases = [
            ("", "ok {}"),
            (" ", "ok {}"),
            ("{\"a\":1}", "ok {\"a\":1}"),
            ("[1]", "the arguments are not a JSON object"),
            ("{\"a\":1", "the arguments are not valid JSON: EOF"),
            ("{\"a\":1,\"a\":2}", "the arguments are not valid JSON: "),
            ("{} {}", "the arguments are not valid JSON: trailing"),
        ];
        for (arguments, expected) in cases {
            let call = OpenCall { id: "1".into(), name: "t".into(), arguments: arguments.into() };
            let got = match call.complete() {
                ModelEvent::ToolCall(call) => format!("ok {}", Value::Object(call.arguments)),
                ModelEvent::BrokenToolCall { reason, .. } => reason,
                other => panic!("{other:?}"),
            };
            assert!(got.starts_with(expected), "{arguments:?}: {got}");
        }
    }
}
