//! Words put on lines of a terminal.

use unicode_width::UnicodeWidthChar as _;

use crate::columns::{ColumnCount, StyledText, columns, width_of};
use crate::ink::Ink;

/// What stands before the text of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct LinePrefix {
    pub(super) pieces: Vec<StyledText>,
    pub(super) columns: usize,
}

impl LinePrefix {
    /// This prefix, with more text in `ink`.
    pub(super) fn then(&self, text: &str, ink: Ink) -> LinePrefix {
        let mut longer = self.clone();
        if !text.is_empty() {
            longer.pieces.push(StyledText::new(ink, text));
            longer.columns += columns(text);
        }
        longer
    }

    /// This prefix, or none if it takes most of a line that has become so narrow.
    pub(super) fn within(&self, width: usize) -> LinePrefix {
        if self.columns <= width - width / 4 { self.clone() } else { LinePrefix::default() }
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
/// are full, and nothing that was written is ever touched again. A piece `\n` ends a line.
#[derive(Clone, Debug)]
pub(super) struct TextFlow {
    width: usize,
    /// Stands before every line but the first.
    rest: LinePrefix,
    column: usize,
    line_is_empty: bool,
    gap: Gap,
    word: Vec<StyledText>,
    word_columns: usize,
    /// The beginning of the word was written: no line holds it, and it may never end.
    is_begun: bool,
}

impl TextFlow {
    /// Begins a paragraph; `first` is written at once.
    pub(super) fn begin(
        width: usize,
        first: &LinePrefix,
        rest: LinePrefix,
        out: &mut Vec<StyledText>,
    ) -> TextFlow {
        out.extend_from_slice(&first.pieces);
        TextFlow {
            width,
            rest,
            column: first.columns,
            line_is_empty: true,
            gap: Gap::Nothing,
            word: Vec::new(),
            word_columns: 0,
            is_begun: false,
        }
    }

    /// The columns of a line from here on.
    pub(super) fn set_width(&mut self, width: usize) {
        self.width = width;
        self.rest = self.rest.within(width);
    }

    pub(super) fn write(&mut self, pieces: &[StyledText], out: &mut Vec<StyledText>) {
        for piece in pieces {
            for c in piece.text.chars() {
                self.character(c, piece, out);
            }
        }
    }

    /// The word that has not ended, as it would be written if it had.
    pub(super) fn unfinished(&self) -> Vec<StyledText> {
        let mut out = Vec::new();
        self.clone().end_word(&mut out);
        out
    }

    /// Writes what is left and ends the line.
    pub(super) fn finish(mut self, out: &mut Vec<StyledText>) {
        self.end_word(out);
        out.push(line_end());
    }

    fn character(&mut self, c: char, look: &StyledText, out: &mut Vec<StyledText>) {
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
                    Some(piece) if piece.ink == look.ink && piece.target == look.target => {
                        piece.text.push(c);
                    }
                    _ => self.word.push(look.with_text(c)),
                }
                self.word_columns += c.width().unwrap_or(0);
                if self.word_columns > self.width {
                    self.write_word(out);
                    self.is_begun = true;
                }
            }
        }
    }

    fn end_word(&mut self, out: &mut Vec<StyledText>) {
        self.write_word(out);
        self.is_begun = false;
    }

    fn write_word(&mut self, out: &mut Vec<StyledText>) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        self.word_columns = 0;
        if !self.is_begun {
            self.make_room(width_of(&word), out);
        }
        for piece in &word {
            self.put(piece, out);
        }
    }

    /// Writes the gap before a word of this width.
    fn make_room(&mut self, width: usize, out: &mut Vec<StyledText>) {
        let gap = std::mem::replace(&mut self.gap, Gap::Nothing);
        let space = usize::from(gap == Gap::Space);
        let is_full = !self.line_is_empty && self.column + space + width > self.width;
        if gap == Gap::Break || is_full {
            self.next_line(out);
        } else if gap == Gap::Space && !self.line_is_empty {
            out.push(StyledText::new(Ink::PLAIN, " "));
            self.column += 1;
        }
    }

    /// Writes a part of a word, over several lines if one does not hold it.
    fn put(&mut self, piece: &StyledText, out: &mut Vec<StyledText>) {
        let mut part = String::new();
        let mut used = ColumnCount::default();
        for c in piece.text.chars() {
            if !(self.line_is_empty && part.is_empty()) && self.column + used.with(c) > self.width {
                out.push(piece.with_text(std::mem::take(&mut part)));
                used = ColumnCount::default();
                self.next_line(out);
            }
            part.push(c);
            used.push(c);
        }
        out.push(piece.with_text(part));
        self.column += used.columns;
        self.line_is_empty = false;
    }

    fn next_line(&mut self, out: &mut Vec<StyledText>) {
        out.push(line_end());
        out.extend_from_slice(&self.rest.pieces);
        self.column = self.rest.columns;
        self.line_is_empty = true;
    }
}

