//! Cuts a result that is too large, says what is missing, and leaves a handle to the rest.
//!
//! Tools bound their own answers; this is the last limit, for results that are larger than their
//! tool expected. It cuts the heaviest text or list and keeps the type of every field, so that a cut
//! result still fits its schema.

use std::sync::Arc;

use protocol::ToolError;
use serde_json::{Value, json};

use crate::extensions::reading::read_file::NAME as READ_FILE;
use crate::result_store::ResultStore;
use crate::{Limits, Vocabulary};

/// Bytes of an error's message, and of its suggestion.
const MAX_ERROR_TEXT: usize = 4 * 1024;
/// Bytes of one detail of an error; larger ones are left out.
const MAX_ERROR_DETAIL: usize = 16 * 1024;
/// Room for the note that describes a cut.
const NOTE_BYTES: usize = 400;
/// How often the heaviest part is looked for; each cut removes at least the present excess.
const MAX_CUTS: usize = 8;

/// Bytes of the beginning of a long output that are shown in the standard vocabulary.
const BRIEF_HEAD_BYTES: usize = 512;
/// Bytes of its end, where programs say how it went.
const BRIEF_TAIL_BYTES: usize = 3 * 512;

/// Cuts a result to its limits: what a command has printed, if one ran, and then all of it.
pub(crate) fn fit_result(
    value: Value,
    ran: Option<OutputForm>,
    limits: &Limits,
    store: &ResultStore,
) -> Value {
    let value = match ran {
        Some(form) => fit_output(value, form, limits, store),
        None => value,
    };
    fit(value, limits.result_bytes, store)
}

/// How an output that is too long is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputForm {
    /// A few lines of either end: the handle is cheaper than what is not needed.
    Brief,
    /// As much as the limit allows, for agents that have no other way to the rest.
    Full,
}

impl OutputForm {
    pub(crate) fn of(vocabulary: Vocabulary) -> Self {
        match vocabulary {
            Vocabulary::Standard => OutputForm::Brief,
            _ => OutputForm::Full,
        }
    }

    /// Bytes of the beginning and of the end.
    fn ends(self, limit: usize) -> (usize, usize) {
        match self {
            OutputForm::Brief => {
                (BRIEF_HEAD_BYTES.min(limit / 4), BRIEF_TAIL_BYTES.min(limit / 4 * 3))
            }
            OutputForm::Full => (limit / 4 * 3, limit / 4),
        }
    }

    /// The text between the two ends.
    fn marker(self, left_out: &LeftOut, handle: &str) -> String {
        let LeftOut { next, .. } = left_out;
        match self {
            OutputForm::Brief => {
                let what = left_out.in_words();
                format!("[{what} left out; {READ_FILE} path=\"{handle}\" offset={next}]")
            }
            OutputForm::Full => {
                let lines = left_out.lines;
                let rest = format!("{READ_FILE}(path=\"{handle}\", offset={next})");
                format!("[… {lines} lines left out: {rest} …]")
            }
        }
    }
}

/// What is missing between the two ends of an output.
struct LeftOut {
    /// Lines of which not all is shown.
    lines: usize,
    all_lines: usize,
    /// Set if an end is a part of a line, so that lines do not count what is missing.
    bytes: Option<(usize, usize)>,
    /// The first of the lines.
    next: usize,
}

impl LeftOut {
    fn in_words(&self) -> String {
        match self.bytes {
            Some((bytes, all)) => format!("{bytes} of {all} bytes"),
            None => format!("{} of {} lines", self.lines, self.all_lines),
        }
    }
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

/// Cuts what a command has printed, each stream by itself: its beginning and its end are shown, in
/// whole lines, and a handle leads to all of it.
fn fit_output(mut value: Value, form: OutputForm, limits: &Limits, store: &ResultStore) -> Value {
    let as_size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
    let limit = as_size(limits.run_output_bytes);
    let mut notes = Vec::new();
    for field in OUTPUTS {
        let Some(Value::String(text)) = value.get_mut(field) else { continue };
        if text.len() <= limit {
            continue;
        }
        let whole = broken(std::mem::take(text), as_size(limits.read_line_bytes));
        let (head, tail, left_out) = both_ends(&whole, form.ends(limit), form);
        let (head, tail) = (head.to_owned(), tail.to_owned());
        let LeftOut { lines, all_lines, next, .. } = left_out;
        let handle = store.keep(whole);
        let marker = form.marker(&left_out, &handle);
        let after_head = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        *text = format!("{head}{after_head}{marker}\n{tail}");
        notes.push(json!({
            "field": field,
            "unit": "lines",
            "total": all_lines,
            "shown": all_lines - lines,
            "handle": handle,
            "hint": format!("{READ_FILE}(path=\"{handle}\", offset={next}) reads on."),
        }));
    }
    if !notes.is_empty() {
        value["truncation"] = Value::Array(notes);
    }
    value
}

/// The beginning and the end of a text in whole lines. Where not even one fits, a brief form shows a
/// part of it, which counts as left out.
fn both_ends(text: &str, bytes: (usize, usize), form: OutputForm) -> (&str, &str, LeftOut) {
    let first = &text[..floor_char_boundary(text, bytes.0)];
    let mut head = &first[..first.rfind('\n').map_or(0, |at| at + 1)];
    let last = &text[text.ceil_char_boundary(text.len().saturating_sub(bytes.1))..];
    // What follows the last line ending is nothing, which is no line.
    let mut tail = last.split_once('\n').map_or("", |(_, tail)| tail);
    let all_lines = text.lines().count();
    let shown = head.lines().count();
    let lines = all_lines - shown - tail.lines().count();
    let (has_head, has_tail) = (!head.is_empty(), !tail.is_empty());
    if form == OutputForm::Brief {
        head = if has_head { head } else { first };
        tail = if has_tail { tail } else { last };
    }
    let is_part = form == OutputForm::Brief && !(has_head && has_tail);
    let bytes = is_part.then_some((text.len() - head.len() - tail.len(), text.len()));
    (head, tail, LeftOut { lines, all_lines, bytes, next: shown + 1 })
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
            "hint": format!("Narrow the call, or {READ_FILE}(path=\"{handle}\", offset=…, limit=…) for the rest."),
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
mod tests;
