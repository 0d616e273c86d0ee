//! Results that can be shown in a few words, because a later call is about the same thing or
//! because they are long and old.

use std::collections::HashMap;

use protocol::{MessageHandle, ToolCall, ToolResult, describe_call};
use serde_json::Value;

use crate::circles::call_key;
use crate::conversation::{Conversation, Unit};
use crate::facts::paths;

/// Results up to this many bytes stay, since the words in their place would take as much.
const WORTH_REPLACING: usize = 400;
/// Results above this many bytes are long.
const LONG: usize = 2048;
/// How much of the beginning of a long result stays.
const BEGINNING_LINES: usize = 3;
const BEGINNING_CHARACTERS: usize = 200;

/// The calls of a conversation and which of them are the last about something.
#[derive(Debug, Default)]
pub(crate) struct LastCalls {
    order: HashMap<String, usize>,
    last_by_call: HashMap<u64, usize>,
    last_by_path: HashMap<String, usize>,
}

impl LastCalls {
    pub(crate) fn of(units: &[Unit]) -> Self {
        let mut last_calls = Self::default();
        let calls = units.iter().flat_map(Unit::calls).map(|(call, _)| call);
        for (position, call) in calls.enumerate() {
            last_calls.order.insert(call.id.clone(), position);
            last_calls.last_by_call.insert(call_key(call), position);
            for path in paths(&call.arguments) {
                last_calls.last_by_path.insert(path.to_owned(), position);
            }
        }
        last_calls
    }

    /// Whether a later call is about the same thing.
    fn is_superseded(&self, call: &ToolCall) -> bool {
        let position = self.position(call);
        let later = |last: Option<&usize>| last.is_some_and(|&last| last > position);
        later(self.last_by_call.get(&call_key(call)))
            || paths(&call.arguments).iter().any(|&path| later(self.last_by_path.get(path)))
    }

    fn position(&self, call: &ToolCall) -> usize {
        self.order.get(&call.id).copied().unwrap_or(usize::MAX)
    }

    /// What is shown in place of a result, `handle` being its entry in the log.
    pub(crate) fn stub(
        &self,
        call: &ToolCall,
        result: &ToolResult,
        handle: Option<MessageHandle>,
    ) -> String {
        let described = describe_call(call);
        if self.is_superseded(call) {
            let again = handle.map(|handle| format!(", or read {handle} like a file"));
            let again = again.unwrap_or_default();
            return format!(
                "[left out: an older result of {described}; see the later call{again}]"
            );
        }
        let text = result_text(result);
        let again = match handle {
            Some(handle) => format!("Read {handle} like a file if you need it."),
            None => "Ask for a smaller part if you need it.".to_owned(),
        };
        let length = text.chars().count();
        let beginning = beginning(&text);
        format!(
            "[left out: the result of {described}, {length} characters. {again} It began:]\n{beginning}"
        )
    }
}

/// The calls whose results can be shown in a few words. The newest `protected` calls never are.
pub(crate) fn superfluous(conversation: &Conversation, protected: usize) -> Vec<String> {
    let last_calls = LastCalls::of(conversation.units());
    let oldest_protected = last_calls.order.len().saturating_sub(protected);
    let units = conversation.units().iter();
    let calls = units.flat_map(|unit| unit.calls().map(move |(call, result)| (unit, call, result)));
    let chosen = calls.filter(|(unit, call, result)| {
        let Ok(value) = result else { return false };
        if conversation.elided().contains(&call.id) || last_calls.position(call) >= oldest_protected
        {
            return false;
        }
        let bytes = value.to_string().len();
        bytes > LONG
            || unit.has_images(call)
            || (bytes > WORTH_REPLACING && last_calls.is_superseded(call))
    });
    chosen.map(|(_, call, _)| call.id.clone()).collect()
}

fn result_text(result: &ToolResult) -> String {
    match result {
        Ok(Value::String(text)) => text.clone(),
        Ok(value) => value.to_string(),
        Err(error) => error.full_message(),
    }
}

