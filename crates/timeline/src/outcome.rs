//! What a card says about a result.

use protocol::ToolResult;
use serde_json::{Map, Value};

use crate::safe_text::{harmless_json, output_line, safe};

/// Bytes of a result that are shown as a whole.
const MAX_DETAIL: usize = 64 * 1024;

/// A result in a few lines, for a log that holds no words of the tool about it.
pub(crate) fn brief(value: &Value) -> Vec<String> {
    let text = text_in(value, &["message", "content", "output", "diff"]);
    let lines: Vec<&str> = text.map(|text| text.lines().collect()).unwrap_or_default();
    match lines.as_slice() {
        [first, _, _, ..] => {
            vec![output_line(first), format!("… {} more lines", lines.len() - 1)]
        }
        few => few.iter().map(|line| output_line(line)).collect(),
    }
}

/// The exit code of a command. A log holds the spelling that callers of the tool are promised: that of most
/// tools, of `run_code` in camelCase, of `bash`.
pub(crate) fn exit_code(value: &Value) -> Option<i64> {
    ["exit_code", "exitCode", "return_code"].iter().find_map(|key| value.get(*key)?.as_i64())
}

/// The changes that the result tells of: the call's own, or those that a command made.
pub(crate) fn diff(value: &Value) -> Option<String> {
    let places = [value.get("diff"), value.pointer("/changes/diff")];
    let text = places.into_iter().flatten().find_map(Value::as_str)?;
    (!text.is_empty()).then(|| lines_of(text))
}

/// Why changes that a command wanted to make were not made.
pub(crate) fn dropped(value: &Value) -> Option<String> {
    value.pointer("/changes/dropped")?.as_str().map(safe)
}

/// The words with which a call, or what a command wanted to change, was denied.
pub(crate) fn denial(result: &ToolResult) -> Option<String> {
    match result {
        Err(error) => error.is_denial().then(|| error.message.clone()),
        Ok(value) => {
            let changes = value.get("changes").filter(|changes| changes["denied"] == true)?;
            Some(changes["dropped"].as_str().unwrap_or_default().to_owned())
        }
    }
}

/// The whole result as text: what the model read, else the text in the result, else its JSON.
pub(crate) fn detail(value: &Value, text: Option<&str>) -> String {
    let text = text.or_else(|| text_in(value, &["content", "output"]));
    let shown = match (text, value) {
        (Some(text), _) => lines_of(text),
        (None, Value::Null) => String::new(),
        (None, value) => harmless_json(&format!("{value:#}")),
    };
    let kept = shown.floor_char_boundary(MAX_DETAIL);
    match shown.len() - kept {
        0 => shown,
        more => format!("{}\n… {more} more bytes", &shown[..kept]),
    }
}

/// Arguments as JSON with a line for each.
pub(crate) fn arguments(arguments: &Map<String, Value>) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    // A map of JSON values is always written.
    harmless_json(&serde_json::to_string_pretty(arguments).unwrap_or_default())
}

fn text_in<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    match value {
        Value::String(text) => Some(text),
        Value::Object(fields) => keys.iter().find_map(|key| fields.get(*key)?.as_str()),
        _ => None,
    }
}

fn lines_of(text: &str) -> String {
    text.lines().map(output_line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_has_a_few_lines_and_all_of_them() {
        let table = [
            (json!("one\ntwo"), vec!["one", "two"], "one\ntwo"),
            (json!({"content": "a\nb\nc\u{1b}"}), vec!["a", "… 2 more lines"], "a\nb\nc\\x1B"),
            (
                json!({"message": "No files.", "n": 0}),
                vec!["No files."],
                "{\n  \"message\": \"No files.\",\n  \"n\": 0\n}",
            ),
            (json!([1]), vec![], "[\n  1\n]"),
            (json!(null), vec![], ""),
        ];
        for (value, lines, whole) in table {
            assert_eq!(brief(&value), lines, "{value}");
            assert_eq!(detail(&value, None), whole, "{value}");
        }
        assert_eq!(
            detail(&json!({"content": "x"}), Some("what the model read")),
            "what the model read"
        );
        let long = detail(&json!("x".repeat(MAX_DETAIL + 5)), None);
        assert!(long.ends_with("x\n… 5 more bytes"));
    }

    #[test]
    fn changes_are_found_in_the_result_of_a_tool_and_of_a_command() {
        let table = [
            (json!({"diff": "+a\n"}), Some("+a"), None),
            (json!({"changes": {"diff": "+b\n"}}), Some("+b"), None),
            (json!({"changes": {"dropped": "no\u{202e}"}}), None, Some("no\\u{202E}")),
            (json!({"diff": ""}), None, None),
            (json!({"diff": 7, "changes": []}), None, None),
        ];
        for (value, expected, why) in table {
            assert_eq!(diff(&value).as_deref(), expected, "{value}");
            assert_eq!(dropped(&value).as_deref(), why, "{value}");
        }
        assert_eq!(exit_code(&json!({"exitCode": 3})), Some(3));
        assert_eq!(exit_code(&json!({"output": "", "return_code": 1})), Some(1));
        assert_eq!(exit_code(&json!("exit_code")), None);
    }
}
