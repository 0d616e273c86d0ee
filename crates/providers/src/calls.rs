//! Tool calls on their way: ids that are unique, arguments that are objects.

use std::collections::HashSet;
use std::sync::Arc;

use context_manager::{ModelEvent, ModelRequest, StopReason};
use protocol::{Content, ToolCall, parse_strict_json};
use serde_json::{Map, Value};

/// Why a call that may lack its end is not run.
pub(crate) const CUT_SHORT: &str = "the answer was cut off in the middle of this call";

/// The ids of a conversation. Results find their calls by id, so none may occur twice, whatever a
/// server sends.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallIds {
    /// Those of the request. Every attempt to send it reads with a copy of its own; these are shared.
    earlier: Arc<HashSet<String>>,
    claimed: HashSet<String>,
    calls: usize,
}

impl CallIds {
    pub(crate) fn of(request: &ModelRequest) -> Self {
        let contents = request.messages.iter().flat_map(|message| &message.content);
        let ids = contents.filter_map(|content| match content {
            Content::ToolUse(call) => Some(call.id.clone()),
            _ => None,
        });
        Self { earlier: Arc::new(ids.collect()), ..Self::default() }
    }

    /// The id for a call whose server calls it `wanted`, or nothing.
    pub(crate) fn claim(&mut self, wanted: &str) -> String {
        self.calls += 1;
        let base = if wanted.is_empty() { "call" } else { wanted };
        // Counting on from here instead of from 1 keeps a thousand equal ids cheap.
        let mut count = self.calls;
        let mut id = wanted.to_owned();
        while id.is_empty() || self.earlier.contains(&id) || self.claimed.contains(&id) {
            id = format!("{base}_{count}");
            count += 1;
        }
        self.claimed.insert(id.clone());
        id
    }

    /// The reason as the calls show it. Servers say "stop" beside a call, and "call" without one.
    pub(crate) fn stop_reason(&self, told: StopReason) -> StopReason {
        match (told, self.calls) {
            (StopReason::EndOfTurn, 1..) => StopReason::ToolUse,
            (StopReason::ToolUse, 0) => StopReason::EndOfTurn,
            (told, _) => told,
        }
    }
}

/// Whether an answer that ends for this reason may have been stopped in the middle of a call.
pub(crate) fn stops_anywhere(reason: &StopReason) -> bool {
    !matches!(reason, StopReason::EndOfTurn | StopReason::ToolUse | StopReason::Pause)
}

/// A call that has begun.
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
        let reason = match parse_strict_json(&self.arguments) {
            Ok(Value::Object(arguments)) => {
                return ModelEvent::ToolCall(ToolCall::new(self.id, self.name, arguments));
            }
            Ok(_) => "the arguments are no JSON object".to_owned(),
            Err(error) => format!("the arguments are no valid JSON: {error}"),
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
    fn ids_are_kept_where_they_can_be() {
        let earlier = Arc::new(HashSet::from(["old".into(), "call_1".into()]));
        let mut ids = CallIds { earlier, ..CallIds::default() };
        let claimed: Vec<_> =
            ["a", "a", "a", "old", "", ""].iter().map(|wanted| ids.claim(wanted)).collect();
        assert_eq!(claimed, ["a", "a_2", "a_3", "old_4", "call_5", "call_6"]);
    }

    #[test]
    fn arguments_are_an_object_or_the_call_is_broken() {
        let cases = [
            ("", "ok {}"),
            (" ", "ok {}"),
            ("{\"a\":1}", "ok {\"a\":1}"),
            ("[1]", "the arguments are no JSON object"),
            ("{\"a\":1", "the arguments are no valid JSON: EOF"),
            ("{\"a\":1,\"a\":2}", "the arguments are no valid JSON: "),
            ("{} {}", "the arguments are no valid JSON: trailing"),
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
