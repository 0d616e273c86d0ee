//! What tools answered, as text.
//!
//! The standard vocabulary answers in text. The JSON of other vocabularies and of custom tools is
//! brought into the same form here, so that plans read only that: `13⇥line` for lines of a file,
//! a path above the lines that a search found in it, and notes in brackets at the end.

use serde_json::Value;

use crate::words::words;

/// The most lines of a result that are shown.
pub(crate) const MAX_LINES: usize = 60;
/// The most lines of a list that are shown.
pub(crate) const MAX_ROWS: usize = 20;
/// The most characters of a line that are shown.
const MAX_COLUMNS: usize = 300;

pub(crate) fn text_of(result: &Value) -> String {
    let list = |key: &&str| result[*key].as_array().filter(|list| !list.is_empty());
    let text = |key: &&str| result[*key].as_str().filter(|text| !text.is_empty());
    let mut content = if let Some(text) = result.as_str() {
        text.to_owned()
    } else if let Some(found) =
        ["definitions", "matches", "results", "importers"].iter().find_map(list)
    {
        found_text(found)
    } else if let Some(names) = ["entries", "files"].iter().find_map(list) {
        names.iter().map(name_of).collect::<Vec<_>>().join("\n")
    } else if let Some(text) = ["diff", "content", "output", "message"].iter().find_map(text) {
        text.to_owned()
    } else {
        format!("{result:#}")
    };
    for note in result["truncation"].as_array().into_iter().flatten() {
        content += &format!("\n[{}]", note["hint"].as_str().unwrap_or("The result was cut."));
    }
    content
}

fn found_text(found: &[Value]) -> String {
    let (mut rows, mut file) = (Vec::new(), "");
    for one in found {
        let path = one["path"].as_str().unwrap_or("?");
        if path != file {
            rows.push(path.to_owned());
            file = path;
        }
        let line = one["line"].as_u64().unwrap_or(1);
        let texts = ["statement", "signature", "text", "snippet"];
        let text = texts.iter().find_map(|key| one[*key].as_str()).unwrap_or_default();
        // A snippet is several lines such as `12: text`; the one that was found is enough.
        let number = format!("{line}: ");
        let own = text.lines().find_map(|row| row.strip_prefix(&number));
        let text = own.or_else(|| text.lines().next()).unwrap_or_default();
        rows.push(format!("{line}\t{text}"));
    }
    rows.join("\n")
}

fn name_of(entry: &Value) -> String {
    let name = ["name", "path"].iter().find_map(|key| entry[*key].as_str());
    let Some(name) = name.or_else(|| entry.as_str()) else { return entry.to_string() };
    let end = if entry["type"] == "directory" { "/" } else { "" };
    if name.contains(' ') { format!("{name:?}{end}") } else { format!("{name}{end}") }
}

/// The number and the text of a line such as `13⇥text`; lines beside a match have a mark: `13-⇥text`.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let (number, text) = line.split_once('\t')?;
    let number = number.trim_start();
    let digits = number.find(|char: char| !char.is_ascii_digit()).unwrap_or(number.len());
    Some((number[..digits].parse().ok()?, text))
}

/// Whether a line is a note, which says what a result leaves out.
fn is_note(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']')
}

pub(crate) fn without_notes(text: &str) -> String {
    text.lines().filter(|line| !is_note(line)).collect::<Vec<_>>().join("\n")
}

/// A line that a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FoundAt<'t> {
    pub(crate) path: &'t str,
    pub(crate) line: u64,
    pub(crate) text: &'t str,
}

pub(crate) fn found_in(text: &str) -> Vec<FoundAt<'_>> {
    let (mut found, mut file) = (Vec::new(), None);
    for row in text.lines() {
        match (numbered(row), file) {
            (Some((line, text)), Some(path)) => found.push(FoundAt { path, line, text }),
            // Lines of a file that was read: they have no path above them.
            (Some(_), None) => return Vec::new(),
            (None, _) if row.is_empty() => {}
            // A tool that reads several files puts `path:` or `=== path ===` above each.
            (None, _) if is_note(row) || row.ends_with([':', '=']) => file = None,
            (None, _) => file = Some(row.split(" (by ").next().unwrap_or(row)),
        }
    }
    found
}

