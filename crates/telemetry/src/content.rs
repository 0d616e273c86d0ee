//! What was said, for those who have asked to see it in their traces.

use protocol::{Content as Said, ToolResult};
use serde_json::{Value, json};

/// Bytes of one text in an attribute. Backends cut or refuse long ones; the log holds all of it.
const MOST_BYTES: usize = 8 * 1024;
/// What stands for the rest.
const CUT: &str = "…";

/// Whether spans hold what users, models and tools say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentCapture {
    /// They hold names, numbers and times only.
    #[default]
    LeftOut,
    /// They do.
    Recorded,
}

/// One message in the form of the conventions, as JSON text.
pub(crate) fn message(role: &str, said: &[Said]) -> String {
    let parts: Vec<Value> = said.iter().filter_map(part).collect();
    json!([{"role": role, "parts": parts}]).to_string()
}

/// The result of a call, as JSON text.
pub(crate) fn result(result: &ToolResult, text: Option<&str>) -> String {
    match (text, result) {
        (Some(text), _) => cut(text),
        (None, Ok(value)) => cut(&value.to_string()),
        (None, Err(error)) => cut(&error.message),
    }
}

/// The arguments of a call, as JSON text.
pub(crate) fn arguments(arguments: &serde_json::Map<String, Value>) -> String {
    cut(&Value::Object(arguments.clone()).to_string())
}

fn part(said: &Said) -> Option<Value> {
    match said {
        Said::Text { text } | Said::Attached { text, .. } => {
            Some(json!({"type": "text", "content": cut(&text.to_string())}))
        }
        Said::ToolUse(call) => Some(json!({
            "type": "tool_call",
            "id": call.id,
            "name": call.name,
            "arguments": arguments(&call.arguments),
        })),
        // Images are large, and a provider's own blocks are meant for it alone.
        _ => None,
    }
}

fn cut(text: &str) -> String {
    if text.len() <= MOST_BYTES {
        return text.to_owned();
    }
    let mut end = MOST_BYTES - CUT.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_letters() {
        for length in [MOST_BYTES - 1, MOST_BYTES, MOST_BYTES + 1, 3 * MOST_BYTES] {
            let text = "ü".repeat(length / 2) + "x";
            let kept = cut(&text);
            assert!(kept.len() <= MOST_BYTES, "{length}");
            assert_eq!(kept == text, text.len() <= MOST_BYTES, "{length}");
        }
    }
}
