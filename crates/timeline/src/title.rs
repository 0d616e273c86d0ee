//! Titles of calls for which the log has none: from the name of the tool and its main argument.

use protocol::ToolCall;
use serde_json::Value;

use crate::safe_text::one_line;

/// Longest rendering of the argument, in characters.
const MAX_ARGUMENT: usize = 80;
/// Arguments that say best what a call is about, the best first. They are spellings of many tools, of
/// ours and of others.
const TELLING: [&str; 13] = [
    "command",
    "pattern",
    "query",
    "symbol",
    "url",
    "path",
    "file_path",
    "filePath",
    "task",
    "name",
    "message",
    "from",
    "id",
];

/// A title that the tool has given, made harmless; `None` if nothing is left of it.
pub(crate) fn given(title: Option<&str>) -> Option<String> {
    title.map(one_line).filter(|title| !title.is_empty())
}

/// `read_file src/main.rs`.
pub(crate) fn made(call: &ToolCall) -> String {
    let name = match one_line(&call.name) {
        name if name.is_empty() => "A call".to_owned(),
        name => name,
    };
    match main_argument(call) {
        Some(argument) => format!("{name} {argument}"),
        None => name,
    }
}

fn main_argument(call: &ToolCall) -> Option<String> {
    let text = |value: &Value| value.as_str().map(one_line).filter(|text| !text.is_empty());
    let told = TELLING.iter().find_map(|key| call.arguments.get(*key).and_then(text));
    let argument = told.or_else(|| call.arguments.values().find_map(text))?;
    Some(match argument.char_indices().nth(MAX_ARGUMENT) {
        Some((cut, _)) => format!("{}…", &argument[..cut]),
        None => argument,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_title_is_the_name_and_the_argument_that_says_most() {
        let long = "x".repeat(100);
        let table = [
            ("grep", json!({"path": "src", "pattern": "TODO"}), "grep TODO".to_owned()),
            ("bash", json!({"command": "make\n  all"}), "bash make all".to_owned()),
            ("mine", json!({"count": 3, "what": "\u{202e}x"}), "mine \\u{202E}x".to_owned()),
            ("git_status", json!({}), "git_status".to_owned()),
            ("read_file", json!({"path": ""}), "read_file".to_owned()),
            ("", json!({}), "A call".to_owned()),
            ("write_file", json!({"path": long}), format!("write_file {}…", "x".repeat(80))),
        ];
        for (name, arguments, expected) in table {
            let call = ToolCall::new("1", name, arguments.as_object().unwrap().clone());
            assert_eq!(made(&call), expected);
        }
        assert_eq!(given(Some(" Read\na ")), Some("Read a".to_owned()));
        assert_eq!(given(Some(" \n")), None);
    }
}
