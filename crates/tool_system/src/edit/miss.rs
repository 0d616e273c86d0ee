//! Help for a search text that is not in the file.

use memchr::memmem;
use protocol::{ContentHash, ErrorCode, ToolError};
use serde::Serialize;
use serde_json::{Map, Value};
use workspace::Text;

use super::difference::{Difference, difference};
use super::endings::{align, unix, whole_lines};
use super::grade::Grade;
use super::line_map::LineMap;
use super::literal::{Counting, occurrences};
use super::locate::{MAX_PLACES, WantedLine, places};
use super::nearest::{Near, nearest};

/// A replacement with fewer letters and digits than this says nothing by merely standing somewhere.
const MIN_TELLING_CHARS: usize = 4;

/// Below this similarity a candidate is shown but not offered as the text that was meant.
const MIN_CORRECTED_SIMILARITY: f64 = 0.6;

/// A corrected text longer than this is not sent back.
const MAX_CORRECTED_BYTES: usize = 16 * 1024;

/// How many lines of the file are shown in words; all of them are in the details.
const MAX_SHOWN_LINES: usize = 10;

/// Why a text was not found, and what can be done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Miss {
    /// Whether the replacement stands in the file, so that there is nothing left to do.
    pub(crate) already_applied: bool,
    /// Where it stands, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) already_applied_line: Option<usize>,
    /// The places that are most like the text, best first.
    pub(crate) candidates: Vec<NearMatch>,
    /// The nearest text as it stands in the file, to be searched instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) corrected_search: Option<String>,
    /// The replacement with the file's own text in the lines that it leaves unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) corrected_replace: Option<String>,
    /// The hash of the file as it is.
    pub(crate) content_hash: ContentHash,
    /// Further remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// A place that is like the text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NearMatch {
    /// Its first line, from 1.
    pub(crate) start_line: usize,
    /// Its last line, inclusive.
    pub(crate) end_line: usize,
    /// From 0 to 1.
    pub(crate) similarity: f64,
    /// Where it begins to differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) difference: Option<Difference>,
}

impl Miss {
    /// Help for a text, or a block of lines, that is not in the file.
    pub(crate) fn of_text(text: &Text, search: &str, replace: Option<&str>) -> Self {
        let map = LineMap::of(text.body());
        let search = unix(search);
        let already_applied_line =
            replace.and_then(|replace| standing_line(&map, &search, &unix(replace)));
        let mut found = nearest(&map, &search);
        if let Some(part) = occurrences(&map, &search, Counting::Everywhere(1)).first() {
            let lines = map.line_at(part.start)..map.line_at(part.end.max(1) - 1) + 1;
            found.notes.push(format!(
                "In line {} it is only part of a longer word or line; search for the \
                 whole line.",
                lines.start + 1
            ));
            let whole = map.span(lines.start).start..map.span(lines.end - 1).content_end;
            found
                .candidates
                .retain(|near| near.span.end <= whole.start || whole.end <= near.span.start);
            let near = Near { span: whole, similarity: MIN_CORRECTED_SIMILARITY };
            found.candidates.insert(0, near);
        }
        let mut miss = Self {
            already_applied: already_applied_line.is_some(),
            already_applied_line,
            candidates: found
                .candidates
                .iter()
                .map(|near| candidate(&map, &search, near))
                .collect(),
            corrected_search: None,
            corrected_replace: None,
            content_hash: ContentHash::of(&text.encode()),
            notes: found.notes,
        };
        let best = found.candidates.first();
        if let Some(near) = best.filter(|near| near.similarity >= MIN_CORRECTED_SIMILARITY)
            && !miss.already_applied
        {
            miss.correct(&map, &search, replace, near);
        }
        miss
    }

