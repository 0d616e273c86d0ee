//! Words put on lines of a terminal.

use unicode_width::UnicodeWidthChar as _;

use super::inline::StyledText;
use crate::output_style::{Ink, columns};

/// What stands before the text of a line, painted already.
#[derive(Clone, Debug, Default)]
pub(super) struct LinePrefix {
    pub(super) text: String,
    pub(super) columns: usize,
}

impl LinePrefix {
    /// This prefix, with more text in `ink`.
    pub(super) fn then(&self, text: &str, ink: Ink) -> LinePrefix {
        LinePrefix {
            text: format!("{}{}", self.text, ink.paint(text)),
            columns: self.columns + columns(text),
        }
    }

    pub(super) fn then_space(&self, count: usize) -> LinePrefix {
        self.then(&" ".repeat(count), Ink::PLAIN)
    }
}

/// What separates the next word from the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    Nothing,
    Space,
    Break,
}

/// A paragraph that is being written. Words are written when they are complete, lines when they
/// are full, and nothing that was written is ever touched again.
#[derive(Debug)]
pub(super) struct TextFlow {
    width: usize,
    /// Stands before every line but the first.
    rest: LinePrefix,
    column: usize,
    line_is_empty: bool,
    gap: Gap,
    word: Vec<StyledText>,
}

impl TextFlow {
    /// Begins a paragraph; `first` is written at once.
    pub(super) fn begin(
        width: usize,
        first: &LinePrefix,
        rest: LinePrefix,
        out: &mut String,
    ) -> TextFlow {
        out.push_str(&first.text);
        TextFlow {
            width,
            rest,
            column: first.columns,
            line_is_empty: true,
            gap: Gap::Nothing,
            word: Vec::new(),
        }
    }

    pub(super) fn write(&mut self, pieces: &[StyledText], out: &mut String) {
        for piece in pieces {
            for c in piece.text.chars() {
                self.character(c, piece.ink, out);
            }
        }
    }

    /// Writes what is left and ends the line.
    pub(super) fn finish(mut self, out: &mut String) {
        self.end_word(out);
        out.push('\n');
    }

    fn character(&mut self, c: char, ink: Ink, out: &mut String) {
        match c {
            '\n' => {
                self.end_word(out);
                self.gap = Gap::Break;
            }
            ' ' | '\t' => {
                self.end_word(out);
                if self.gap == Gap::Nothing {
                    self.gap = Gap::Space;
                }
            }
            _ => {
                let last = self.word.last().and_then(|piece| piece.text.chars().next_back());
                if last.is_some_and(|last| may_break_between(last, c)) {
                    self.end_word(out);
                }
                match self.word.last_mut() {
                    Some(piece) if piece.ink == ink => piece.text.push(c),
                    _ => self.word.push(StyledText { ink, text: c.to_string() }),
                }
            }
        }
    }

    fn end_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let width: usize = word.iter().map(|piece| columns(&piece.text)).sum();
        self.make_room(width, out);
        for piece in &word {
            self.put(piece, out);
        }
    }

    /// Writes the gap before a word of this width.
    fn make_room(&mut self, width: usize, out: &mut String) {
        let gap = std::mem::replace(&mut self.gap, Gap::Nothing);
        let space = usize::from(gap == Gap::Space);
        let is_full = !self.line_is_empty && self.column + space + width > self.width;
        if gap == Gap::Break || is_full {
            self.next_line(out);
        } else if gap == Gap::Space && !self.line_is_empty {
            out.push(' ');
            self.column += 1;
        }
    }

    /// Writes a part of a word, over several lines if one does not hold it.
    fn put(&mut self, piece: &StyledText, out: &mut String) {
        let mut part = String::new();
        let mut used = 0;
        for c in piece.text.chars() {
            let width = c.width().unwrap_or(0);
            if !(self.line_is_empty && part.is_empty()) && self.column + used + width > self.width {
                out.push_str(&piece.ink.paint(&part));
                part.clear();
                used = 0;
                self.next_line(out);
            }
            part.push(c);
            used += width;
        }
        out.push_str(&piece.ink.paint(&part));
        self.column += used;
        self.line_is_empty = false;
    }

    fn next_line(&mut self, out: &mut String) {
        out.push('\n');
        out.push_str(&self.rest.text);
        self.column = self.rest.columns;
        self.line_is_empty = true;
    }
}

/// Scripts that write no spaces may break around each character, but for a few: closing marks do
/// not begin a line, opening marks do not end one, and joined emoji stay together.
fn may_break_between(last: char, next: char) -> bool {
    const OPENING: &str = "（「『【《〈［｛";
    const CLOSING: &str = "、。，．：；！？）」』】》〉］｝ー…";
    let wide = |c: char| c.width() == Some(2);
    let joins = |c: char| c == '\u{200D}' || matches!(c, '\u{1F3FB}'..='\u{1F3FF}');
    let attached = next.width() == Some(0) || joins(next) || joins(last) || last.width() == Some(0);
    (wide(last) || wide(next)) && !attached && !OPENING.contains(last) && !CLOSING.contains(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flowed(text: &str, width: usize) -> String {
        let mut out = String::new();
        let rest = LinePrefix::default().then_space(2);
        let mut flow =
            TextFlow::begin(width, &LinePrefix::default().then("• ", Ink::PLAIN), rest, &mut out);
        flow.write(&[StyledText { ink: Ink::PLAIN, text: text.to_owned() }], &mut out);
        flow.finish(&mut out);
        out
    }

    #[test]
    fn lines_are_full_and_hang_below_their_mark() {
        assert_eq!(flowed("one two  three four", 11), "• one two\n  three\n  four\n");
        assert_eq!(flowed("abcdefghij", 6), "• abcd\n  efgh\n  ij\n");
        assert_eq!(flowed("own\nlines", 40), "• own\n  lines\n");
        assert_eq!(flowed("", 40), "• \n");
    }

    #[test]
    fn scripts_without_spaces_break_between_characters() {
        assert_eq!(flowed("漢字漢字。", 9), "• 漢字漢\n  字。\n");
        assert_eq!(flowed("👩\u{200D}🚀👍🏽", 6), "• 👩\u{200D}🚀\n  👍🏽\n");
    }
}
