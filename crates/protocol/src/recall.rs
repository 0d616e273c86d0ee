//! Entries of a session's log as text that can be read in pages, and the handles that name them.
//!
//! A conversation that has become too long is shown to a model in part. The log keeps all of it, so
//! a handle needs no second copy and holds after a restart.

use std::fmt::{self, Write as _};

use serde_json::Value;

use crate::{Content, SessionEvent, ToolResult, describe_call};

/// How a handle begins where a path could stand.
const PREFIX: &str = "message:";
/// Bytes after which a line is broken, so that every page holds some whole lines.
const LONGEST_LINE: usize = 1000;
/// What stands between the parts of a message.
const BETWEEN_PARTS: &str = "\n\n";

/// Names an entry of the log of the conversation in which it is used: `message:12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageHandle(pub u64);

impl MessageHandle {
    /// The handle that `text` is, if it is exactly one.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        // Numbers as we write them: no sign, no leading zeros.
        let canonical =
            digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        canonical.then(|| digits.parse().ok().map(Self)).flatten()
    }

    /// Where `text` can be cut, at `at` or a little before it: a handle that loses some of its digits
    /// would name another entry.
    pub fn cut_before(text: &str, at: usize) -> usize {
        let (head, rest) = text.split_at(at);
        let before = head.trim_end_matches(|character: char| character.is_ascii_digit());
        let is_cut = rest.starts_with(|character: char| character.is_ascii_digit());
        before.strip_suffix(PREFIX).filter(|_| is_cut).map_or(at, str::len)
    }
}

impl fmt::Display for MessageHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

/// What an entry of the log says, as text in lines; `None` if it has nothing to read.
pub fn recalled_text(event: &SessionEvent) -> Option<String> {
    let text = match event {
        SessionEvent::UserMessage { content } | SessionEvent::UserAdded { content } => {
            message_text(content)
        }
        SessionEvent::ModelAnswered(answer) => message_text(&answer.content),
        SessionEvent::CallEnded { result, text, .. } => result_text(result, text.as_deref()),
        SessionEvent::Nudged { text } => text.clone(),
        SessionEvent::Compacted(compaction) => compaction.summary.clone(),
        SessionEvent::Nested { entry, .. } => return recalled_text(&entry.event),
        _ => return None,
    };
    Some(in_lines(&text))
}

/// The line of a recalled text on which the text after `before` begins.
pub fn line_after(before: &str) -> usize {
    in_lines(before).matches('\n').count() + 1
}

/// The parts of a message as one text.
pub fn joined_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    parts.into_iter().collect::<Vec<_>>().join(BETWEEN_PARTS)
}

fn message_text(content: &[Content]) -> String {
    let parts: Vec<String> = content
        .iter()
        .filter_map(|content| match content {
            Content::Text { text } | Content::Attached { text, .. } => Some(text.to_string()),
            Content::Image(image) => Some(format!("[image: {image}]")),
            Content::ToolUse(call) => {
                let arguments = readable(&Value::Object(call.arguments.clone()));
                Some(format!("[called {}]\n{arguments}", describe_call(call)))
            }
            Content::ToolResult { result, .. } => Some(result_text(result, None)),
            Content::Opaque { .. } => None,
        })
        .collect();
    joined_parts(parts.iter().map(String::as_str))
}

fn result_text(result: &ToolResult, text: Option<&str>) -> String {
    match (result, text) {
        (_, Some(text)) => text.to_owned(),
        (Ok(value), None) => readable(value),
        (Err(error), None) => format!("{}: {}", error.code, error.full_message()),
    }
}

/// A value in lines: the texts in an object stand as they are, since a page of JSON in which every
/// line break is escaped would be a single line.
fn readable(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let mut text = String::new();
            for (key, value) in fields {
                // Writing to a string cannot fail.
                let _ = match value {
                    Value::String(lines) if lines.contains('\n') => {
                        writeln!(text, "{key}:\n{}", lines.trim_end_matches('\n'))
                    }
                    value => writeln!(text, "{key}: {value:#}"),
                };
            }
            text
        }
        value => format!("{value:#}"),
    }
}

