//! A result in a few lines, for the user.

use serde_json::Value;

/// Longest line of a preview.
const MAX_LINE: usize = 100;

/// A preview of any result: its message if it has one, else the start of its text, else its fields.
pub(crate) fn of(result: &Value, max_lines: usize) -> Vec<String> {
    match result {
        Value::String(text) => lines(text, max_lines),
        Value::Object(fields) => {
            if let Some(message) = fields.get("message").and_then(Value::as_str) {
                return lines(message, max_lines);
            }
            for key in ["content", "output", "diff"] {
                if let Some(text) = fields.get(key).and_then(Value::as_str) {
                    return lines(text, max_lines);
                }
            }
            let shown =
                fields.iter().map(|(key, value)| shortened(&format!("{key}: {}", brief(value))));
            shown.take(max_lines).collect()
        }
        other => lines(&other.to_string(), max_lines),
    }
}

/// The first lines of `text`; the last of them says how many more there are.
pub(crate) fn lines(text: &str, max_lines: usize) -> Vec<String> {
    let total = text.lines().count();
    if total <= max_lines {
        return text.lines().map(shortened).collect();
    }
    let kept = max_lines.saturating_sub(1);
    let mut shown: Vec<String> = text.lines().take(kept).map(shortened).collect();
    if max_lines > 0 {
        shown.push(format!("… {} more lines", total - kept));
    }
    shown
}

fn brief(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("{} items", items.len()),
        Value::Object(fields) => format!("{} fields", fields.len()),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE) {
        None => line.to_owned(),
        Some((cut, _)) => format!("{}…", &line[..cut]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_preview_never_has_more_lines_than_asked() {
        let text = json!({"content": "a\nb\nc\nd"});
        assert_eq!(of(&text, 3), ["a", "b", "… 2 more lines"]);
        assert_eq!(of(&text, 4), ["a", "b", "c", "d"]);
        assert!(of(&text, 0).is_empty());
    }

    #[test]
    fn a_message_goes_before_text_and_fields() {
        assert_eq!(of(&json!({"message": "No matches.", "total": 0}), 3), ["No matches."]);
        assert_eq!(
            of(&json!({"entries": [1, 2], "total": 2}), 3),
            ["entries: 2 items", "total: 2"]
        );
        assert_eq!(of(&json!("x".repeat(200)), 1), [format!("{}…", "x".repeat(100))]);
    }
}
