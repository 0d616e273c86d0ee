//! Notices a model that makes the same call again and again and gets the same result.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use protocol::ToolCall;
use serde_json::Value;

/// Equal results of equal calls in one turn before the model is told, and again before the user
/// is asked.
pub(crate) const PATIENCE: u32 = 3;

/// The calls of a turn, and how often each had the result it had last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Circles {
    calls: HashMap<u64, Repetition>,
}

#[derive(Clone, Debug)]
struct Repetition {
    tool: String,
    result: u64,
    times: u32,
    /// How often it had happened when the model was told.
    told: Option<u32>,
}

/// What is to be done about repetition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RepetitionVerdict {
    Fine,
    /// The model is to be told.
    Tell {
        tool: String,
        times: u32,
    },
    /// The model was told and went on; the user is to be asked.
    Ask {
        tool: String,
        times: u32,
    },
}

impl Circles {
    /// A call has this result, as JSON.
    pub(crate) fn note(&mut self, call: &ToolCall, result: &str) {
        let result = hash_of(&result);
        let new = || Repetition { tool: call.name.clone(), result, times: 0, told: None };
        let seen = self.calls.entry(call_key(call)).or_insert_with(new);
        if seen.result != result {
            *seen = new();
        }
        seen.times += 1;
    }

    /// The model has been told about everything that repeats itself.
    pub(crate) fn told(&mut self) {
        for seen in self.calls.values_mut().filter(|seen| seen.times >= PATIENCE) {
            seen.told.get_or_insert(seen.times);
        }
    }

    /// The user has spoken: whatever comes is not a repetition.
    pub(crate) fn forget(&mut self) {
        self.calls.clear();
    }

    pub(crate) fn verdict(&self) -> RepetitionVerdict {
        let worst = self
            .calls
            .values()
            .max_by(|a, b| (a.urgency(), a.times, &a.tool).cmp(&(b.urgency(), b.times, &b.tool)));
        let Some(worst) = worst else { return RepetitionVerdict::Fine };
        let (tool, times) = (worst.tool.clone(), worst.times);
        match worst.urgency() {
            0 => RepetitionVerdict::Fine,
            1 => RepetitionVerdict::Tell { tool, times },
            _ => RepetitionVerdict::Ask { tool, times },
        }
    }
}

impl Repetition {
    fn urgency(&self) -> u8 {
        match self.told {
            Some(told) if self.times >= told + PATIENCE => 2,
            Some(_) => 0,
            None if self.times >= PATIENCE => 1,
            None => 0,
        }
    }
}

/// Equal for calls of the same tool with the same arguments.
pub(crate) fn call_key(call: &ToolCall) -> u64 {
    hash_of(&(&call.name, sorted(&Value::Object(call.arguments.clone())).to_string()))
}

/// The order in which a model writes its arguments means nothing.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(members) => Value::Array(members.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(arguments: Value) -> ToolCall {
        ToolCall::new("id", "grep", arguments.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn the_model_is_told_after_three_equal_results_and_the_user_asked_after_three_more() {
        let mut circles = Circles::default();
        let mut seen = String::new();
        for _ in 0..6 {
            circles.note(&call(json!({"a": 1, "b": {"c": 1, "d": 2}})), "[]");
            let verdict = circles.verdict();
            if matches!(verdict, RepetitionVerdict::Tell { .. }) {
                circles.told();
            }
            seen += match verdict {
                RepetitionVerdict::Fine => "f",
                RepetitionVerdict::Tell { times: 3, .. } => "T",
                RepetitionVerdict::Ask { times: 6, .. } => "A",
                _ => "?",
            };
        }
        assert_eq!(seen, "ffTffA");
    }

    #[test]
    fn the_order_of_arguments_means_nothing() {
        let mut circles = Circles::default();
        circles.note(&call(json!({"a": 1, "b": 2})), "x");
        circles.note(&call(json!({"b": 2, "a": 1})), "x");
        circles.note(&call(json!({"a": 1, "b": 2})), "x");
        assert_eq!(circles.verdict(), RepetitionVerdict::Tell { tool: "grep".into(), times: 3 });
    }

    #[test]
    fn a_different_result_starts_the_count_again_and_other_calls_do_not() {
        let mut circles = Circles::default();
        for result in ["x", "x", "y", "y"] {
            circles.note(&call(json!({})), result);
            circles.note(&call(json!({"other": result})), result);
        }
        assert_eq!(circles.verdict(), RepetitionVerdict::Fine);
        circles.note(&call(json!({})), "y");
        assert!(matches!(circles.verdict(), RepetitionVerdict::Tell { .. }));
        circles.forget();
        assert_eq!(circles.verdict(), RepetitionVerdict::Fine);
    }
}
