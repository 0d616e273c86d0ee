//! The colours of code and diffs as a page draws them: for each line, spans of kinds.
//!
//! What is coloured how is decided where the terminal has it from. Here are only the form that a page needs,
//! whose texts are counted in UTF-16 units, and a memory of what was coloured before.

mod cache;
#[cfg(test)]
mod tests;

use std::ops::Range;

use code_index::{ColouredParts, LineColours, SyntaxKind, hunk_colours, lines_colours};
use protocol::{DiffLine, FileDiff, Hunk, MarkKind, hidden_parts};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use cache::ColourCache;

/// Bytes of a text that is coloured at once. A longer one has no colours, only marks.
pub(crate) const MOST_TEXT: usize = 256 * 1024;
/// Bytes of all lines of the diffs of one answer that are coloured; the rest is plain.
const MOST_DIFF: usize = 1024 * 1024;

/// What a part of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SpanKind {
    Comment,
    Keyword,
    /// A string or a character.
    Text,
    /// A number, or a name that stands for a fixed value.
    Constant,
    Function,
    Type,
    /// An attribute, an annotation or a label.
    Attribute,
    /// Something that a reader would not see or be misled by: bidi and control characters, characters
    /// without a width, or the escape that stands for one.
    Hidden,
    /// Blanks at the end of a line that comes or goes.
    TrailingSpace,
}

impl From<SyntaxKind> for SpanKind {
    fn from(kind: SyntaxKind) -> Self {
        match kind {
            SyntaxKind::Comment => Self::Comment,
            SyntaxKind::Keyword => Self::Keyword,
            SyntaxKind::Text => Self::Text,
            SyntaxKind::Constant => Self::Constant,
            SyntaxKind::Function => Self::Function,
            SyntaxKind::Type => Self::Type,
            SyntaxKind::Attribute => Self::Attribute,
        }
    }
}

/// The spans of a line from its beginning: so many UTF-16 units each, and what they are; `null` is nothing in
/// particular, as is what follows the last one.
pub(crate) type LineSpans = Vec<(u32, Option<SpanKind>)>;

/// How a line of a diff is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DiffLineSpans {
    spans: LineSpans,
    /// From and to, in UTF-16 units.
    words: Vec<(u32, u32)>,
}

/// The spans of each line of a text.
pub(crate) fn text_spans(
    cache: &ColourCache,
    language_or_path: &str,
    lines: &[&str],
) -> Vec<LineSpans> {
    cache.text(language_or_path, lines, || {
        let length: usize = lines.iter().map(|line| line.len() + 1).sum();
        let parts = match length <= MOST_TEXT {
            true => lines_colours(language_or_path, lines),
            false => vec![ColouredParts::new(); lines.len()],
        };
        let spans = lines.iter().zip(parts).map(|(line, parts)| {
            let hidden = hidden_parts(line).into_iter().map(|at| (at, SpanKind::Hidden));
            line_spans(line, parts, hidden)
        });
        spans.collect()
    })
}

/// Diffs as JSON, each line with its spans and the words that differ.
pub(crate) fn diff_values(
    cache: &ColourCache,
    diffs: &[FileDiff],
) -> Result<Vec<Value>, serde_json::Error> {
    let mut left = MOST_DIFF;
    let mut values = Vec::new();
    for diff in diffs {
        let mut value = serde_json::to_value(diff)?;
        for (hunk, drawn) in diff.hunks.iter().enumerate() {
            let length: usize = drawn.lines.iter().map(|line| line.text.len()).sum();
            let Some(rest) = left.checked_sub(length) else { continue };
            left = rest;
            let lines = cache.hunk(&diff.path, drawn, || hunk_spans(&diff.path, drawn));
            for (line, DiffLineSpans { spans, words }) in lines.iter().enumerate() {
                let value = &mut value["hunks"][hunk]["lines"][line];
                value["spans"] = json!(spans);
                value["words"] = json!(words);
            }
        }
        values.push(value);
    }
    Ok(values)
}

fn hunk_spans(path: &str, hunk: &Hunk) -> Vec<DiffLineSpans> {
    let lines = hunk.lines.iter().zip(hunk_colours(path, hunk));
    lines.map(|(line, colours)| diff_line_spans(line, colours)).collect()
}

fn diff_line_spans(line: &DiffLine, colours: LineColours) -> DiffLineSpans {
    let marks = line.marks.iter().map(|mark| {
        let kind = match mark.kind {
            MarkKind::Escape => SpanKind::Hidden,
            MarkKind::TrailingSpace => SpanKind::TrailingSpace,
        };
        (mark.start..mark.end, kind)
    });
    let words = colours.words.iter().map(|word| {
        let start = units(&line.text, 0..word.start);
        (start, start + units(&line.text, word.clone()))
    });
    DiffLineSpans { words: words.collect(), spans: line_spans(&line.text, colours.parts, marks) }
}

/// The length of a part of a text as a page counts it.
fn units(text: &str, part: Range<usize>) -> u32 {
    let units = text.get(part).map_or(0, |part| part.encode_utf16().count());
    u32::try_from(units).unwrap_or(u32::MAX)
}

/// A line in spans; `marks` are drawn over its syntax.
fn line_spans(
    text: &str,
    parts: ColouredParts,
    marks: impl Iterator<Item = (Range<usize>, SpanKind)>,
) -> LineSpans {
    let mut kinds = vec![None; text.len()];
    let parts = parts.into_iter().map(|(at, kind)| (at, SpanKind::from(kind)));
    for (at, kind) in parts.chain(marks) {
        kinds.get_mut(at).into_iter().for_each(|bytes| bytes.fill(Some(kind)));
    }
    let mut spans: LineSpans = Vec::new();
    for (at, c) in text.char_indices() {
        let length = if c.len_utf16() == 2 { 2 } else { 1 };
        match spans.last_mut() {
            Some((units, kind)) if *kind == kinds[at] => *units += length,
            _ => spans.push((length, kinds[at])),
        }
    }
    spans.pop_if(|(_, kind)| kind.is_none());
    spans
}
