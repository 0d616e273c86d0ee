//! The text of a line of a diff in its colours.

use std::ops::Range;

use code_index::{SyntaxKind, highlight};
use protocol::{DiffLine, Hunk, LineKind};

use super::words::changed_words;
use crate::columns::{ColumnCount, StyledText};
use crate::ink::Ink;
use crate::syntax::syntax_ink;

/// Larger hunks have no syntax colours.
const MOST_COLOURED_BYTES: usize = 64 * 1024;

type Parts = Vec<(Range<usize>, SyntaxKind)>;

/// The texts of all lines of a hunk, in order.
pub(super) fn hunk_texts(path: &str, hunk: &Hunk) -> Vec<Vec<StyledText>> {
    let syntax = syntax(path, hunk);
    let words = words(hunk);
    let lines = hunk.lines.iter().zip(syntax).zip(words);
    lines.map(|((line, parts), words)| line_text(line, &parts, &words)).collect()
}

/// The syntax of each line, read as a part of its own side.
fn syntax(path: &str, hunk: &Hunk) -> Vec<Parts> {
    let mut of_lines = vec![Parts::new(); hunk.lines.len()];
    let sides = [(LineKind::Add, LineKind::Remove), (LineKind::Remove, LineKind::Add)];
    for (left_out, own) in sides {
        let side = || hunk.lines.iter().enumerate().filter(|(_, line)| line.kind != left_out);
        let text: String = side().flat_map(|(_, line)| [&*line.text, "\n"]).collect();
        if text.len() > MOST_COLOURED_BYTES {
            continue;
        }
        let mut end = 0;
        let spans: Vec<(usize, Range<usize>)> = side()
            .map(|(index, line)| {
                let start = end;
                end += line.text.len() + 1;
                (index, start..end - 1)
            })
            .collect();
        let mut first = 0;
        for (range, kind) in highlight(path, &text) {
            first += spans[first..].iter().take_while(|(_, span)| span.end < range.start).count();
            let touched = spans[first..].iter().take_while(|(_, span)| span.start < range.end);
            for (index, span) in touched {
                let part = range.start.max(span.start)..range.end.min(span.end);
                // Lines that stay are read on the new side.
                let is_own = hunk.lines[*index].kind == own || own == LineKind::Add;
                if is_own && !part.is_empty() {
                    of_lines[*index].push((part.start - span.start..part.end - span.start, kind));
                }
            }
        }
    }
    of_lines
}

/// The words that differ between lines that stand for each other.
fn words(hunk: &Hunk) -> Vec<Vec<Range<usize>>> {
    let mut of_lines = vec![Vec::new(); hunk.lines.len()];
    for (old, new) in pairs(hunk) {
        if let (Some(old), Some(new)) = (old, new)
            && hunk.lines[new].kind == LineKind::Add
        {
            (of_lines[old], of_lines[new]) =
                changed_words(&hunk.lines[old].text, &hunk.lines[new].text);
        }
    }
    of_lines
}

/// The lines of both sides that stand beside each other, by their indexes. A line that stays is on both.
pub(super) fn pairs(hunk: &Hunk) -> Vec<(Option<usize>, Option<usize>)> {
    let mut pairs = Vec::new();
    let mut index = 0;
    while index < hunk.lines.len() {
        if hunk.lines[index].kind == LineKind::Context {
            pairs.push((Some(index), Some(index)));
            index += 1;
            continue;
        }
        let run = |from: usize, kind: LineKind| {
            from + hunk.lines[from..].iter().take_while(|line| line.kind == kind).count()
        };
        let middle = run(index, LineKind::Remove);
        let end = run(middle, LineKind::Add);
        for at in 0..(middle - index).max(end - middle) {
            let old = Some(index + at).filter(|old| *old < middle);
            let new = Some(middle + at).filter(|new| *new < end);
            pairs.push((old, new));
        }
        index = end;
    }
    pairs
}

/// The ink of a line that comes or goes.
pub(super) fn kind_ink(kind: LineKind) -> Ink {
    match kind {
        LineKind::Context => Ink::PLAIN,
        LineKind::Add => Ink::GREEN,
        LineKind::Remove => Ink::RED,
    }
}

fn line_text(
    line: &DiffLine,
    parts: &[(Range<usize>, SyntaxKind)],
    words: &[Range<usize>],
) -> Vec<StyledText> {
    let own = kind_ink(line.kind);
    let mut inks = vec![own; line.text.len()];
    let mut fill = |range: &Range<usize>, ink: Ink| {
        inks.get_mut(range.clone()).into_iter().for_each(|bytes| bytes.fill(ink));
    };
    for (range, kind) in parts {
        // Green and red say what comes and goes.
        let is_text = *kind == SyntaxKind::Text;
        fill(range, if is_text { Ink::YELLOW } else { syntax_ink(*kind) });
    }
    words.iter().for_each(|range| fill(range, own.and(Ink::REVERSED)));
    line.marks.iter().for_each(|mark| fill(&(mark.start..mark.end), own.and(Ink::UNDERLINED)));
    let mut pieces: Vec<StyledText> = Vec::new();
    let mut count = ColumnCount::default();
    for (at, c) in line.text.char_indices() {
        let before = count.columns;
        count.push(c);
        if pieces.last().is_none_or(|last| last.ink != inks[at]) {
            pieces.push(StyledText::new(inks[at], ""));
        }
        let Some(piece) = pieces.last_mut() else { continue };
        match c {
            '\t' => piece.text.push_str(&" ".repeat(count.columns - before)),
            c => piece.text.push(c),
        }
    }
    pieces
}
