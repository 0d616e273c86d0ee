//! Cuts a result that is too large, says what is missing, and leaves a handle to the rest.
//!
//! Tools bound their own answers; this is the wall behind them, for results whose size nobody
//! foresaw. It cuts the heaviest text or list and keeps the type of every field, so that a cut
//! result still fits its schema.

use protocol::ToolError;
use serde_json::{Value, json};

use crate::result_store::ResultStore;

/// Bytes of an error's message, and of its suggestion.
const MAX_ERROR_TEXT: usize = 4 * 1024;
/// Bytes of one detail of an error; larger ones are left out.
const MAX_ERROR_DETAIL: usize = 16 * 1024;
/// Room for the note that describes a cut.
const NOTE_BYTES: usize = 400;
/// How often the heaviest part is looked for; each cut removes at least the present excess.
const MAX_CUTS: usize = 8;

/// Cuts `value` to about `limit` bytes of JSON.
pub(crate) fn fit(value: Value, limit: u64, store: &ResultStore) -> Value {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut value = value;
    let mut notes = Vec::new();
    for _ in 0..MAX_CUTS {
        let size = json_size(&value);
        if size <= limit {
            break;
        }
        let excess = size - limit + NOTE_BYTES;
        let path = heaviest(&value);
        let Some(part) = value.pointer_mut(&path) else { break };
        let Some(note) = cut(part, &path, excess, store) else { break };
        notes.push(note);
    }
    if notes.is_empty() {
        return value;
    }
    if !value.is_object() {
        value = json!({"result": value});
    }
    value["truncation"] = Value::Array(notes);
    value
}

/// Cuts an error that echoes too much of what it was given. There is nothing behind it worth a
/// handle: the caller has sent it all.
pub(crate) fn fit_error(mut error: ToolError) -> ToolError {
    for text in std::iter::once(&mut error.message).chain(error.suggestion.as_mut()) {
        if text.len() > MAX_ERROR_TEXT {
            let total = text.len();
            text.truncate(floor_char_boundary(text, MAX_ERROR_TEXT));
            text.push_str(&format!("… [{total} bytes in all]"));
        }
    }
    error.details.retain(|_, value| json_size(value) <= MAX_ERROR_DETAIL);
    error
}

/// The pointer to the text or list whose shortening helps most: the way down always takes the
/// heaviest child, and stops at a list in which no single item carries most of the weight.
fn heaviest(value: &Value) -> String {
    let mut pointer = String::new();
    let mut here = value;
    loop {
        let child: Option<(String, &Value)> = match here {
            Value::Object(fields) => {
                let heaviest = fields.iter().max_by_key(|(_, value)| json_size(value));
                heaviest.map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value))
            }
            Value::Array(items) => {
                let heaviest = items.iter().enumerate().max_by_key(|(_, item)| json_size(item));
                let heaviest = heaviest.filter(|(_, item)| json_size(item) * 2 > json_size(here));
                heaviest.map(|(index, item)| (index.to_string(), item))
            }
            _ => None,
        };
        match child {
            Some((step, value)) => {
                pointer = format!("{pointer}/{step}");
                here = value;
            }
            None => return pointer,
        }
    }
}

fn cut(part: &mut Value, path: &str, excess: usize, store: &ResultStore) -> Option<Value> {
    let field = path.trim_start_matches('/').replace('/', ".");
    let note = |unit: &str, total: usize, shown: usize, handle: String| {
        json!({
            "field": field,
            "unit": unit,
            "total": total,
            "shown": shown,
            "handle": handle,
            "hint": format!("Narrow the call, or read_file(path=\"{handle}\", offset=…, limit=…) for the rest."),
        })
    };
    match part {
        Value::String(text) => {
            let keep = floor_char_boundary(text, text.len().saturating_sub(excess));
            let total = text.chars().count();
            let shown = text[..keep].chars().count();
            let handle = store.keep(std::mem::take(text));
            *text = store.get(&handle)?[..keep].to_owned();
            Some(note("characters", total, shown, handle))
        }
        Value::Array(items) if !items.is_empty() => {
            let total = items.len();
            let lines: Vec<String> = items.iter().map(Value::to_string).collect();
            let mut removed = 0;
            while removed < excess
                && let Some(item) = items.pop()
            {
                removed += json_size(&item) + 1;
            }
            Some(note("items", total, items.len(), store.keep(lines.join("\n"))))
        }
        _ => None,
    }
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0)
}

/// The length of the value as JSON, near enough, without writing it.
fn json_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| json_size(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(key, value)| key.len() + 4 + json_size(value)).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> ResultStore {
        ResultStore::new(1 << 20)
    }

    #[test]
    fn what_fits_is_left_alone() {
        let value = json!({"content": "short", "size": 5});
        assert_eq!(fit(value.clone(), 1000, &store()), value);
    }

    #[test]
    fn a_long_text_is_cut_with_total_and_handle_and_the_handle_gives_it_back() {
        let store = store();
        let text = "é".repeat(4000);
        let cut = fit(json!({"content": text, "size": 8000}), 2000, &store);
        let note = &cut["truncation"][0];
        assert_eq!((&note["field"], &note["total"]), (&json!("content"), &json!(4000)));
        let shown = cut["content"].as_str().unwrap();
        assert_eq!(shown.chars().count() as u64, note["shown"].as_u64().unwrap());
        assert!(cut.to_string().len() < 2400);
        let handle = note["handle"].as_str().unwrap();
        assert_eq!(*store.get(handle).unwrap(), *text);
    }

    #[test]
    fn a_long_list_loses_its_end_and_is_kept_one_item_a_line() {
        let store = store();
        let items: Vec<Value> = (0..1000).map(|index| json!({"line": index})).collect();
        let cut = fit(json!({"matches": items, "total": 1000}), 3000, &store);
        let note = &cut["truncation"][0];
        assert_eq!((&note["unit"], &note["total"]), (&json!("items"), &json!(1000)));
        let shown = cut["matches"].as_array().unwrap().len();
        assert!(shown > 100 && shown < 1000, "{shown}");
        let kept = store.get(note["handle"].as_str().unwrap()).unwrap();
        assert_eq!(kept.lines().count(), 1000);
    }

    #[test]
    fn an_error_never_echoes_everything_it_was_given() {
        let given = "x".repeat(1 << 20);
        let error = ToolError::new(protocol::ErrorCode::InvalidPath, format!("{given} is no path"))
            .detail("path", given)
            .detail("limit", 4096);
        let error = fit_error(error);
        assert!(error.message.len() < MAX_ERROR_TEXT + 40, "{}", error.message.len());
        assert!(error.message.ends_with("… [1048587 bytes in all]"));
        assert_eq!(error.details.keys().collect::<Vec<_>>(), ["limit"]);
    }

    #[test]
    fn a_value_that_is_no_object_gets_an_envelope() {
        let cut = fit(json!("x".repeat(5000)), 1000, &store());
        assert!(cut["result"].as_str().unwrap().len() <= 1000);
        assert_eq!(cut["truncation"][0]["unit"], "characters");
    }
}
