//! Texts of the tools that act, for models and users: the parts that several of them share.
//!
//! A text for a model has the content first and unescaped, then at most one line of notes in brackets.
//! It is a pure function of the arguments that were used and of the result's value; what only programs
//! need stays in the value. A summary tells the user in one line what was done.

mod changed_lines;
mod command;
mod edit;

use serde_json::Value;

use crate::ToolArguments;
use crate::extensions::reading::read_file::NAME as READ_FILE;
use crate::search_notes::counted;

pub(crate) use changed_lines::{FileFate, changed_files, shown_changes};
pub(crate) use command::{Printed, add_changes, changed_words, command_summary};
pub(crate) use edit::{EditText, EditedFiles, edit_summary, written_summary, written_text};

/// Characters of a command or a text in a summary.
const MAX_TITLE_CHARS: usize = 80;

/// A text for a model while it is put together.
#[derive(Debug, Default)]
pub(crate) struct OutcomeText {
    content: String,
    notes: Vec<String>,
}

impl OutcomeText {
    pub(crate) fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), notes: Vec::new() }
    }

    /// Adds content, on lines of its own.
    pub(crate) fn block(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.content.is_empty() && !self.content.ends_with('\n') {
            self.content.push('\n');
        }
        self.content.push_str(text);
    }

    /// Adds to the line in brackets.
    pub(crate) fn note(&mut self, note: impl AsRef<str>) {
        let note = note.as_ref().split_whitespace().collect::<Vec<_>>().join(" ");
        let note = note.trim_end_matches('.');
        if !note.is_empty() {
            self.notes.push(note.to_owned());
        }
    }

    /// Adds what the executor and the user have added to a result, whatever the tool is: checks, the
    /// user's words, remarks, and what was cut.
    pub(crate) fn add_outcome(&mut self, result: &Value) {
        for check in items(result, "checks") {
            self.add_check(check);
        }
        if let Some(note) = text_at(result, "user_note") {
            self.block(&format!("The user says: {note}"));
        }
        if let Some(edited) = text_at(result, "edited_by_user") {
            // The rest of the sentence is about a field that is not shown as such.
            self.note(edited.split("`diff`").next().unwrap_or(edited));
        }
        for key in ["remark", "redundant"] {
            if let Some(remark) = text_at(result, key) {
                self.note(remark);
            }
        }
        for key in ["links", "notes", "hints", "warnings"] {
            items(result, key).filter_map(Value::as_str).for_each(|remark| self.note(remark));
        }
        for cut in items(result, "truncation") {
            self.add_cut(cut);
        }
    }

    fn add_check(&mut self, check: &Value) {
        let name = text_at(check, "name").unwrap_or("check");
        let end = match (&check["exit_code"], &check["signal"], text_at(check, "not_run")) {
            (Value::Number(code), ..) => format!("Check {name} failed, exit {code}"),
            (_, Value::Number(signal), _) => match text_at(check, "why") {
                Some(why) => format!("Check {name} was ended: {why}"),
                None => format!("Check {name} was ended by signal {signal}"),
            },
            (.., Some(why)) => format!("Check {name} was not run: {why}"),
            _ => {
                self.note(format!("check {name} passed"));
                String::new()
            }
        };
        let output = text_at(check, "output").unwrap_or_default();
        self.block(&if output.is_empty() { end } else { format!("{end}:\n{output}") });
        let changes = &check["changes"];
        if let Some(why) = text_at(changes, "dropped") {
            let paths =
                listed(items(changes, "paths").filter_map(Value::as_str), &changes["files"]);
            self.block(&format!("Check {name} would change {paths}; {why}"));
            self.block(&shown_changes(text_at(changes, "diff").unwrap_or_default()));
        }
    }

    /// What was cut from a field. Where lines of an output are left out, the output itself says so.
    fn add_cut(&mut self, cut: &Value) {
        let (field, unit) = (text_at(cut, "field"), text_at(cut, "unit"));
        if let (Some(field), Some(unit), Some(handle)) = (field, unit, text_at(cut, "handle"))
            && unit != "lines"
        {
            let (shown, total) = (&cut["shown"], &cut["total"]);
            self.note(format!("{field}: {shown} of {total} {unit}; {READ_FILE} path=\"{handle}\""));
        }
    }

    /// The text. It is never empty: some providers refuse an empty result.
    pub(crate) fn finish(mut self) -> String {
        self.content.truncate(self.content.trim_end_matches(['\n', '\r']).len());
        if !self.notes.is_empty() {
            let notes = format!("[{}]", self.notes.join("; "));
            self.block(&notes);
        }
        if self.content.is_empty() { "[no output]".to_owned() } else { self.content }
    }
}

/// ` (change 12)`, by which `undo` knows it; nothing if nothing was changed.
pub(crate) fn change_id(result: &Value) -> String {
    text_at(result, "change_id").map_or(String::new(), |id| format!(" (change {id})"))
}

/// `, +12 −3`; nothing if no line came or went.
pub(crate) fn line_counts(result: &Value) -> String {
    match (result["added"].as_u64().unwrap_or(0), result["removed"].as_u64().unwrap_or(0)) {
        (0, 0) => String::new(),
        (added, removed) => format!(", +{added} −{removed}"),
    }
}

/// Which checks did not pass, for a summary.
pub(crate) fn failed_checks(result: &Value) -> String {
    let failed = items(result, "checks").filter(|check| check["ok"] == false);
    let names: Vec<&str> = failed.filter_map(|check| text_at(check, "name")).collect();
    if names.is_empty() { String::new() } else { format!("; {} failed", names.join(", ")) }
}

/// Names in a row; `all` is how many there are, if that is more.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>, all: &Value) -> String {
    let names: Vec<&str> = names.collect();
    let more = all.as_u64().unwrap_or(0).saturating_sub(names.len() as u64);
    let text = names.join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// A path if there is one, else how many.
pub(crate) fn one_or_many(paths: &[&str]) -> String {
    match paths {
        [path] => (*path).to_owned(),
        _ => counted(paths.len() as u64, "file", "files"),
    }
}

/// A text that is not empty.
pub(crate) fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The items of a list; none if there is no list.
pub(crate) fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The texts of a list, if it is a list.
pub(crate) fn texts<'a>(value: &'a Value, key: &str) -> Option<Vec<&'a str>> {
    Some(value.get(key)?.as_array()?.iter().filter_map(Value::as_str).collect())
}

/// How long a list was before it was cut.
pub(crate) fn list_length(value: &Value, key: &str) -> u64 {
    let cut = items(value, "truncation").find(|cut| text_at(cut, "field") == Some(key));
    let total = cut.and_then(|cut| cut["total"].as_u64());
    total.unwrap_or_else(|| items(value, key).count() as u64)
}

/// An argument that is a text. Titles are made of arguments that may not fit the schema.
pub(crate) fn argument<'a>(args: &'a ToolArguments, key: &str) -> Option<&'a str> {
    args.as_map().get(key).and_then(Value::as_str)
}

/// The beginning of a text in one line, for a summary.
pub(crate) fn in_one_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    match first.char_indices().nth(MAX_TITLE_CHARS) {
        Some((cut, _)) => format!("{}…", &first[..cut]),
        None if lines.next().is_some() => format!("{first} …"),
        None => first.to_owned(),
    }
}

#[cfg(test)]
mod tests;
