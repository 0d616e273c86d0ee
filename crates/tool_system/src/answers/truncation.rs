//! Cuts a result that is too large, says what is missing, and leaves a handle to the rest.
//!
//! Tools bound their own answers; this is the wall behind them, for results whose size nobody
//! foresaw. It cuts the heaviest text or list and keeps the type of every field, so that a cut
//! result still fits its schema.

use std::sync::Arc;

use protocol::ToolError;
use serde_json::{Value, json};

use crate::Limits;
use crate::result_store::ResultStore;

/// Bytes of an error's message, and of its suggestion.
const MAX_ERROR_TEXT: usize = 4 * 1024;
/// Bytes of one detail of an error; larger ones are left out.
const MAX_ERROR_DETAIL: usize = 16 * 1024;
/// Room for the note that describes a cut.
const NOTE_BYTES: usize = 400;
/// How often the heaviest part is looked for; each cut removes at least the present excess.
const MAX_CUTS: usize = 8;

/// Cuts a result to its limits: what a command has printed, if one ran, and then all of it.
pub(crate) fn fit_result(value: Value, ran: bool, limits: &Limits, store: &ResultStore) -> Value {
    let value = match ran {
        true => fit_output(value, limits.run_output_bytes, limits.read_line_bytes, store),
        false => value,
    };
    fit(value, limits.result_bytes, store)
}

/// Cuts `value` to about `limit` bytes of JSON.
fn fit(value: Value, limit: u64, store: &ResultStore) -> Value {
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
    match value.get_mut("truncation") {
        Some(Value::Array(earlier)) => earlier.extend(notes),
        _ => value["truncation"] = Value::Array(notes),
    }
    value
}

/// The fields in which tools hand on what a command has printed.
const OUTPUTS: [&str; 4] = ["output", "error", "stdout", "stderr"];

/// Cuts what a command has printed to about `limit` bytes of each stream: its beginning and its end
/// are shown, in whole lines, and a handle leads to all of it. `longest` is how long a line can be
/// that the handle's readers are shown whole.
fn fit_output(mut value: Value, limit: u64, longest: u64, store: &ResultStore) -> Value {
    let as_size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
    let mut notes = Vec::new();
    for field in OUTPUTS {
        let Some(Value::String(text)) = value.get_mut(field) else { continue };
        if text.len() <= as_size(limit) {
            continue;
        }
        let whole = broken(std::mem::take(text), as_size(longest));
        let (head, tail) = ends(&whole, as_size(limit));
        let (first, total) = (head.lines().count(), whole.lines().count());
        let left_out = total - first - tail.lines().count();
        let (head, tail) = (head.to_owned(), tail.to_owned());
        let handle = store.keep(whole);
        let rest = format!("read_file(path=\"{handle}\", offset={})", first + 1);
        *text = format!("{head}[… {left_out} lines left out: {rest} …]\n{tail}");
        notes.push(json!({
            "field": field,
            "unit": "lines",
            "total": total,
            "shown": total - left_out,
            "handle": handle,
            "hint": format!("{rest} reads on."),
        }));
    }
    if !notes.is_empty() {
        value["truncation"] = Value::Array(notes);
    }
    value
}

/// The beginning and the end of a text in whole lines, three quarters and one.
fn ends(text: &str, limit: usize) -> (&str, &str) {
    let head = &text[..floor_char_boundary(text, limit / 4 * 3)];
    let head = &head[..head.rfind('\n').map_or(0, |at| at + 1)];
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(limit / 4))..];
    let tail = tail.split_once('\n').map_or("", |(_, tail)| tail);
    (head, tail)
}

/// The text behind a handle, in lines that can be read.
pub(crate) fn in_lines(text: Arc<str>, longest: u64) -> Arc<str> {
    let longest = usize::try_from(longest).unwrap_or(usize::MAX);
    match text.lines().any(|line| line.len() > longest) {
        true => broken(text.as_ref().to_owned(), longest).into(),
        false => text,
    }
}

/// A text in which no line is longer than can be read; a longer one is broken.
fn broken(text: String, longest: usize) -> String {
    let room = longest.max(4);
    if text.lines().all(|line| line.len() <= room) {
        return text;
    }
    let mut whole = String::with_capacity(text.len() + text.len() / room + 1);
    for mut line in text.split_inclusive('\n') {
        while line.trim_end_matches('\n').len() > room {
            let (piece, rest) = line.split_at(floor_char_boundary(line, room));
            whole.push_str(piece);
            whole.push('\n');
            line = rest;
        }
        whole.push_str(line);
    }
    whole
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
            // Where a line ends, unless too much would be lost.
            let line_end = text[..keep].rfind('\n').map(|at| at + 1);
            let keep = line_end.filter(|end| *end > keep / 2).unwrap_or(keep);
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
    fn output_is_cut_between_lines_and_the_handle_gives_all_of_it() {
        let store = store();
        let lines: Vec<String> = (1..=5000).map(|number| format!("line {number}\n")).collect();
        let cut = fit_output(json!({"output": lines.concat(), "error": "e\n"}), 4000, 1000, &store);
        let shown = cut["output"].as_str().unwrap();
        assert!(shown.len() < 4200 && cut["error"] == "e\n");
        let note = &cut["truncation"][0];
        let handle = note["handle"].as_str().unwrap();
        assert_eq!(*store.get(handle).unwrap(), *lines.concat());
        let (head, rest) = shown.split_once("[… ").unwrap();
        let (marker, tail) = rest.split_once(" …]\n").unwrap();
        let first = head.lines().count();
        assert_eq!(head, lines[..first].concat());
        assert_eq!(tail, lines[5000 - tail.lines().count()..].concat());
        let left_out = 5000 - first - tail.lines().count();
        let next = first + 1;
        assert_eq!(
            marker,
            format!("{left_out} lines left out: read_file(path=\"{handle}\", offset={next})")
        );
        assert_eq!((&note["total"], &note["shown"]), (&json!(5000), &json!(5000 - left_out)));
    }

    #[test]
    fn a_line_that_cannot_be_read_whole_is_broken() {
        let store = store();
        let cut = fit_output(json!({"stdout": "é".repeat(5000)}), 1000, 100, &store);
        let kept = store.get(cut["truncation"][0]["handle"].as_str().unwrap()).unwrap();
        assert!(kept.lines().all(|line| line.len() <= 100));
        assert_eq!(kept.replace('\n', ""), "é".repeat(5000));
        assert!(cut["stdout"].as_str().unwrap().starts_with(&"é".repeat(50)));
        assert_eq!(broken("a\nbb\n\n".into(), 4), "a\nbb\n\n");
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
