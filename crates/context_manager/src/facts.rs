//! What must survive every compaction, gathered from the whole log: what the user said and
//! refused, which files were worked on, what the model said last.

use std::collections::{BTreeMap, VecDeque};

use protocol::{Content, SharedText, ToolCall, ToolError, describe_call};
use serde_json::{Map, Value};

/// How many of the model's texts are remembered.
const TEXTS_REMEMBERED: usize = 3;
/// How many results are remembered by their calls.
const RESULTS_REMEMBERED: usize = 12;
/// How many refusals are remembered; the newest ones win.
const REFUSALS_REMEMBERED: usize = 50;
/// Arguments that name files.
const PATH_ARGUMENTS: [&str; 15] = [
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "filePath",
    "file_paths",
    "filename",
    "from",
    "to",
    "source",
    "destination",
    "old_path",
    "new_path",
    "modulePath",
];
/// How deep arguments are searched for names of files.
const DEEPEST_ARGUMENT: usize = 4;

/// What must survive every compaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The user's messages.
    pub(crate) said: Vec<Said>,
    /// The entries of the model's answers.
    pub(crate) answers: Vec<u64>,
    /// The entries of results.
    pub(crate) results: Vec<u64>,
    /// The newest results: their entries, their calls and how long they are.
    pub(crate) latest_results: VecDeque<(u64, String)>,
    /// What the user refused.
    pub(crate) refused: VecDeque<String>,
    /// The files that calls were about: when last, and by which tool.
    pub(crate) files: BTreeMap<String, (u64, String)>,
    /// The model's last words.
    pub(crate) spoken: VecDeque<(u64, SharedText)>,
}

/// A message of the user.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// Its entry in the log.
    pub(crate) sequence: u64,
    /// The user's own words, then the texts of attached files.
    pub(crate) parts: Vec<String>,
}

impl Said {
    /// Whether it says nothing at all.
    pub(crate) fn is_blank(&self) -> bool {
        self.parts.iter().all(|part| part.trim().is_empty())
    }
}

impl Facts {
    pub(crate) fn user(&mut self, sequence: u64, content: &[Content]) {
        let parts = content.iter().filter_map(|content| match content {
            Content::Text { text } | Content::Attached { text, .. } => Some(text.to_string()),
            Content::Image(image) => Some(format!("[image: {image}]")),
            _ => None,
        });
        self.said.push(Said { sequence, parts: parts.collect() });
    }

    pub(crate) fn result(&mut self, sequence: u64, call: &ToolCall, characters: usize) {
        self.results.push(sequence);
        let described = format!("{}: {characters} characters", describe_call(call));
        self.latest_results.push_back((sequence, described));
        if self.latest_results.len() > RESULTS_REMEMBERED {
            self.latest_results.pop_front();
        }
    }

    pub(crate) fn answer(&mut self, sequence: u64, content: &[Content]) {
        self.answers.push(sequence);
        let text = plain_text(content);
        if !text.is_blank() {
            self.spoken.push_back((sequence, text));
        }
        if self.spoken.len() > TEXTS_REMEMBERED {
            self.spoken.pop_front();
        }
        for content in content {
            if let Content::ToolUse(call) = content {
                for path in paths(&call.arguments) {
                    self.files.insert(path.to_owned(), (sequence, call.name.clone()));
                }
            }
        }
    }

    pub(crate) fn refusal(&mut self, call: &ToolCall, error: &ToolError) {
        self.refused.push_back(format!("{}: {}", describe_call(call), error.message));
        if self.refused.len() > REFUSALS_REMEMBERED {
            self.refused.pop_front();
        }
    }
}

/// The text of a message, with its images in words and without anything else.
pub(crate) fn plain_text(content: &[Content]) -> SharedText {
    let mut texts = content.iter().filter_map(|content| match content {
        Content::Text { text } | Content::Attached { text, .. } => Some(text.clone()),
        Content::Image(image) => Some(format!("[image: {image}]").into()),
        _ => None,
    });
    let mut joined = texts.next().unwrap_or_default();
    for text in texts {
        joined.push_str("\n");
        joined.push(&text);
    }
    joined
}

/// The files that arguments name, as far as the names of the arguments tell.
pub(crate) fn paths(arguments: &Map<String, Value>) -> Vec<&str> {
    let mut found = Vec::new();
    in_object(arguments, DEEPEST_ARGUMENT, &mut found);
    found
}

fn in_object<'a>(fields: &'a Map<String, Value>, depth: usize, found: &mut Vec<&'a str>) {
    for (key, value) in fields {
        let named = PATH_ARGUMENTS.contains(&key.as_str());
        in_value(value, named, depth.saturating_sub(1), found);
    }
}

fn in_value<'a>(value: &'a Value, named: bool, depth: usize, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) if named && !text.contains('\n') => found.push(text),
        Value::Array(members) if depth > 0 => {
            members.iter().for_each(|member| in_value(member, named, depth - 1, found));
        }
        Value::Object(fields) if depth > 0 => in_object(fields, depth, found),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_found_by_the_names_of_arguments_at_any_usual_depth() {
        let arguments = json!({
            "path": "a.rs",
            "content": "path",
            "paths": ["b.rs", 1, "c.rs"],
            "changes": [{"path": "d.rs", "text": "x"}, {"from": "e.rs", "to": "f.rs"}],
            "old_path": "two\nlines",
        });
        let arguments = arguments.as_object().unwrap();
        assert_eq!(paths(arguments), ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs", "f.rs"]);
    }
}
