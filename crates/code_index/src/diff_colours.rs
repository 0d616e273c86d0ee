//! The colours of the lines of a diff: their syntax, and the words that differ between lines that stand for
//! each other. Every front end draws the same ones.

mod words;

use std::ops::Range;

use protocol::{Hunk, LineKind};

use crate::{SyntaxKind, highlight};
use words::changed_words;

/// Larger hunks have no syntax colours.
const MOST_COLOURED_BYTES: usize = 64 * 1024;

/// The coloured parts of a line, in order, as bytes of its text.
pub type ColouredParts = Vec<(Range<usize>, SyntaxKind)>;

/// How a line of a diff is coloured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineColours {
    /// Its syntax.
    pub parts: ColouredParts,
    /// The words that its counterpart has not.
    pub words: Vec<Range<usize>>,
}

/// The colours of all lines of a hunk, in order.
pub fn hunk_colours(path: &str, hunk: &Hunk) -> Vec<LineColours> {
    let both = syntax(path, hunk).into_iter().zip(words(hunk));
    both.map(|(parts, words)| LineColours { parts, words }).collect()
}

/// The syntax of each of some lines, which follow each other in a file. A line has no line end.
pub fn lines_colours(language_or_path: &str, lines: &[&str]) -> Vec<ColouredParts> {
    let text: String = lines.iter().flat_map(|line| [*line, "\n"]).collect();
    let mut end = 0;
    let spans: Vec<Range<usize>> = lines
        .iter()
        .map(|line| {
            let start = end;
            end += line.len() + 1;
            start..end - 1
        })
        .collect();
    let mut of_lines = vec![ColouredParts::new(); lines.len()];
    let mut first = 0;
    for (range, kind) in highlight(language_or_path, &text) {
        first += spans[first..].iter().take_while(|span| span.end < range.start).count();
        let touched = spans.iter().enumerate().skip(first);
        for (line, span) in touched.take_while(|(_, span)| span.start < range.end) {
            let part = range.start.max(span.start)..range.end.min(span.end);
            if !part.is_empty() {
                of_lines[line].push((part.start - span.start..part.end - span.start, kind));
            }
        }
    }
    of_lines
}

/// The syntax of each line, read as a part of its own side.
fn syntax(path: &str, hunk: &Hunk) -> Vec<ColouredParts> {
    let mut of_lines = vec![ColouredParts::new(); hunk.lines.len()];
    // Lines that stay are read on the new side, which comes last.
    for left_out in [LineKind::Add, LineKind::Remove] {
        let side = hunk.lines.iter().enumerate().filter(|(_, line)| line.kind != left_out);
        let (indexes, lines): (Vec<usize>, Vec<&str>) =
            side.map(|(index, line)| (index, line.text.as_str())).unzip();
        if lines.iter().map(|line| line.len() + 1).sum::<usize>() > MOST_COLOURED_BYTES {
            continue;
        }
        for (index, parts) in indexes.into_iter().zip(lines_colours(path, &lines)) {
            of_lines[index] = parts;
        }
    }
    of_lines
}

/// The words that differ between lines that stand for each other.
fn words(hunk: &Hunk) -> Vec<Vec<Range<usize>>> {
    let mut of_lines = vec![Vec::new(); hunk.lines.len()];
    for (old, new) in line_pairs(hunk) {
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
pub fn line_pairs(hunk: &Hunk) -> Vec<(Option<usize>, Option<usize>)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_within_their_lines() {
        let lines = ["let a = 1; /* over", "two */ fn b() {}", "", "\"größe\""];
        let coloured = lines_colours("rust", &lines);
        let shown: Vec<Vec<(&str, SyntaxKind)>> = coloured
            .iter()
            .zip(lines)
            .map(|(parts, line)| {
                parts.iter().map(|(at, kind)| (&line[at.clone()], *kind)).collect()
            })
            .collect();
        use SyntaxKind::{Comment, Function, Keyword, Text};
        assert_eq!(shown[0].last(), Some(&("/* over", Comment)));
        assert_eq!(shown[1], [("two */", Comment), ("fn", Keyword), ("b", Function)]);
        assert_eq!(shown[2], []);
        assert_eq!(shown[3], [("\"größe\"", Text)]);
        assert_eq!(lines_colours("no language", &lines), vec![ColouredParts::new(); 4]);
    }
}
