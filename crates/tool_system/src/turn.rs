//! What has been answered in the present turn, so that an identical call need not run again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::ContentHash;
use serde_json::{Map, Value};
use workspace::RelPath;

/// Answers kept per turn; beyond that, calls simply run.
const MAX_CALLS: usize = 256;

/// The calls of a turn and their answers. A write forgets them all, since any answer may depend on
/// any file.
#[derive(Default)]
pub(crate) struct TurnMemory {
    calls: Mutex<HashMap<CallKey, Answered>>,
}

/// A tool and its arguments, whatever order the arguments came in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct CallKey(&'static str, String);

/// An answer and the files it was made from.
#[derive(Clone)]
pub(crate) struct Answered {
    pub(crate) value: Value,
    pub(crate) files: Vec<(RelPath, ContentHash)>,
}

impl CallKey {
    pub(crate) fn new(tool: &'static str, arguments: &Map<String, Value>) -> Self {
        Self(tool, sorted(&Value::Object(arguments.clone())).to_string())
    }
}

impl TurnMemory {
    pub(crate) fn get(&self, key: &CallKey) -> Option<Answered> {
        self.calls().get(key).cloned()
    }

    pub(crate) fn put(&self, key: CallKey, answered: Answered) {
        let mut calls = self.calls();
        if calls.len() < MAX_CALLS {
            calls.insert(key, answered);
        }
    }

    pub(crate) fn clear(&self) {
        self.calls().clear();
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<CallKey, Answered>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut entries: Vec<_> = fields.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_arguments_does_not_make_another_call() {
        let key = |value: Value| CallKey::new("grep", value.as_object().unwrap());
        assert!(
            key(json!({"a": 1, "b": {"c": 1, "d": 2}}))
                == key(json!({"b": {"d": 2, "c": 1}, "a": 1}))
        );
        assert!(key(json!({"a": [1, 2]})) != key(json!({"a": [2, 1]})));
    }
}
