//! The outcome of a command: what it printed, how it ended, and what became of the files it changed.

use serde_json::Value;

use super::{
    OutcomeText, change_id, in_one_line, items, line_counts, listed, shown_changes, text_at,
};
use crate::search_notes::counted;

/// The result of a tool that ran a command.
pub(crate) struct Printed<'a> {
    /// What it printed, one stream after the other.
    pub(crate) outputs: [&'a str; 2],
    /// How it ended; absent if it did not end by itself.
    pub(crate) exit_code: Option<i64>,
    /// What the exit code does not say.
    pub(crate) message: Option<&'a str>,
}

impl Printed<'_> {
    /// The output alone, and what is unusual.
    pub(crate) fn text(&self, result: &Value) -> OutcomeText {
        let mut text = OutcomeText::default();
        self.outputs.iter().for_each(|output| text.block(output));
        match self.exit_code {
            Some(0) => {}
            Some(code) => text.note(format!("exit {code}")),
            None => text.note("no exit code"),
        }
        if let Some(message) = self.message {
            text.note(message);
        }
        add_changes(&mut text, &result["changes"]);
        text.add_outcome(result);
        text
    }
}

/// Adds what became of the files that a command changed.
pub(crate) fn add_changes(text: &mut OutcomeText, changes: &Value) {
    let names = |key: &str| listed(items(changes, key).filter_map(Value::as_str), &Value::Null);
    let paths = listed(items(changes, "paths").filter_map(Value::as_str), &changes["files"]);
    if let Some(why) = text_at(changes, "dropped") {
        text.block(&format!("Its changes to {paths} were dropped: {why}"));
    } else if changes["applied"] == true {
        let change = change_id(changes);
        match text_at(changes, "diff").map(shown_changes).filter(|shown| !shown.is_empty()) {
            Some(shown) => text.block(&format!("It changed{change}:\n{shown}")),
            None => text.block(&format!("It changed {paths}{change}")),
        }
    }
    for (key, what) in [("written", "written to the project"), ("private", "only commands see")] {
        let names = names(key);
        if !names.is_empty() {
            text.note(format!("{what}: {names}"));
        }
    }
    text.add_outcome(changes);
}

/// `, 3 files changed, +10 −2`, for a summary.
pub(crate) fn changed_words(result: &Value) -> String {
    let changes = &result["changes"];
    let named = items(changes, "paths").count() as u64;
    let files = counted(changes["files"].as_u64().unwrap_or(named), "file", "files");
    if changes["applied"] == true {
        format!(", {files} changed{}", line_counts(changes))
    } else if text_at(changes, "dropped").is_some() {
        format!(", changes to {files} dropped")
    } else {
        String::new()
    }
}

/// `Ran npm install, exit 1`, the summary of a command.
pub(crate) fn command_summary(command: &str, exit_code: i64, result: &Value) -> String {
    let exit = if exit_code == 0 { String::new() } else { format!(", exit {exit_code}") };
    format!("Ran {}{exit}{}", in_one_line(command), changed_words(result))
}