    /// Help for a regular expression that matches nothing.
    pub(crate) fn of_pattern(text: &Text, pattern: &str) -> Self {
        let body = text.body();
        let mut notes = Vec::new();
        if let Some(at) = memmem::find(body, pattern.as_bytes()) {
            let line = LineMap::of(body).line_at(at) + 1;
            notes
                .push(format!("As plain text the pattern is in line {line}: send is_regex=false."));
        }
        if memmem::find(body, b"\r\n").is_some() && pattern.contains(r"\n") {
            notes.push(r"The file has CR LF line endings: write \r?\n in the pattern.".to_owned());
        }
        let insensitive = regex::bytes::RegexBuilder::new(pattern)
            .multi_line(true)
            .case_insensitive(true)
            .build();
        if insensitive.is_ok_and(|regex| regex.is_match(body)) {
            notes.push("With (?i) in front, for any case, the pattern would match.".to_owned());
        }
        Self {
            already_applied: false,
            already_applied_line: None,
            candidates: Vec::new(),
            corrected_search: None,
            corrected_replace: None,
            content_hash: ContentHash::of(&text.encode()),
            notes,
        }
    }

    /// The arguments of the call that failed with the corrected texts in their place, ready to be
    /// sent. The keys name the search text and, if it is to be corrected too, the replacement.
    pub(crate) fn corrected_call(
        &self,
        arguments: &Map<String, Value>,
        search_key: &str,
        replace_key: &str,
    ) -> Option<Map<String, Value>> {
        let mut corrected = arguments.clone();
        corrected.insert(search_key.to_owned(), self.corrected_search.clone()?.into());
        if let Some(replace) = &self.corrected_replace {
            corrected.insert(replace_key.to_owned(), replace.clone().into());
        }
        Some(corrected)
    }

    /// That the text is not there, in a few words.
    pub(crate) fn headline(&self) -> String {
        match (self.already_applied_line, self.near()) {
            (Some(line), _) => {
                format!("Not found, but the replacement is at line {line}: already applied.")
            }
            (None, Some(_)) => "Not found.".to_owned(),
            (None, None) if !self.notes.is_empty() => "Not found.".to_owned(),
            (None, None) => "Not found: nothing in the file is like it.".to_owned(),
        }
    }

    /// What the file has instead, or what else can be done.
    pub(crate) fn describe(&self) -> String {
        let mut parts = Vec::new();
        if !self.already_applied {
            match (self.near(), &self.corrected_search) {
                (Some(near), Some(actual)) => {
                    parts.push(format!("The file has:\n{}", near.numbered(actual)));
                }
                (Some(near), None) => parts.push(near.describe()),
                (None, _) if self.notes.is_empty() => {
                    parts.push("Read the file again.".to_owned());
                }
                (None, _) => {}
            }
        }
        if !self.notes.is_empty() {
            parts.push(self.notes.join(" "));
        }
        parts.join("\n")
    }

    /// Headline and help as one text.
    pub(crate) fn told(&self) -> String {
        format!("{}\n{}", self.headline(), self.describe()).trim_end().to_owned()
    }

    /// The best place, if it can be what was meant.
    fn near(&self) -> Option<&NearMatch> {
        self.candidates.first().filter(|near| near.similarity >= MIN_CORRECTED_SIMILARITY)
    }

    /// The error for a text that should be there.
    pub(crate) fn error(&self) -> ToolError {
        self.explain(ToolError::new(ErrorCode::Conflict, self.headline()))
    }

    /// Adds the help to an error.
    pub(crate) fn explain(&self, error: ToolError) -> ToolError {
        let details = serde_json::to_value(self).unwrap_or_default();
        let help = self.describe();
        let error = if help.is_empty() { error } else { error.suggest(help) };
        let error = error.detail("miss", details);
        if self.already_applied { error.detail("already_applied", true) } else { error }
    }

    fn correct(&mut self, map: &LineMap<'_>, search: &str, replace: Option<&str>, near: &Near) {
        let bytes = &map.body()[near.span.clone()];
        let Some(actual) =
            std::str::from_utf8(bytes).ok().filter(|_| bytes.len() <= MAX_CORRECTED_BYTES)
        else {
            return;
        };
        let actual =
            if map.cr_only() { actual.replace('\r', "\n") } else { unix(actual).into_owned() };
        if let Some(replace) = replace {
            self.corrected_replace = with_lines_of_file(search, &unix(replace), &actual);
        }
        let ended = search.ends_with('\n') && !actual.ends_with('\n');
        self.corrected_search = Some(if ended { actual + "\n" } else { actual });
    }
}

