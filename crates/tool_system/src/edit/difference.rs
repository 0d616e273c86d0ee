//! The first difference between a text and a place that is like it.

use serde::Serialize;

use super::endings::whole_lines;
use super::grade::{Grade, LineKey};
use super::line_map::LineMap;
use super::nearest::Near;

/// How many characters of a differing line are shown, from the first difference on.
const MAX_SHOWN_CHARS: usize = 60;

/// The first difference between the text and a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    /// The line of the file, from 1.
    pub(crate) line: usize,
    /// The character in that line, from 1.
    pub(crate) column: usize,
    /// What the file has from there on.
    pub(crate) file_has: String,
    /// What was asked for from there on.
    pub(crate) asked_for: String,
    /// What sort of difference it is.
    pub(crate) kind: DifferenceKind,
}

/// What sort of difference keeps a line from matching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DifferenceKind {
    /// White space at the end of the line.
    TrailingWhitespace,
    /// White space at its beginning.
    Indentation,
    /// Typographic punctuation.
    Punctuation,
    Content,
    /// The file has another number of lines there.
    Lines,
}

/// Where a text and the place that is like it begin to differ.
pub(super) fn difference(map: &LineMap<'_>, search: &str, near: &Near) -> Option<Difference> {
    let first = map.line_at(near.span.start);
    let asked = whole_lines(search);
    let count = map.line_at(near.span.end.max(1) - 1) + 1 - first;
    for at in 0..asked.len().max(count) {
        let file = match at {
            _ if at >= count => None,
            _ => Some(cut(map, first + at, near)),
        };
        let wanted = asked.get(at).copied();
        if file == wanted {
            continue;
        }
        let kind = match (file, wanted) {
            (Some(file), Some(wanted)) => difference_kind(file, wanted),
            _ => DifferenceKind::Lines,
        };
        let line = (first + at + 1).min(map.len());
        let file = String::from_utf8_lossy(file.unwrap_or_default());
        let wanted = String::from_utf8_lossy(wanted.unwrap_or_default());
        let same =
            file.chars().zip(wanted.chars()).take_while(|(left, right)| left == right).count();
        let rest = |text: &str| text.chars().skip(same).take(MAX_SHOWN_CHARS).collect();
        return Some(Difference {
            line,
            column: same + 1,
            file_has: rest(&file),
            asked_for: rest(&wanted),
            kind,
        });
    }
    None
}

/// The part of a line that belongs to the candidate.
fn cut<'a>(map: &LineMap<'a>, line: usize, near: &Near) -> &'a [u8] {
    let span = map.span(line);
    let start = span.start.max(near.span.start);
    &map.body()[start..span.content_end.min(near.span.end).max(start)]
}

fn difference_kind(file: &[u8], wanted: &[u8]) -> DifferenceKind {
    let same = |grade| LineKey::of(file, grade).rest == LineKey::of(wanted, grade).rest;
    if same(Grade::TrailingWhitespace) {
        DifferenceKind::TrailingWhitespace
    } else if same(Grade::Indentation) {
        DifferenceKind::Indentation
    } else if same(Grade::Punctuation) {
        DifferenceKind::Punctuation
    } else {
        DifferenceKind::Content
    }
}
