//! What tools answered, as text for a person.
//!
//! Results are read by their shape, not by the tool's name, so that other vocabularies and custom
//! tools are shown just as well. Fields may be missing; what has no known shape is shown as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

/// The most lines of a listing.
const MAX_LINES: usize = 20;
/// The most lines of a file or a diff.
const MAX_FILE_LINES: usize = 60;
/// The most characters of a line.
const MAX_COLUMNS: usize = 160;
/// The most characters of a result of unknown shape.
const MAX_JSON: usize = 1500;

/// A result as text: what the tool says about it, and what it found.
pub(super) fn describe(result: &Value) -> String {
    let message = result["message"].as_str().filter(|text| !text.is_empty()).map(first_part);
    let change = result["change_id"].as_str().map(|id| format!("Done, as change {id}."));
    let message = message.or(change);
    let body = body(result).filter(|body| !body.is_empty());
    let body = body.or_else(|| message.is_none().then(|| preview(result)));
    joined([message, body, left_out(result)])
}

/// A message without what it says about the part of a list that the tool shows: here another part
/// is shown, and two numbers of what is missing would contradict each other.
fn first_part(message: &str) -> String {
    let parts = [", showing the first ", ". Showing the first "];
    match parts.iter().find_map(|part| message.split_once(part)) {
        Some((found, _)) => format!("{found}."),
        None => message.to_owned(),
    }
}