/// A text in which no line is longer than [`LONGEST_LINE`]; a longer one is broken.
fn in_lines(text: &str) -> String {
    let mut lines = String::with_capacity(text.len() + text.len() / LONGEST_LINE);
    for mut line in text.split_inclusive('\n') {
        while line.trim_end_matches('\n').len() > LONGEST_LINE {
            let (piece, rest) = line.split_at(line.floor_char_boundary(LONGEST_LINE));
            lines.push_str(piece);
            lines.push('\n');
            line = rest;
        }
        lines.push_str(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{ErrorCode, LogEntry, ToolCall, ToolError};

    fn text(text: &str) -> Content {
        Content::Text { text: text.into() }
    }

    #[test]
    fn only_what_we_write_is_a_handle() {
        assert_eq!(MessageHandle(12).to_string(), "message:12");
        assert_eq!(MessageHandle::parse("message:12"), Some(MessageHandle(12)));
        let not =
            ["message:", "message:+1", "message:012", "message:1.txt", "messages:1", "result:1"];
        assert!(not.iter().all(|text| MessageHandle::parse(text).is_none()));
        assert_eq!(MessageHandle::parse("message:99999999999999999999"), None);
    }

    #[test]
    fn a_handle_is_not_cut_within_its_number() {
        let text = "as message:123, said";
        let cuts = (0..=text.len()).map(|at| MessageHandle::cut_before(text, at));
        let moved: Vec<_> = cuts.enumerate().filter(|(at, cut)| at != cut).collect();
        assert_eq!(moved, [(11, 3), (12, 3), (13, 3)]);
        assert_eq!(MessageHandle::cut_before("page 1234", 7), 7);
    }

    #[test]
    fn messages_and_results_can_be_read_and_the_rest_says_nothing() {
        let said = SessionEvent::UserMessage { content: vec![text("Look."), text("a file\n")] };
        assert_eq!(recalled_text(&said).as_deref(), Some("Look.\n\na file\n"));
        let value = json!({"output": "one\ntwo\n", "code": 0, "files": ["a"]});
        let ended = SessionEvent::CallEnded {
            call_id: "c".into(),
            result: Ok(value),
            text: None,
            images: Vec::new(),
            title: None,
            found_tools: Vec::new(),
            duration_ms: 1,
        };
        assert_snapshot!(recalled_text(&ended).unwrap(), @r#"
        output:
        one
        two
        code: 0
        files: [
          "a"
        ]
        "#);
        let error = Err(ToolError::new(ErrorCode::Timeout, "slow"));
        let failed = SessionEvent::CallEnded {
            call_id: "c".into(),
            result: error,
            text: None,
            images: Vec::new(),
            title: None,
            found_tools: Vec::new(),
            duration_ms: 1,
        };
        let nested = LogEntry { sequence: 1, at: 0, event: failed };
        let nested = SessionEvent::Nested { call_id: "d".into(), entry: Box::new(nested) };
        assert_eq!(recalled_text(&nested).as_deref(), Some("TIMEOUT: slow"));
        assert_eq!(recalled_text(&SessionEvent::Continued), None);
    }

    #[test]
    fn a_call_is_told_with_all_of_its_arguments() {
        let arguments = json!({"path": "a", "content": "x".repeat(100)});
        let call = ToolCall::new("c", "write", arguments.as_object().cloned().unwrap());
        let told = message_text(&[text("I write."), Content::ToolUse(call)]);
        assert!(told.starts_with("I write.\n\n[called write("), "{told}");
        assert!(told.contains(&"x".repeat(100)), "{told}");
    }

    proptest! {
        #[test]
        fn lines_are_short_and_nothing_but_breaks_is_added(text in "(.{0,40}\n|é{0,900}|x{0,2500}){0,6}") {
            let lines = in_lines(&text);
            prop_assert!(lines.lines().all(|line| line.len() <= LONGEST_LINE));
            prop_assert_eq!(lines.replace('\n', ""), text.replace('\n', ""));
        }

        #[test]
        fn what_follows_a_beginning_is_at_its_line_or_after(
            before in "([a-zé]{0,40}\n|x{0,2500}){0,4}",
            after in "[a-w]{1,20}",
        ) {
            let whole = in_lines(&format!("{before}§{after}"));
            let line = whole.lines().position(|line| line.contains('§')).unwrap() + 1;
            let named = line_after(&before);
            prop_assert!(named <= line && line <= named + 1, "{named} {line}");
        }
    }
}
