//! What several tools share to show their results to models as text.
//!
//! The content comes first, unescaped; then at most one line in brackets says what is left out and
//! which call reads on. Everything here is a pure function of a result. A shape that is not expected
//! gives `None`, and the result's JSON is shown instead.

mod directories;
mod lines;
mod structure;

use serde_json::Value;

pub(crate) use self::directories::{RestCount, by_directory, named, quoted, rest_of};
pub(crate) use self::lines::{FoundLine, NumberedText, in_files, numbered, unpadded};
pub(crate) use self::structure::folded;
use crate::ToolArguments;
use crate::extensions::reading::read_file::NAME as READ_FILE;

/// A content with its notes in brackets, which are one line whatever they hold.
pub(crate) fn with_notes(mut content: String, notes: Vec<String>) -> String {
    if notes.is_empty() {
        return content;
    }
    if !content.is_empty() && !content.ends_with('\n') {
        content.push('\n');
    }
    let one_line: Vec<String> = notes.iter().map(|note| note.replace('\n', " ")).collect();
    content + "[" + &one_line.join("; ") + "]"
}

/// The notes that any result can have: what was skipped, what the executor has cut, and that it is a
/// repetition.
pub(crate) fn standing_notes(result: &Value) -> Vec<String> {
    let warnings = result["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut notes: Vec<String> = warnings.map(note_of).collect();
    let cuts = result["truncation"].as_array().into_iter().flatten();
    notes.extend(cuts.map(|cut| cut_note(result, cut)));
    if result.get("redundant").is_some() {
        notes.push("the same call was answered before in this turn; nothing has changed".into());
    }
    notes
}

/// A sentence as a note: without its full stop.
pub(crate) fn note_of(sentence: &str) -> String {
    sentence.strip_suffix('.').unwrap_or(sentence).to_owned()
}

/// What the executor has cut, and the call that reads the rest.
fn cut_note(result: &Value, cut: &Value) -> String {
    let field = cut["field"].as_str().unwrap_or("result");
    let number = |key: &str| cut[key].as_u64().unwrap_or(0);
    let Some(handle) = cut["handle"].as_str() else {
        return format!("{field} is cut");
    };
    // A list is kept with one item a line, a text as it is: its last line may be shown in part.
    let next = match result.pointer(&format!("/{}", field.replace('.', "/"))) {
        Some(Value::String(shown)) => shown.matches('\n').count() as u64 + 1,
        _ => number("shown") + 1,
    };
    let unit = cut["unit"].as_str().unwrap_or("items");
    format!(
        "{} of {} {unit} of {field} shown; more: {READ_FILE} path=\"{handle}\" offset={next}",
        number("shown"),
        number("total")
    )
}

/// How much of a list of results is shown, and the way to the others.
pub(crate) struct ResultsShown<'a> {
    /// `62 matches in 32 files`.
    pub(crate) all: &'a str,
    pub(crate) shown: u64,
    pub(crate) total: u64,
    /// The call continues an earlier one.
    pub(crate) continues: bool,
    /// The argument that reads on.
    pub(crate) next: Option<String>,
}

impl ResultsShown<'_> {
    /// The note, or none if everything is shown.
    pub(crate) fn note(&self) -> Option<String> {
        let ResultsShown { all, shown, total, continues, next } = self;
        match next {
            Some(next) if *continues => Some(format!("{shown} more of {all}; more: {next}")),
            Some(next) => Some(format!("{shown} of {all}; more: {next}")),
            None if *continues => Some(format!("the last {shown} of {all}")),
            None if shown < total => Some(format!("{shown} of {all}")),
            None => None,
        }
    }
}

/// `max_results=200`, which shows more than the `shown` results of a call; nothing if the call has
/// asked for more in vain.
pub(crate) fn more_results(arguments: &ToolArguments, shown: u64, wanted: u64) -> Option<String> {
    let asked = number_argument(arguments, "max_results");
    (wanted > shown && asked.is_none_or(|asked| asked <= shown))
        .then(|| format!("max_results={wanted}"))
}

/// An argument that is a text. Titles are made before arguments are checked.
pub(crate) fn text_argument<'a>(arguments: &'a ToolArguments, name: &str) -> Option<&'a str> {
    arguments.as_map().get(name)?.as_str()
}

/// An argument that is a whole number.
pub(crate) fn number_argument(arguments: &ToolArguments, name: &str) -> Option<u64> {
    let value = arguments.as_map().get(name)?;
    // JSON Schema calls `5.0` an integer; a float beyond the range saturates.
    value.as_u64().or_else(|| value.as_f64().filter(|number| *number >= 0.0).map(|n| n as u64))
}

/// ` in src`, if the call has a path.
pub(crate) fn in_path(arguments: &ToolArguments) -> String {
    let path = text_argument(arguments, "path").filter(|path| !matches!(*path, "" | "."));
    path.map(|path| format!(" in {path}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn notes_are_one_line_after_the_content() {
        let notes = || vec!["of 9".to_owned(), "two\nlines".to_owned()];
        let table = [
            ("text", notes(), "text\n[of 9; two lines]"),
            ("text\n", notes(), "text\n[of 9; two lines]"),
            ("", notes(), "[of 9; two lines]"),
            ("text\n", Vec::new(), "text\n"),
        ];
        for (content, notes, expected) in table {
            assert_eq!(with_notes(content.into(), notes), expected);
        }
    }

    #[test]
    fn what_the_executor_adds_to_a_result_is_kept_with_the_call_that_reads_on() {
        let cut = |field: &str, unit: &str| json!({"field": field, "unit": unit, "total": 90, "shown": 7, "handle": "result:ab"});
        let result = json!({
            "content": "one\ntwo\nthr",
            "matches": [1, 2],
            "warnings": ["Skipped files over 9 bytes: a (1 in all)."],
            "truncation": [cut("content", "characters"), cut("matches", "items")],
            "redundant": "This exact call …",
        });
        assert_eq!(
            standing_notes(&result),
            [
                "Skipped files over 9 bytes: a (1 in all)",
                "7 of 90 characters of content shown; more: read_file path=\"result:ab\" offset=3",
                "7 of 90 items of matches shown; more: read_file path=\"result:ab\" offset=8",
                "the same call was answered before in this turn; nothing has changed",
            ]
        );
        assert!(standing_notes(&json!({"content": ""})).is_empty());
    }

    #[test]
    fn a_part_of_a_list_says_how_large_it_is_and_how_to_read_on() {
        let note = |shown, continues, next: Option<&str>| {
            let next = next.map(str::to_owned);
            ResultsShown { all: "9 files", shown, total: 9, continues, next }.note()
        };
        assert_eq!(note(9, false, None), None);
        assert_eq!(note(3, false, Some("page=2")).unwrap(), "3 of 9 files; more: page=2");
        assert_eq!(note(3, true, Some("page=3")).unwrap(), "3 more of 9 files; more: page=3");
        assert_eq!(note(3, true, None).unwrap(), "the last 3 of 9 files");
        assert_eq!(note(3, false, None).unwrap(), "3 of 9 files");
    }
}