/// A text, and below it a result without what the tool itself says about it.
pub(super) fn told(text: &str, result: &Value) -> String {
    joined([Some(text.to_owned()), body(result), left_out(result)])
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

/// What is not shown of a result that was too large, and how to get it.
fn left_out(result: &Value) -> Option<String> {
    let notes = result["truncation"].as_array()?;
    let notes = notes.iter().filter_map(|note| {
        let [field, unit] = [note["field"].as_str()?, note["unit"].as_str()?];
        let [total, shown] = [note["total"].as_u64()?, note["shown"].as_u64()?];
        let handle = note["handle"].as_str()?;
        Some(format!(
            "The result was too large: `{field}` holds {shown} of {total} {unit}. \
             `/read_file path={handle}` shows all of it."
        ))
    });
    let notes: Vec<String> = notes.collect();
    (!notes.is_empty()).then(|| notes.join("\n"))
}

fn body(result: &Value) -> Option<String> {
    let list = |key: &str| result[key].as_array();
    if let Some(matches) = list("matches").or_else(|| list("results")) {
        return Some(by_file(matches, total(result), &["text", "snippet"]));
    }
    if let Some(found) = list("importers") {
        return Some(by_file(found, total(result), &["statement"]));
    }
    if let Some(found) = list("definitions") {
        return Some(by_file(found, total(result), &["signature"]));
    }
    if let Some(entries) = list("entries") {
        return Some(listing(entries.iter().map(entry), total(result)));
    }
    if let Some(text) = result["text"].as_str() {
        return Some(indented(text, MAX_LINES));
    }
    for key in ["diff", "content", "outline", "output", "stdout"] {
        if let Some(text) = result[key].as_str() {
            return Some(indented(text, MAX_FILE_LINES));
        }
    }
    if let Some(files) = list("files") {
        return Some(files_of(files, result));
    }
    let paths = list("paths").or_else(|| list("deleted"))?;
    Some(listing(paths.iter().map(plain), paths.len()))
}

/// Files by name, or with the lines that were found in them.
fn files_of(files: &[Value], result: &Value) -> String {
    if files.iter().all(Value::is_string) {
        return listing(files.iter().map(plain), total(result));
    }
    let lines = files.iter().flat_map(|file| {
        let lines = file["lines"].as_array().into_iter().flatten();
        lines.map(|line| with_path(line, &file["path"]))
    });
    by_file(&lines.collect::<Vec<_>>(), total(result), &["text"])
}

fn with_path(line: &Value, path: &Value) -> Value {
    let mut line = line.clone();
    if let Some(fields) = line.as_object_mut() {
        fields.insert("path".into(), path.clone());
    }
    line
}

fn total(result: &Value) -> usize {
    result["total"].as_u64().and_then(|total| usize::try_from(total).ok()).unwrap_or(0)
}

/// Findings under the files they are in, with how many each file has.
fn by_file(found: &[Value], total: usize, text_keys: &[&str]) -> String {
    let mut files: Vec<&str> = Vec::new();
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in found {
        let path = one["path"].as_str().unwrap_or("?");
        if !lines.contains_key(path) {
            files.push(path);
        }
        lines.entry(path).or_default().push(finding(one, text_keys));
    }
    let (mut text, mut room) = (String::new(), MAX_LINES);
    for path in files.iter().take(MAX_LINES) {
        let here = &lines[path];
        let _ = writeln!(text, "    {path} ({})", here.len());
        for line in here.iter().take(room) {
            let _ = writeln!(text, "      {line}");
        }
        room = room.saturating_sub(here.len());
    }
    let shown = found.len().min(MAX_LINES);
    more(&mut text, total.max(found.len()) - shown);
    text.trim_end().to_owned()
}

fn finding(one: &Value, text_keys: &[&str]) -> String {
    let text = text_keys.iter().find_map(|key| one[*key].as_str()).unwrap_or_default();
    let line = one["line"].as_u64();
    // A snippet is several numbered lines; the one that was found is enough.
    let numbered = line.map(|line| format!("{line}: ")).unwrap_or_default();
    let found = text.lines().find_map(|row| row.strip_prefix(&numbered).filter(|_| line.is_some()));
    let text = found.or_else(|| text.lines().next()).unwrap_or_default();
    cut(&format!("{numbered}{}", text.trim()))
}

fn entry(entry: &Value) -> String {
    let name = entry["name"].as_str().or_else(|| entry["path"].as_str()).unwrap_or("?");
    if entry["type"] == "directory" { format!("{name}/") } else { name.to_owned() }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn listing(rows: impl ExactSizeIterator<Item = String>, total: usize) -> String {
    let count = rows.len();
    let mut text = String::new();
    for row in rows.take(MAX_LINES) {
        let _ = writeln!(text, "    {}", cut(&row));
    }
    more(&mut text, total.max(count) - count.min(MAX_LINES));
    text.trim_end().to_owned()
}

fn more(text: &mut String, count: usize) {
    if count > 0 {
        let _ = writeln!(text, "    …and {count} more");
    }
}

/// A text set off from the prose around it.
pub(super) fn indented(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = String::new();
    for line in lines.iter().take(most) {
        let _ = writeln!(shown, "    {}", cut(line));
    }
    if lines.len() > most {
        let _ = writeln!(shown, "    …and {} more lines", lines.len() - most);
    }
    shown.trim_end().to_owned()
}

fn preview(result: &Value) -> String {
    match result {
        Value::String(text) => indented(text, MAX_FILE_LINES),
        Value::Null => "Done.".to_owned(),
        other => {
            let json = serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string());
            let short: String = json.chars().take(MAX_JSON).collect();
            let dots = if short.len() < json.len() { "…" } else { "" };
            indented(&format!("{short}{dots}"), MAX_FILE_LINES)
        }
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_COLUMNS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The lines of a file as a reading tool showed them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FileLines {
    /// The lines without their numbers.
    pub(super) lines: Vec<String>,
    /// Whether all lines of the file are there.
    pub(super) whole: bool,
    /// Whether the last line ends with a line break.
    pub(super) ends_with_break: bool,
}

impl FileLines {
    pub(super) fn of(result: &Value) -> Self {
        let content = result["content"].as_str().or_else(|| result.as_str()).unwrap_or_default();
        // A tool that reads many files puts a heading above each, and below it what is missing.
        let content = match content.split_once('\n') {
            Some((first, rest)) if first.starts_with("=== ") && first.ends_with(" ===") => rest,
            _ => content,
        };
        let (content, cut) = match content.rsplit_once('\n') {
            Some((before, last)) if last.starts_with("[Lines ") => (before, true),
            _ => (content, result["truncation"].is_array()),
        };
        let numbered = content.lines().all(|line| unnumbered(line).is_some());
        let strip = |line| if numbered { unnumbered(line).unwrap_or(line) } else { line };
        let lines: Vec<String> = content.lines().map(|line| strip(line).to_owned()).collect();
        let total = result["total_lines"].as_u64().or_else(|| result["totalLines"].as_u64());
        let whole = !cut && total.is_none_or(|total| as_u64(lines.len()) >= total);
        // Numbered lines do not tell how the last one ends; the size of the file does.
        let size = as_u64(lines.iter().map(|line| line.len() + 1).sum::<usize>());
        let lacks_break = result["size"].as_u64().is_some_and(|stored| stored + 1 == size);
        let ends_with_break = if numbered { !lacks_break } else { content.ends_with('\n') };
        Self { lines, whole, ends_with_break }
    }

    pub(super) fn text(&self) -> String {
        let end = if self.ends_with_break && !self.lines.is_empty() { "\n" } else { "" };
        format!("{}{end}", self.lines.join("\n"))
    }
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The line without the number before it: `     1\tfn main() {`.
fn unnumbered(line: &str) -> Option<&str> {
    let (number, text) = line.split_once('\t')?;
    let number = number.trim_start();
    (!number.is_empty() && number.chars().all(|char| char.is_ascii_digit())).then_some(text)
}

#[cfg(test)]
mod tests;
