//! The outcome of an edit: which lines, and the lines themselves where the model has not sent them so.

use serde_json::Value;

use super::changed_lines::ChangedFile;
use super::{FileFate, OutcomeText, change_id, changed_files, failed_checks, line_counts, text_at};
use crate::search_notes::counted;

/// How the result of an edit is told.
pub(crate) struct EditText<'a> {
    /// What was done to a file that was there, such as `Edited`.
    pub(crate) verb: &'a str,
    /// Whether lines of this file are not literally what the model sent.
    pub(crate) differs: &'a dyn Fn(&str) -> bool,
    pub(crate) call: EditedFiles,
}

/// What a call says about the files that it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EditedFiles {
    /// There is one, and the model has named it: it need not be named again.
    One,
    /// There can be more than were changed in the end.
    Several,
}

impl EditText<'_> {
    /// The text, from the diff in the result; none if there is no diff.
    pub(crate) fn of(&self, result: &Value) -> Option<OutcomeText> {
        let files = changed_files(text_at(result, "diff")?);
        let by_user = text_at(result, "edited_by_user").is_some();
        let change = change_id(result);
        let mut text = OutcomeText::default();
        for file in &files {
            text.block(&match (files.as_slice(), self.call) {
                ([only], EditedFiles::One) => format!("{}{change}", self.sentence(only)),
                ([only], EditedFiles::Several) => format!("{}{change}", only.described()),
                _ => file.described(),
            });
            let is_text = matches!(file.fate, FileFate::Edited | FileFate::MovedFrom(_));
            if by_user || (is_text && (self.differs)(file.path)) {
                text.block(&file.new_lines());
            }
        }
        if files.len() != 1 {
            text.note(change.trim_matches([' ', '(', ')']));
        }
        Some(text)
    }

    /// What became of the only file. The model knows its name.
    fn sentence(&self, file: &ChangedFile<'_>) -> String {
        let verb = self.verb;
        match (&file.fate, file.runs.as_slice(), file.places()) {
            (FileFate::Created, ..) => "Created".to_owned(),
            (FileFate::Deleted, ..) => "Deleted".to_owned(),
            (FileFate::MovedFrom(_), _, None) => "Moved".to_owned(),
            (FileFate::MovedFrom(_), _, Some(places)) => format!("Moved, {places}"),
            (FileFate::Edited, [run], _) if run.added.is_empty() => match run.removed {
                1 => format!("Deleted line {}", run.start + 1),
                lines => format!("Deleted lines {}-{}", run.start + 1, run.start + lines),
            },
            (FileFate::Edited, _, Some(places)) => format!("{verb} {places}"),
            (FileFate::Edited | FileFate::Other, ..) => verb.to_owned(),
        }
    }
}

/// `Edited src/a.rs, +3 −1`, the summary of an edit.
pub(crate) fn edit_summary(verb: &str, what: &str, result: &Value) -> String {
    format!("{verb} {what}{}{}", line_counts(result), failed_checks(result))
}

/// The text for a file that was written as a whole; `verb` is for one that was there.
pub(crate) fn written_text(verb: &str, result: &Value) -> Option<String> {
    result.get("size")?.as_u64()?;
    let change = change_id(result);
    let mut text = match (text_at(result, "message"), text_at(result, "diff")) {
        (Some(message), _) => OutcomeText::new(message),
        (None, None) => OutcomeText::new(format!("Created{change}")),
        (None, Some(_)) if text_at(result, "edited_by_user").is_some() => {
            EditText { verb, differs: &|_| true, call: EditedFiles::One }.of(result)?
        }
        (None, Some(_)) => {
            let counts = line_counts(result).replace('−', "-");
            OutcomeText::new(format!("{verb}{counts}{change}"))
        }
    };
    text.add_outcome(result);
    Some(text.finish())
}

/// The summary for the user: `Created src/a.rs, 12 lines`, `Wrote src/a.rs, +3 −1`.
pub(crate) fn written_summary(verb: &str, result: &Value) -> Option<String> {
    let path = text_at(result, "path")?;
    if text_at(result, "message").is_some() {
        return Some(format!("Left {path} as it was"));
    }
    let is_created = text_at(result, "diff").is_none_or(|diff| diff.contains("\nnew file mode"));
    Some(match (is_created, result["added"].as_u64().unwrap_or(0)) {
        (true, 0) => format!("Created {path}{}", failed_checks(result)),
        (true, lines) => {
            let lines = counted(lines, "line", "lines");
            format!("Created {path}, {lines}{}", failed_checks(result))
        }
        (false, _) => edit_summary(verb, path, result),
    })
}