/// The paths that a search for files found: `src/: a.rs "b c.rs"` is two, any other line is one.
pub(crate) fn paths_in(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|row| !is_note(row) && !row.starts_with("No "));
    let paths = rows.flat_map(|row| match row.split_once("/: ") {
        Some((directory, names)) => {
            let directory = if directory == "." { "" } else { &format!("{directory}/") };
            names_in(names).into_iter().map(|name| format!("{directory}{name}")).collect()
        }
        None if row.starts_with('"') => names_in(row),
        None => vec![row.to_owned()],
    });
    paths.collect()
}

/// The names in a list that is separated by blanks or line breaks.
pub(crate) fn names_in(text: &str) -> Vec<String> {
    // A directory whose name has blanks is `"a b"/`.
    let text = without_notes(text).replace("\"/", "/\"");
    words(&text).iter().map(|word| word.whole()).collect()
}

/// A result as the user is shown it: lines that were found with how many each file has, anything
/// else as it is.
pub(crate) fn describe(result: &Value) -> String {
    let text = text_of(result);
    let found = found_in(&text);
    if found.is_empty() {
        let is_sentence = text.lines().count() == 1 && numbered(&text).is_none();
        return if is_sentence { text } else { indented(&text, MAX_LINES) };
    }
    let mut rows = Vec::new();
    for file in found.chunk_by(|one, next| one.path == next.path) {
        rows.push(format!("{} ({})", file[0].path, file.len()));
        rows.extend(file.iter().map(|one| format!("  {}: {}", one.line, one.text.trim())));
    }
    let notes = text.lines().filter(|line| is_note(line)).map(|note| format!("\n    {note}"));
    indented(&rows.join("\n"), MAX_ROWS) + &notes.collect::<String>()
}

pub(crate) fn below(heading: &str, result: &Value) -> String {
    format!("{heading}\n\n{}", describe(result))
}

/// A text set off from the prose around it, with how many lines are left out.
pub(crate) fn indented(text: &str, most: usize) -> String {
    let missing = text.lines().count().saturating_sub(most);
    let more = (missing > 0).then(|| format!("…and {missing} more lines"));
    let rows = text.lines().take(most).map(|row| match row.char_indices().nth(MAX_COLUMNS) {
        Some((end, _)) => format!("{}…", &row[..end]),
        None => row.to_owned(),
    });
    let rows = rows.chain(more).map(|row| format!("    {row}"));
    rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// The lines of a file, read back from what a tool showed of it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FileLines {
    pub(crate) lines: Vec<String>,
    /// Whether all lines of the file are there.
    pub(crate) whole: bool,
    pub(crate) ends_with_break: bool,
}

impl FileLines {
    pub(crate) fn of(result: &Value) -> Self {
        let text = text_of(result);
        // A tool that reads many files puts a heading above each.
        let text = match text.split_once('\n') {
            Some((first, rest)) if first.starts_with("=== ") && first.ends_with(" ===") => rest,
            _ => &text,
        };
        let is_numbered = text.lines().next().is_some_and(|line| numbered(line).is_some());
        // Empty lines may have no number; what follows the lines is notes.
        let is_line = |line: &&str| !is_numbered || line.is_empty() || numbered(line).is_some();
        let is_empty = result.is_null() || result.is_string() && is_note(text);
        let shown = text.lines().filter(|_| !is_empty).take_while(is_line);
        let lines: Vec<&str> = shown
            .map(|line| numbered(line).filter(|_| is_numbered).map_or(line, |(_, text)| text))
            .collect();
        let total = ["total_lines", "totalLines"].iter().find_map(|key| result[*key].as_u64());
        let is_cut = is_numbered && lines.len() < text.lines().count();
        let whole = !is_cut && total.is_none_or(|total| lines.len() as u64 >= total);
        // Numbered lines do not tell how the last one ends; the size of the file does.
        let size: usize = lines.iter().map(|line| line.len() + 1).sum();
        let ends_with_break = match is_numbered {
            true => result["size"].as_u64().is_none_or(|bytes| bytes + 1 != size as u64),
            false => text.ends_with('\n'),
        };
        let lines = lines.into_iter().map(str::to_owned).collect();
        Self { lines, whole, ends_with_break }
    }

    pub(crate) fn text(&self) -> String {
        let end = if self.ends_with_break && !self.lines.is_empty() { "\n" } else { "" };
        format!("{}{end}", self.lines.join("\n"))
    }
}

#[cfg(test)]
mod tests;
