//! Parts of code in their colours.

use std::ops::Range;

use code_index::SyntaxKind;

use crate::columns::StyledText;
use crate::ink::Ink;

/// How each part of code looks.
pub(crate) fn syntax_ink(kind: SyntaxKind) -> Ink {
    match kind {
        SyntaxKind::Comment => Ink::DIM,
        SyntaxKind::Keyword => Ink::MAGENTA,
        SyntaxKind::Text => Ink::GREEN,
        SyntaxKind::Constant | SyntaxKind::Attribute => Ink::YELLOW,
        SyntaxKind::Function => Ink::BLUE,
        SyntaxKind::Type => Ink::CYAN,
    }
}

/// `text` in pieces: its parts, which are in order and may end after it, in their inks, the rest in `ink`.
pub(crate) fn coloured(
    text: &str,
    parts: &[(Range<usize>, SyntaxKind)],
    ink: Ink,
    ink_of: impl Fn(SyntaxKind) -> Ink,
) -> Vec<StyledText> {
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut push = |range: Range<usize>, ink| {
        if let Some(part) = text.get(range).filter(|part| !part.is_empty()) {
            pieces.push(StyledText::new(ink, part));
        }
    };
    for (range, kind) in parts {
        let end = range.end.min(text.len());
        if range.start >= at && range.start < end {
            push(at..range.start, ink);
            push(range.start..end, ink_of(*kind));
            at = end;
        }
    }
    push(at..text.len(), ink);
    pieces
}
