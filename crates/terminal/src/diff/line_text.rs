//! The text of a line of a diff in its colours.

use code_index::{LineColours, SyntaxKind, hunk_colours};
use protocol::{DiffLine, Hunk, LineKind};

use crate::columns::{ColumnCount, StyledText};
use crate::ink::Ink;
use crate::syntax::syntax_ink;

/// The texts of all lines of a hunk, in order.
pub(super) fn hunk_texts(path: &str, hunk: &Hunk) -> Vec<Vec<StyledText>> {
    let lines = hunk.lines.iter().zip(hunk_colours(path, hunk));
    lines.map(|(line, colours)| line_text(line, &colours)).collect()
}

/// The ink of a line that comes or goes.
pub(super) fn kind_ink(kind: LineKind) -> Ink {
    match kind {
        LineKind::Context => Ink::PLAIN,
        LineKind::Add => Ink::GREEN,
        LineKind::Remove => Ink::RED,
    }
}

fn line_text(line: &DiffLine, colours: &LineColours) -> Vec<StyledText> {
    let LineColours { parts, words } = colours;
    let own = kind_ink(line.kind);
    let mut inks = vec![own; line.text.len()];
    let mut fill = |range: &std::ops::Range<usize>, ink: Ink| {
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
