//! What has been answered in the present turn, so that an identical call need not run again.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use protocol::{ContentHash, Image};
use serde_json::{Map, Value};
use workspace::RelPath;

use crate::ToolContext;
use crate::locked::locked;

/// Answers kept per turn, in number and in bytes. The oldest are forgotten; their calls simply run
/// again.
const MAX_CALLS: usize = 256;
const MAX_BYTES: usize = 256 * 1024;
/// Files above this size are not read again to see whether an earlier answer still holds.
const MAX_RECHECK_BYTES: u64 = 16 * 1024 * 1024;
/// What a value takes besides its text, about.
const NODE_BYTES: usize = 32;

/// The calls of a turn and their answers. A write forgets them all, since any answer may depend on
/// any file.
#[derive(Default)]
pub(crate) struct TurnMemory {
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    answers: HashMap<CallKey, RecordedAnswer>,
    /// The oldest first, with what each takes.
    order: VecDeque<(CallKey, usize)>,
    bytes: usize,
}

/// A tool and its arguments, whatever order the arguments came in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct CallKey(&'static str, String);

/// An answer and the files it was made from.
#[derive(Clone)]
pub(crate) struct RecordedAnswer {
    pub(crate) value: Value,
    pub(crate) files: Vec<(RelPath, ContentHash)>,
    /// Shared with the conversation, so that they weigh nothing here.
    pub(crate) images: Vec<Image>,
    /// Tools that the model may call because of it.
    pub(crate) found_tools: Vec<String>,
}

impl CallKey {
    pub(crate) fn new(tool: &'static str, arguments: &Map<String, Value>) -> Self {
        Self(tool, sorted(&Value::Object(arguments.clone())).to_string())
    }
}

impl TurnMemory {
    /// The answer to an identical call of this turn, if it still holds, with a remark. Its images are
    /// shown again, and its tools are found again: some providers show a model nothing else of it.
    pub(crate) async fn repeated(&self, key: &CallKey, cx: &ToolContext) -> Option<Value> {
        let RecordedAnswer { mut value, files, images, found_tools } = self.get(key)?;
        let unchanged = cx.blocking(move |cx| {
            Ok(files.iter().all(|(path, known)| {
                let bytes = cx
                    .workspace()
                    .open_file(path)
                    .and_then(|mut file| file.read_all(MAX_RECHECK_BYTES));
                bytes.is_ok_and(|disk| {
                    let bytes = cx.unsaved(path, &disk).unwrap_or(disk);
                    ContentHash::of(&bytes) == *known
                })
            }))
        });
        if !unchanged.await.unwrap_or(false) {
            return None;
        }
        let remark = "This exact call was already answered in this turn and nothing was written \
                      through Toolkiln since; this is the same result.";
        value.as_object_mut()?.insert("redundant".into(), remark.into());
        images.into_iter().for_each(|image| _ = cx.show(image));
        cx.reveal(found_tools);
        Some(value)
    }

    fn get(&self, key: &CallKey) -> Option<RecordedAnswer> {
        locked(&self.calls).answers.get(key).cloned()
    }

    pub(crate) fn put(&self, key: CallKey, answered: RecordedAnswer) {
        let weight = weight(&answered.value);
        if weight > MAX_BYTES {
            return;
        }
        let Calls { answers, order, bytes } = &mut *locked(&self.calls);
        if answers.insert(key.clone(), answered).is_some() {
            order.retain(|(known, weight)| {
                let stays = *known != key;
                *bytes -= if stays { 0 } else { *weight };
                stays
            });
        }
        *bytes += weight;
        order.push_back((key, weight));
        while *bytes > MAX_BYTES || order.len() > MAX_CALLS {
            let Some((oldest, weight)) = order.pop_front() else { break };
            answers.remove(&oldest);
            *bytes -= weight;
        }
    }

    pub(crate) fn clear(&self) {
        *locked(&self.calls) = Calls::default();
    }
}

/// What a value takes in memory, about.
fn weight(value: &Value) -> usize {
    let inner: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + weight(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    NODE_BYTES + inner
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

    #[test]
    fn the_newest_answers_are_kept_within_the_budget() {
        let memory = TurnMemory::default();
        let key = |number: usize| CallKey("read_file", number.to_string());
        let answer = |bytes| RecordedAnswer {
            value: "x".repeat(bytes).into(),
            files: Vec::new(),
            images: Vec::new(),
            found_tools: Vec::new(),
        };
        let kept =
            |memory: &TurnMemory| (0..2000).filter(|n| memory.get(&key(*n)).is_some()).count();
        for number in 0..1000 {
            memory.put(key(number), answer(10));
        }
        assert_eq!(kept(&memory), MAX_CALLS);
        assert!(memory.get(&key(999)).is_some() && memory.get(&key(0)).is_none());
        for number in 1000..1010 {
            memory.put(key(number), answer(MAX_BYTES / 4));
        }
        assert_eq!(kept(&memory), 3);
        // The same call again takes the place of its former answer.
        (0..10).for_each(|_| memory.put(key(1009), answer(MAX_BYTES / 4)));
        assert_eq!((kept(&memory), locked(&memory.calls).order.len()), (3, 3));
        memory.put(key(1), answer(MAX_BYTES));
        assert_eq!(kept(&memory), 3, "one that is too large forgets no other");
        memory.clear();
        assert_eq!((kept(&memory), locked(&memory.calls).bytes), (0, 0));
    }
}