fn beginning(text: &str) -> String {
    let lines: Vec<_> = text.lines().take(BEGINNING_LINES).collect();
    let mut lines = lines.join("\n");
    let characters = lines.chars().take(BEGINNING_CHARACTERS);
    let length = characters.map(char::len_utf8).sum();
    lines.truncate(MessageHandle::cut_before(&lines, length));
    lines
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use protocol::{Compaction, Content};
    use serde_json::json;

    use super::*;

    /// A conversation in which each call with its result is an answer of its own.
    fn conversation(calls: &[(&str, Value, Value)]) -> Conversation {
        let mut conversation = Conversation::default();
        for (index, (name, arguments, result)) in calls.iter().enumerate() {
            let id = format!("c{index}");
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            let call = ToolCall::new(&id, *name, arguments);
            conversation.answer(index as u64 + 1, vec![Content::ToolUse(call)]);
            let tokens = result.to_string().len() / 4;
            let report = Ok(result.clone()).into();
            conversation.result(index as u64 + 51, &id, report, tokens as u64);
        }
        conversation
    }

    #[test]
    fn long_and_superseded_results_are_superfluous_and_the_newest_are_not() {
        let medium = json!("m".repeat(1000));
        let long = json!("l".repeat(3000));
        let conversation = conversation(&[
            ("read", json!({"path": "a", "from_line": 1}), medium.clone()),
            ("read", json!({"path": "b"}), medium.clone()),
            ("grep", json!({"pattern": "x", "glob": "*"}), medium.clone()),
            ("grep", json!({"pattern": "y"}), long.clone()),
            ("grep", json!({"glob": "*", "pattern": "x"}), json!("short")),
            ("edit", json!({"path": "a"}), json!("done")),
            ("read", json!({"path": "c"}), long),
        ]);
        assert_eq!(superfluous(&conversation, 1), ["c0", "c2", "c3"]);
        assert_eq!(superfluous(&conversation, 0), ["c0", "c2", "c3", "c6"]);
        assert!(superfluous(&conversation, 7).is_empty());
    }

    #[test]
    fn what_stands_in_place_of_a_result() {
        let long = format!(
            "first line\nsecond\n{}\nThe rest: result:00ff12, by read_file.",
            "x".repeat(3000)
        );
        let whole = conversation(&[
            ("read", json!({"path": "a"}), json!("y".repeat(3000))),
            ("read", json!({"path": "a"}), json!("new")),
            ("bash", json!({"command": "make"}), json!(long)),
            ("grep", json!({"pattern": "x"}), json!({"matches": "z".repeat(3000)})),
        ]);
        let elided = superfluous(&whole, 0);
        let shown = |readable: bool| {
            let mut conversation = whole.clone();
            let elided = elided.clone();
            conversation.compact(&Compaction { elided, readable, ..Compaction::default() });
            assert!(conversation.tokens() < whole.tokens());
            assert!(superfluous(&conversation, 0).is_empty(), "once is enough");
            let results = conversation.units().iter().flat_map(Unit::calls);
            let results: Vec<_> = results.map(|(_, result)| result_text(result)).collect();
            results.join("\n").replace(&"x".repeat(100), "X").replace(&"z".repeat(100), "Z")
        };
        // The handle in the text may be dead by then, and is not promised.
        assert_snapshot!(shown(true), @r#"
        [left out: an older result of read(path="a"); see the later call, or read message:51 like a file]
        new
        [left out: the result of bash(command="make"), 3057 characters. Read message:53 like a file if you need it. It began:]
        first line
        second
        Xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        [left out: the result of grep(pattern="x"), 3014 characters. Read message:54 like a file if you need it. It began:]
        {"matches":"Zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz
        "#);
        assert_snapshot!(shown(false), @r#"
        [left out: an older result of read(path="a"); see the later call]
        new
        [left out: the result of bash(command="make"), 3057 characters. Ask for a smaller part if you need it. It began:]
        first line
        second
        Xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        [left out: the result of grep(pattern="x"), 3014 characters. Ask for a smaller part if you need it. It began:]
        {"matches":"Zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz
        "#);
    }
}