fn line_end() -> StyledText {
    StyledText::new(Ink::PLAIN, "\n")
}

/// Text on lines of at most `width` columns, if no character is wider than that.
pub(crate) fn wrapped(pieces: &[StyledText], width: usize) -> Vec<Vec<StyledText>> {
    let mut out = Vec::new();
    let nothing = LinePrefix::default();
    let mut flow = TextFlow::begin(width, &nothing, nothing.clone(), &mut out);
    flow.write(pieces, &mut out);
    flow.finish(&mut out);
    out.pop();
    out.split(|piece| piece.text == "\n").map(<[StyledText]>::to_vec).collect()
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
        let mut out = Vec::new();
        let rest = LinePrefix::default().then_space(2);
        let mut flow =
            TextFlow::begin(width, &LinePrefix::default().then("• ", Ink::PLAIN), rest, &mut out);
        flow.write(&[StyledText::new(Ink::PLAIN, text)], &mut out);
        flow.finish(&mut out);
        out.iter().map(|piece| &*piece.text).collect()
    }

    #[test]
    fn lines_are_full_and_hang_below_their_mark() {
        assert_eq!(flowed("one two  three four", 11), "• one two\n  three\n  four\n");
        assert_eq!(flowed("abcdefghij", 6), "• abcd\n  efgh\n  ij\n");
        assert_eq!(flowed("own\nlines", 40), "• own\n  lines\n");
        assert_eq!(flowed("", 40), "• \n");
    }

    #[test]
    fn a_word_without_end_is_written_line_by_line() {
        let mut out = Vec::new();
        let nothing = LinePrefix::default();
        let mut flow = TextFlow::begin(10, &nothing, nothing.clone(), &mut out);
        for _ in 0..4 {
            flow.write(&[StyledText::new(Ink::PLAIN, "abcdefghi")], &mut out);
        }
        let text: String = out.iter().map(|piece| &*piece.text).collect();
        assert_eq!(text, "abcdefghia\nbcdefghiab\ncdefghiabc\ndef");
        flow.write(&[StyledText::new(Ink::PLAIN, " end")], &mut out);
        flow.finish(&mut out);
        let text: String = out.iter().map(|piece| &*piece.text).collect();
        assert_eq!(text, "abcdefghia\nbcdefghiab\ncdefghiabc\ndefghi end\n");
    }

    #[test]
    fn a_word_that_may_grow_is_known_with_its_place() {
        let mut out = Vec::new();
        let nothing = LinePrefix::default();
        let mut flow = TextFlow::begin(10, &nothing, nothing.clone().then_space(2), &mut out);
        for (piece, written, unfinished) in
            [("one t", "one", " t"), ("wo three", "one two", "\n  three"), (" ", "", "")]
        {
            flow.write(&[StyledText::new(Ink::PLAIN, piece)], &mut out);
            let texts = |pieces: &[StyledText]| -> String {
                pieces.iter().map(|piece| &*piece.text).collect()
            };
            assert!(texts(&out).ends_with(written), "{piece}: {out:?}");
            assert_eq!(texts(&flow.unfinished()), unfinished, "{piece}");
        }
    }

    #[test]
    fn a_line_that_is_made_narrower_ends_sooner() {
        let mut out = Vec::new();
        let nothing = LinePrefix::default();
        let mut flow = TextFlow::begin(12, &nothing, nothing.clone(), &mut out);
        flow.write(&[StyledText::new(Ink::PLAIN, "one two three four ")], &mut out);
        flow.set_width(6);
        flow.write(&[StyledText::new(Ink::PLAIN, "five six seven")], &mut out);
        flow.finish(&mut out);
        let text: String = out.iter().map(|piece| &*piece.text).collect();
        assert_eq!(text, "one two\nthree four\nfive\nsix\nseven\n");
    }

    #[test]
    fn scripts_without_spaces_break_between_characters() {
        assert_eq!(flowed("漢字漢字。", 9), "• 漢字漢\n  字。\n");
        assert_eq!(flowed("👩\u{200D}🚀👍🏽", 6), "• 👩\u{200D}🚀\n  👍🏽\n");
    }
}
