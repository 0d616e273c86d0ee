//! What tools answered, as text for the user.
//!
//! Results are read by their shape, not by the tool's name, so that other vocabularies and custom
//! tools are shown just as well. Fields may be missing; what has no known shape is shown as JSON.

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
pub(crate) fn describe(result: &Value) -> String {
    let message = result["message"].as_str().filter(|text| !text.is_empty()).map(first_part);
    let change = result["change_id"].as_str().map(|id| format!("Done, as change {id}."));
    let message = message.or(change);
    let body = body(result).filter(|body| !body.is_empty());
    let body = body.or_else(|| message.is_none().then(|| preview(result)));
    joined([message, body, left_out(result)])
}

/// A text, and below it a result without what the tool itself says about it.
pub(crate) fn told(text: &str, result: &Value) -> String {
    joined([Some(text.to_owned()), body(result), left_out(result)])
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

fn joined(parts: [Option<String>; 3]) -> String {
    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

/// What is not shown of a result that was too large, and how to get it.
fn left_out(result: &Value) -> Option<String> {
    let notes = result["truncation"].as_array()?.iter().filter_map(|note| {
        let [field, unit, handle] =
            [note["field"].as_str()?, note["unit"].as_str()?, note["handle"].as_str()?];
        let [total, shown] = [note["total"].as_u64()?, note["shown"].as_u64()?];
        Some(format!(
            "The result was too large: `{field}` holds {shown} of {total} {unit}. \
             `/read_file path={handle}` shows all of it."
        ))
    });
    Some(notes.collect::<Vec<_>>().join("\n"))
}

fn body(result: &Value) -> Option<String> {
    let lists = |keys: &[&str]| keys.iter().find_map(|key| result[*key].as_array());
    let total = result["total"].as_u64().and_then(|total| usize::try_from(total).ok()).unwrap_or(0);
    if let Some(found) = lists(&["matches", "results", "importers", "definitions"]) {
        return Some(by_file(found.iter().map(|one| (&one["path"], one)), total));
    }
    if let Some(entries) = lists(&["entries"]) {
        return Some(listing(entries.iter().map(entry), total));
    }
    if let Some(text) = result["text"].as_str() {
        return Some(indented(text, MAX_LINES));
    }
    let texts = ["diff", "content", "outline", "output", "stdout"];
    if let Some(text) = texts.iter().find_map(|key| result[*key].as_str()) {
        return Some(indented(text, MAX_FILE_LINES));
    }
    let files = lists(&["files", "paths", "deleted"])?;
    if result["files"].is_array() && !files.iter().all(Value::is_string) {
        let lines = files.iter().flat_map(|file| {
            let lines = file["lines"].as_array().into_iter().flatten();
            lines.map(|line| (&file["path"], line))
        });
        return Some(by_file(lines, total));
    }
    Some(listing(files.iter().map(plain), total))
}

/// Findings under the files they are in, with how many each file has.
fn by_file<'v>(found: impl Iterator<Item = (&'v Value, &'v Value)>, total: usize) -> String {
    let mut files: Vec<(&str, Vec<String>)> = Vec::new();
    let mut count = 0;
    for (path, one) in found {
        let path = path.as_str().unwrap_or("?");
        count += 1;
        match files.iter_mut().find(|(file, _)| *file == path) {
            Some((_, findings)) => findings.push(finding(one)),
            None => files.push((path, vec![finding(one)])),
        }
    }
    let (mut rows, mut room) = (Vec::new(), MAX_LINES);
    for (path, findings) in files.iter().take(MAX_LINES) {
        rows.push(format!("{path} ({})", findings.len()));
        rows.extend(findings.iter().take(room).map(|finding| format!("  {finding}")));
        room = room.saturating_sub(findings.len());
    }
    block(rows.into_iter(), total.max(count) - count.min(MAX_LINES), "")
}

fn finding(one: &Value) -> String {
    let texts = ["statement", "signature", "text", "snippet"];
    let text = texts.iter().find_map(|key| one[*key].as_str()).unwrap_or_default();
    let number = one["line"].as_u64().map(|line| format!("{line}: "));
    // A snippet is several numbered lines; the one that was found is enough.
    let found =
        number.as_ref().and_then(|number| text.lines().find_map(|row| row.strip_prefix(number)));
    let text = found.or_else(|| text.lines().next()).unwrap_or_default();
    format!("{}{}", number.as_deref().unwrap_or_default(), text.trim())
}

fn entry(entry: &Value) -> String {
    let name = entry["name"].as_str().or_else(|| entry["path"].as_str()).unwrap_or("?");
    if entry["type"] == "directory" { format!("{name}/") } else { name.to_owned() }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn preview(result: &Value) -> String {
    match result {
        Value::String(text) => indented(text, MAX_FILE_LINES),
        Value::Null => "Done.".to_owned(),
        other => indented(&cut(&format!("{other:#}"), MAX_JSON), MAX_FILE_LINES),
    }
}

fn listing(rows: impl ExactSizeIterator<Item = String>, total: usize) -> String {
    let missing = total.max(rows.len()).saturating_sub(MAX_LINES.min(rows.len()));
    block(rows.take(MAX_LINES), missing, "")
}

/// A text set off from the prose around it.
pub(crate) fn indented(text: &str, most: usize) -> String {
    let missing = text.lines().count().saturating_sub(most);
    block(text.lines().take(most).map(str::to_owned), missing, " lines")
}

fn block(rows: impl Iterator<Item = String>, missing: usize, unit: &str) -> String {
    let more = (missing > 0).then(|| format!("…and {missing} more{unit}"));
    let rows = rows.chain(more).map(|row| format!("    {}", cut(&row, MAX_COLUMNS)));
    rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The lines of a file as a reading tool showed them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FileLines {
    /// The lines without their numbers.
    pub(crate) lines: Vec<String>,
    /// Whether all lines of the file are there.
    pub(crate) whole: bool,
    pub(crate) ends_with_break: bool,
}

impl FileLines {
    pub(crate) fn of(result: &Value) -> Self {
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
        let numbered: Option<Vec<&str>> = content.lines().map(unnumbered).collect();
        // Numbered lines do not tell how the last one ends; the size of the file does.
        let ends_with_break = match &numbered {
            Some(lines) => {
                let size = as_u64(lines.iter().map(|line| line.len() + 1).sum());
                size == 0 || result["size"].as_u64() != Some(size - 1)
            }
            None => content.ends_with('\n'),
        };
        let lines = numbered.unwrap_or_else(|| content.lines().collect());
        let total = result["total_lines"].as_u64().or_else(|| result["totalLines"].as_u64());
        let whole = !cut && total.is_none_or(|total| as_u64(lines.len()) >= total);
        Self { lines: lines.into_iter().map(str::to_owned).collect(), whole, ends_with_break }
    }

    pub(crate) fn text(&self) -> String {
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
