//! How many columns text takes, and text cut, filled and wrapped by columns.
//!
//! Terminals do not agree about joined emoji. A text is counted as wide as the terminal that joins
//! nothing shows it, so that no line is ever wider than it was counted.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthChar as _;

use crate::ink::Ink;
use crate::output_style::OutputStyle;

/// A tab leads to the next multiple of this.
const TAB: usize = 4;
/// Makes the character before it a picture of two columns.
const PICTURE_MARK: char = '\u{FE0F}';

/// The columns that `text` takes on one line, at whose beginning it stands.
pub fn columns(text: &str) -> usize {
    let mut counter = ColumnCount::default();
    text.chars().for_each(|c| counter.push(c));
    counter.columns
}

/// Counts columns character by character.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ColumnCount {
    pub(crate) columns: usize,
    last: usize,
}

impl ColumnCount {
    pub(crate) fn push(&mut self, c: char) {
        let width = match c {
            '\t' => TAB - self.columns % TAB,
            PICTURE_MARK => usize::from(self.last == 1),
            c => c.width().unwrap_or(0),
        };
        self.columns += width;
        self.last = width;
    }

    /// The columns with `c` added.
    pub(crate) fn with(mut self, c: char) -> usize {
        self.push(c);
        self.columns
    }
}

/// `text`, or as much of its beginning as fits into `width` columns, with `…` for the rest. No joined
/// character is taken apart.
pub fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut counter = ColumnCount::default();
    let mut end = 0;
    for grapheme in text.graphemes(true) {
        grapheme.chars().for_each(|c| counter.push(c));
        if counter.columns + 1 > width {
            break;
        }
        end += grapheme.len();
    }
    let more = if width > 0 { "…" } else { "" };
    format!("{}{more}", &text[..end])
}

/// `text` with spaces for its tabs.
pub(crate) fn without_tabs(text: &str) -> String {
    if !text.contains('\t') {
        return text.to_owned();
    }
    let mut spaced = String::with_capacity(text.len() + TAB);
    let mut counter = ColumnCount::default();
    for c in text.chars() {
        let before = counter.columns;
        counter.push(c);
        match c {
            '\t' => spaced.push_str(&" ".repeat(counter.columns - before)),
            c => spaced.push(c),
        }
    }
    spaced
}

/// A run of text in one ink, which may lead somewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StyledText {
    pub(crate) ink: Ink,
    pub(crate) text: String,
    /// Where a link leads.
    pub(crate) target: Option<String>,
}

impl StyledText {
    pub(crate) fn new(ink: Ink, text: impl Into<String>) -> StyledText {
        StyledText { ink, text: text.into(), target: None }
    }

    /// The same look for another text.
    pub(crate) fn with_text(&self, text: impl Into<String>) -> StyledText {
        StyledText { text: text.into(), ..self.clone() }
    }

    pub(crate) fn paint(&self, style: OutputStyle) -> String {
        self.paint_with(Ink::PLAIN, style)
    }

    /// With the attributes of `ink` besides its own.
    pub(crate) fn paint_with(&self, ink: Ink, style: OutputStyle) -> String {
        let painted = style.paint(self.ink.and(ink), &self.text);
        match &self.target {
            Some(target) if !self.text.is_empty() => style.link(target, &painted),
            _ => painted,
        }
    }
}

/// The columns of a line in pieces without tabs.
pub(crate) fn width_of(pieces: &[StyledText]) -> usize {
    pieces.iter().map(|piece| columns(&piece.text)).sum()
}

pub(crate) fn painted(pieces: &[StyledText], style: OutputStyle) -> String {
    pieces.iter().map(|piece| piece.paint(style)).collect()
}

/// A line cut into lines of at most `width` columns, wherever that is. There is at least one.
pub(crate) fn folded(pieces: &[StyledText], width: usize) -> Vec<Vec<StyledText>> {
    let mut lines = vec![Vec::new()];
    let mut used = 0;
    for piece in pieces {
        let mut part = String::new();
        let mut counter = ColumnCount::default();
        for c in piece.text.chars() {
            if used + counter.with(c) > width && used + counter.columns > 0 {
                push(&mut lines, piece.with_text(std::mem::take(&mut part)));
                lines.push(Vec::new());
                (used, counter) = (0, ColumnCount::default());
            }
            counter.push(c);
            part.push(c);
        }
        used += counter.columns;
        push(&mut lines, piece.with_text(part));
    }
    lines
}

fn push(lines: &mut [Vec<StyledText>], piece: StyledText) {
    if let Some(line) = lines.last_mut().filter(|_| !piece.text.is_empty()) {
        line.push(piece);
    }
}

/// A line cut to `width` columns, with `…` for the rest.
pub(crate) fn cut(pieces: &[StyledText], width: usize) -> Vec<StyledText> {
    if width_of(pieces) <= width {
        return pieces.to_vec();
    }
    let mut line = folded(pieces, width.saturating_sub(1)).swap_remove(0);
    if width_of(&line) >= width {
        line.clear();
    }
    if width > 0 {
        line.push(StyledText::new(Ink::DIM, "…"));
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr as _;

    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_by_columns() {
        let table = [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("漢字漢字", 5, "漢字…"),
            ("漢字", 2, "…"),
            ("ab", 0, ""),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("👩\u{200D}🚀👩\u{200D}🚀", 7, "👩\u{200D}🚀…"),
        ];
        for (text, width, expected) in table {
            assert_eq!(fit(text, width), expected, "{text} in {width}");
        }
    }

    #[test]
    fn tabs_lead_to_their_stops_and_pictures_are_wide() {
        assert_eq!(without_tabs("a\tb\t漢\tc"), "a   b   漢  c");
        assert_eq!(columns("a\tb"), 5);
        assert_eq!(columns("❤\u{FE0F}"), 2);
        assert_eq!(columns("e\u{301}"), 1);
    }

    #[test]
    fn lines_are_cut_and_folded_across_pieces() {
        let pieces = [StyledText::new(Ink::BOLD, "abc"), StyledText::new(Ink::PLAIN, "漢字d")];
        let texts = |line: &[StyledText]| line.iter().map(|one| &*one.text).collect::<String>();
        let lines: Vec<String> = folded(&pieces, 4).iter().map(|line| texts(line)).collect();
        assert_eq!(lines, ["abc", "漢字", "d"]);
        assert_eq!(texts(&cut(&pieces, 6)), "abc漢…");
        assert_eq!(texts(&cut(&pieces, 8)), "abc漢字d");
        assert_eq!(folded(&[], 4), [vec![]]);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_it_was_counted(text in "\\PC*", width in 0_usize..30) {
            prop_assert!(text.width() <= columns(&text));
            prop_assert!(columns(&fit(&text, width)) <= width);
            let pieces = [StyledText::new(Ink::PLAIN, text)];
            prop_assert!(width_of(&cut(&pieces, width)) <= width);
        }
    }
}
