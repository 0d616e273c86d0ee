//! Lines of the part of the screen that is drawn again and again, made to measure.

use timeline::safe_text::harmless;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::columns::fit;
use crate::ink::Link;
use crate::{Ink, columns};

/// The room that something living is drawn into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveStyle {
    /// Columns that no line goes beyond.
    pub width: usize,
    /// Whether attributes are written. The layout is the same without them.
    pub colour: bool,
}

/// Lines to be written below the finished text, each at most as wide as was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveLines {
    /// The lines, with the attributes of [`Ink`] only.
    pub lines: Vec<String>,
    /// Row and column of the cursor, counted from 0; absent if the cursor belongs elsewhere.
    pub cursor: Option<(usize, usize)>,
}

impl LiveLines {
    /// Puts `other` below these lines; its cursor wins.
    pub fn extend(&mut self, other: LiveLines) {
        if let Some((row, column)) = other.cursor {
            self.cursor = Some((self.lines.len() + row, column));
        }
        self.lines.extend(other.lines);
    }
}

/// One line in the making: pieces of text, each with its attributes.
#[derive(Clone, Debug, Default)]
pub(crate) struct InkLine {
    pieces: Vec<(Ink, String)>,
    used: usize,
}

impl InkLine {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Adds text, with whatever a terminal would obey written out.
    pub(crate) fn push(&mut self, ink: Ink, text: &str) -> &mut Self {
        self.push_safe(ink, harmless(&text.replace(['\n', '\t'], " ")))
    }

    fn push_safe(&mut self, ink: Ink, text: String) -> &mut Self {
        self.used += columns(&text);
        self.pieces.push((ink, text));
        self
    }

    /// Adds what fits before column `end`, with `…` for the rest.
    pub(crate) fn push_fit(&mut self, ink: Ink, text: &str, end: usize) -> &mut Self {
        let safe = harmless(&text.replace(['\n', '\t'], " "));
        let kept = fit(&safe, end.saturating_sub(self.used));
        self.push_safe(ink, kept)
    }

    /// Adds blanks, or `fill`, up to column `end`.
    pub(crate) fn fill(&mut self, ink: Ink, fill: &str, end: usize) -> &mut Self {
        let missing = end.saturating_sub(self.used);
        self.push_safe(ink, fill.repeat(missing))
    }

    /// The line, cut at the width.
    pub(crate) fn paint(&self, style: LiveStyle) -> String {
        let mut line = String::new();
        let mut left = style.width;
        let is_cut = self.used > style.width;
        for (ink, text) in &self.pieces {
            // A line that is too long ends within the piece that reaches the last column.
            let ends_here = is_cut && columns(text) >= left;
            let text = if ends_here { fit(&format!("{text} …"), left) } else { text.clone() };
            left -= columns(&text).min(left);
            line.push_str(&if style.colour { ink.paint(&text) } else { text });
            if ends_here {
                break;
            }
        }
        line
    }
}

/// What is open at some place of a painted line: attributes and a link.
#[derive(Clone, Copy, Debug, Default)]
struct OpenSequences<'a> {
    ink: Option<&'a str>,
    link: Option<&'a str>,
}

impl<'a> OpenSequences<'a> {
    fn pass(&mut self, sequence: &'a str) {
        if Link::is_sequence(sequence) {
            self.link = (sequence != Link::END).then_some(sequence);
        } else {
            self.ink = (sequence != Ink::END).then_some(sequence);
        }
    }

    /// What ends all that is open.
    fn ends(self) -> String {
        let ink = self.ink.map_or("", |_| Ink::END);
        let link = self.link.map_or("", |_| Link::END);
        format!("{ink}{link}")
    }

    /// What opens the same again.
    fn begins(self) -> String {
        format!("{}{}", self.link.unwrap_or_default(), self.ink.unwrap_or_default())
    }
}