impl NearMatch {
    /// The text of this place with line numbers; of a long one the lines from the first difference on.
    fn numbered(&self, actual: &str) -> String {
        let lines: Vec<&str> = actual.lines().collect();
        let differs = self.difference.as_ref().map_or(0, |difference| {
            difference.line.saturating_sub(self.start_line).min(lines.len().saturating_sub(1))
        });
        let first = if lines.len() > MAX_SHOWN_LINES { differs } else { 0 };
        let shown = lines.iter().enumerate().skip(first).take(MAX_SHOWN_LINES);
        let shown: Vec<String> =
            shown.map(|(at, line)| format!("{}\t{line}", self.start_line + at)).collect();
        let more = if first + shown.len() < lines.len() { "\n…" } else { "" };
        format!("{}{more}", shown.join("\n"))
    }

    fn describe(&self) -> String {
        let place = match self.start_line == self.end_line {
            true => format!("line {}", self.start_line),
            false => format!("lines {} to {}", self.start_line, self.end_line),
        };
        let percent = (self.similarity * 100.0).floor();
        let Some(difference) = &self.difference else {
            return format!("The nearest text is in {place} ({percent}% alike).");
        };
        format!(
            "The nearest text is in {place} ({percent}% alike); it differs first in line {}, \
             column {}: the file has {:?}, you asked for {:?}.",
            difference.line, difference.column, difference.file_has, difference.asked_for
        )
    }
}

/// The line where the replacement stands, if that tells that the change was made before.
fn standing_line(map: &LineMap<'_>, search: &str, replace: &str) -> Option<usize> {
    if replace.trim().is_empty() || search.contains(replace) {
        return None;
    }
    let lines = whole_lines(replace);
    let wanted: Vec<WantedLine<'_>> =
        lines.iter().map(|content| WantedLine { content, ended: true }).collect();
    if let Some(place) = places(map, &wanted, &[], Grade::Indentation).first() {
        return Some(place.line + 1);
    }
    let telling = replace.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_TELLING_CHARS;
    let found = occurrences(map, replace, Counting::Everywhere(MAX_PLACES));
    found.first().filter(|_| telling).map(|span| map.line_at(span.start) + 1)
}

fn candidate(map: &LineMap<'_>, search: &str, near: &Near) -> NearMatch {
    let first = map.line_at(near.span.start);
    let last = map.line_at(near.span.end.max(1) - 1);
    NearMatch {
        start_line: first + 1,
        end_line: last.max(first) + 1,
        similarity: (near.similarity * 100.0).floor() / 100.0,
        difference: difference(map, search, near),
    }
}

/// The replacement with the file's line for each line that it shares with the search text. Only
/// where the file has as many lines as were searched, so that it is clear which line is which.
fn with_lines_of_file(search: &str, replace: &str, actual: &str) -> Option<String> {
    let (searched, replaced, actual) =
        (whole_lines(search), whole_lines(replace), whole_lines(actual));
    if searched.len() != actual.len() || searched.len() < 2 {
        return None;
    }
    let aligned = align(&searched, &replaced);
    let lines: Vec<&[u8]> = aligned
        .iter()
        .zip(&replaced)
        .map(|(kept, line)| kept.map_or(*line, |kept| actual[kept]))
        .collect();
    let mut text = String::from_utf8(lines.join(&b'\n')).ok()?;
    if replace.ends_with('\n') {
        text.push('\n');
    }
    (text != replace).then_some(text)
}

/// The error for a text that should be in the file and is not.
pub(super) fn missing(
    text: &Text,
    search: &str,
    replace: Option<&str>,
    message: &str,
) -> ToolError {
    Miss::of_text(text, search, replace).explain(ToolError::new(ErrorCode::Conflict, message))
}

#[cfg(test)]
mod tests;