/// A line that was painted before, cut at `width` without breaking its attributes.
pub(crate) fn cut_painted(line: &str, width: usize) -> String {
    let mut kept = String::new();
    let (mut used, mut open, mut rest) = (0, OpenSequences::default(), line);
    while !rest.is_empty() {
        if let Some(length) = Ink::length_at_start(rest) {
            open.pass(&rest[..length]);
            kept.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        let Some(grapheme) = rest.graphemes(true).next() else { break };
        let safe = harmless(&grapheme.replace('\t', "    "));
        used += columns(&safe);
        if used > width {
            break;
        }
        kept.push_str(&safe);
        rest = &rest[grapheme.len()..];
    }
    if !rest.is_empty() {
        kept.push_str(&open.ends());
    }
    kept
}

/// A painted line in rows of at most `width` columns. Attributes go on in the next row.
pub fn wrap_painted(line: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut rows = vec![String::new()];
    let (mut used, mut open, mut rest) = (0, OpenSequences::default(), line);
    while !rest.is_empty() {
        let Some(row) = rows.last_mut() else { break };
        if let Some(length) = Ink::length_at_start(rest) {
            row.push_str(&rest[..length]);
            open.pass(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        let Some(grapheme) = rest.graphemes(true).next() else { break };
        let safe = fit(&harmless(&grapheme.replace('\t', "    ")), width);
        if used + columns(&safe) > width {
            row.push_str(&open.ends());
            rows.push(format!("{}{safe}", open.begins()));
            used = columns(&safe);
        } else {
            row.push_str(&safe);
            used += columns(&safe);
        }
        rest = &rest[grapheme.len()..];
    }
    rows
}

/// The text of a painted line without its attributes.
pub(crate) fn unpainted(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let skipped = Ink::length_at_start(rest);
        if skipped.is_none() {
            text.push(c);
        }
        rest = &rest[skipped.unwrap_or(c.len_utf8())..];
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn painted_lines_are_cut_by_columns_and_closed() {
        let line = format!("{}{}", Ink::RED.paint("-漢字"), Ink::BOLD.paint("x"));
        assert_eq!(cut_painted(&line, 4), "\x1b[31m-漢\x1b[0m");
        assert_eq!(cut_painted(&line, 40), line);
        assert_eq!(cut_painted("\x1b[2Jx", 40), "\\x1B[2Jx");
        assert_eq!(unpainted(&line), "-漢字x");
        let rows = ["\x1b[31m-漢\x1b[0m", "\x1b[31m字\x1b[0m\x1b[1mx\x1b[0m"];
        assert_eq!(wrap_painted(&line, 4), rows);
    }

    #[test]
    fn a_link_that_is_cut_leads_nowhere_beyond_its_end() {
        let link = |text: &str| Link::to("https://a.b").unwrap().around(text);
        let line = format!("{} more", link(&Ink::CYAN.paint("text")));
        assert_eq!(unpainted(&line), "text more");
        let ends = format!("{}{}", Ink::END, Link::END);
        let begins = "\x1b]8;;https://a.b\x1b\\\x1b[36m";
        assert_eq!(cut_painted(&line, 2), format!("{begins}te{ends}"));
        assert_eq!(wrap_painted(&line, 2)[1], format!("{begins}xt{ends}"));
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked(
            pieces in prop::collection::vec("[a-z 漢字é\u{301}]{0,12}", 0..5),
            width in 0usize..30,
        ) {
            let mut line = InkLine::new();
            for piece in &pieces {
                line.push(Ink::BOLD, piece);
            }
            let painted = line.paint(LiveStyle { width, colour: true });
            prop_assert!(columns(&unpainted(&painted)) <= width, "{painted:?}");
            prop_assert!(columns(&cut_painted(&pieces.concat(), width)) <= width);
            let rows = wrap_painted(&pieces.concat(), width);
            prop_assert!(rows.iter().all(|row| columns(row) <= width.max(1)));
            prop_assert!(width < 2 || rows.concat() == pieces.concat());
        }
    }
}
