//! Text that is safe to print: what a screen would interpret, reorder or hide is escaped.

use std::fmt::Write as _;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file_text::{DiffEncoding, Ending, FileText, LineEndingStyle};
use super::{DiffLine, LineKind};

mod hazard;

pub(super) use hazard::{Hazard, Hazards};

/// A part of a drawn text that a screen should set apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// The first byte of the part in the drawn text.
    pub start: usize,
    /// The byte after the part.
    pub end: usize,
    /// What it is.
    pub kind: MarkKind,
}

/// What a marked part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// An escape that stands for something that cannot be printed as it is. Without this mark the
    /// same text is what the file literally holds.
    Escape,
    /// White space at the end of a line that comes or goes.
    TrailingSpace,
}

/// `text` with everything that a screen would interpret, reorder or hide written as an escape, for
/// showing paths and arguments. Line feeds are escaped too; tabs stay.
pub fn visible(text: &str) -> String {
    let glyphs: Vec<Glyph> = text.chars().map(Glyph::Char).collect();
    let mut drawn = Drawn::default();
    drawn.glyphs(&glyphs);
    drawn.text
}

/// The parts of `text` that [`visible`] writes as escapes, as bytes.
pub fn hidden_parts(text: &str) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut before = None;
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let after = rest.peek().map(|(_, c)| Glyph::Char(*c));
        if hazard::of(c, before, after).is_some() {
            match parts.last_mut() {
                Some(last) if last.end == at => last.end += c.len_utf8(),
                _ => parts.push(at..at + c.len_utf8()),
            }
        }
        before = Some(Glyph::Char(c));
    }
    parts
}

/// What the bytes of a text decode to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Glyph {
    Char(char),
    /// A byte that is not part of a character.
    Byte(u8),
    /// Half of a UTF-16 pair.
    Half(u16),
}

/// A text as it is drawn so far.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) text: String,
    pub(super) marks: Vec<Mark>,
    pub(super) hazards: Hazards,
}

impl Drawn {
    fn glyphs(&mut self, glyphs: &[Glyph]) {
        for (at, glyph) in glyphs.iter().enumerate() {
            let hazard = match glyph {
                Glyph::Char(c) => {
                    let before = at.checked_sub(1).map(|at| glyphs[at]);
                    hazard::of(*c, before, glyphs.get(at + 1).copied())
                }
                Glyph::Byte(_) | Glyph::Half(_) => Some(Hazard::NotText),
            };
            match (glyph, hazard) {
                (Glyph::Char(c), None) => self.text.push(*c),
                (glyph, Some(hazard)) => {
                    self.hazards.insert(hazard);
                    self.escape(*glyph);
                }
                (glyph, None) => self.escape(*glyph),
            }
        }
    }

    fn escape(&mut self, glyph: Glyph) {
        let start = self.text.len();
        // Writing to a string cannot fail.
        let _ = match glyph {
            Glyph::Char('\r') => write!(self.text, "\\r"),
            Glyph::Char('\n') => write!(self.text, "\\n"),
            Glyph::Char(c) if c.is_ascii() => write!(self.text, "\\x{:02X}", c as u32),
            Glyph::Char(c) => write!(self.text, "\\u{{{:04X}}}", c as u32),
            Glyph::Byte(byte) => write!(self.text, "\\x{byte:02X}"),
            Glyph::Half(unit) => write!(self.text, "\\u{{{unit:04X}}}"),
        };
        self.marks.push(Mark { start, end: self.text.len(), kind: MarkKind::Escape });
    }

    fn mark_trailing_space(&mut self) {
        let end = self.text.len();
        let start = self.text.trim_end_matches([' ', '\t']).len();
        if start < end {
            self.marks.push(Mark { start, end, kind: MarkKind::TrailingSpace });
        }
    }
}

/// Draws the lines of two texts, knowing what both have in common.
pub(super) struct Drawer<'a> {
    old: &'a FileText<'a>,
    new: &'a FileText<'a>,
    show_carriage_returns: bool,
    show_byte_order_mark: bool,
}

impl<'a> Drawer<'a> {
    pub(super) fn new(old: &'a FileText<'a>, new: &'a FileText<'a>) -> Self {
        let all_crlf = [old, new]
            .iter()
            .all(|text| matches!(text.endings, None | Some(LineEndingStyle::CrLf)));
        let same_mark = old.byte_order_mark() == new.byte_order_mark();
        let utf16 = new.encoding != DiffEncoding::Utf8;
        Self {
            old,
            new,
            show_carriage_returns: !all_crlf,
            show_byte_order_mark: !same_mark && !utf16,
        }
    }

    /// The line with this number: of the old text if it goes, else of the new one.
    pub(super) fn line(&self, kind: LineKind, index: usize) -> (DiffLine, Hazards) {
        let file = match kind {
            LineKind::Remove => self.old,
            LineKind::Context | LineKind::Add => self.new,
        };
        let (mut bytes, ending) = file.content(index);
        if index == 0 && !self.show_byte_order_mark {
            bytes = bytes.strip_prefix(file.byte_order_mark()).unwrap_or(bytes);
        }
        let mut drawn = draw(bytes, file.encoding);
        if kind != LineKind::Context {
            drawn.mark_trailing_space();
        }
        // It is the difference of endings that is worth a warning, not each carriage return.
        if ending == Ending::CrLf && self.show_carriage_returns {
            drawn.escape(Glyph::Char('\r'));
        }
        let Drawn { text, marks, hazards } = drawn;
        (DiffLine { kind, text, marks, no_newline: ending == Ending::None }, hazards)
    }
}

fn draw(bytes: &[u8], encoding: DiffEncoding) -> Drawn {
    let mut drawn = Drawn::default();
    let harmless = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    match std::str::from_utf8(bytes) {
        Ok(text) if encoding == DiffEncoding::Utf8 && bytes.iter().all(harmless) => {
            drawn.text = text.to_owned();
        }
        _ => drawn.glyphs(&decoded(bytes, encoding)),
    }
    drawn
}

fn decoded(bytes: &[u8], encoding: DiffEncoding) -> Vec<Glyph> {
    let Some(units) = encoding.units(bytes) else {
        let chunks = bytes.utf8_chunks().flat_map(|chunk| {
            let invalid = chunk.invalid().iter().copied().map(Glyph::Byte);
            chunk.valid().chars().map(Glyph::Char).chain(invalid)
        });
        return chunks.collect();
    };
    let characters = char::decode_utf16(units).map(|unit| match unit {
        Ok(c) => Glyph::Char(c),
        Err(half) => Glyph::Half(half.unpaired_surrogate()),
    });
    let odd = bytes.chunks_exact(2).remainder().iter().copied().map(Glyph::Byte);
    characters.chain(odd).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whatever_a_screen_obeys_or_hides_is_written_out() {
        let cases = [
            ("plain\ttext äöü 日本 🙂", "plain\ttext äöü 日本 🙂"),
            ("\x1B[31mred", "\\x1B[31mred"),
            ("a\rb\nc\x7F\0", "a\\rb\\nc\\x7F\\x00"),
            ("\u{9B}31m", "\\u{009B}31m"),
            ("user\u{202E}gpj", "user\\u{202E}gpj"),
            ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"),
            ("a\u{200B}b\u{FEFF}c\u{AD}", "a\\u{200B}b\\u{FEFF}c\\u{00AD}"),
            ("a\u{A0}b\u{3000}\u{2028}", "a\\u{00A0}b\\u{3000}\\u{2028}"),
            ("x\u{E0041}\u{E007F}", "x\\u{E0041}\\u{E007F}"),
            ("x\u{FE0F}y\u{E0100}", "x\\u{FE0F}y\\u{E0100}"),
            ("❤\u{FE0F} 1\u{FE0F}\u{20E3}", "❤\u{FE0F} 1\u{FE0F}\u{20E3}"),
            ("👩\u{200D}💻", "👩\u{200D}💻"),
            ("a\u{200D}b", "a\\u{200D}b"),
            ("\u{3164}\u{115F}", "\\u{3164}\\u{115F}"),
        ];
        for (text, expected) in cases {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(draw(b"caf\xE9 \xC3\xA9", DiffEncoding::Utf8).text, "caf\\xE9 é");
        assert_eq!(draw(b"a\0\x00\xD8b", DiffEncoding::Utf16Le).text, "a\\u{D800}\\x62");
        assert_eq!(draw(b"\0a\x20\x2E", DiffEncoding::Utf16Be).text, "a\\u{202E}");
    }

    proptest! {
        #[test]
        fn drawn_text_holds_no_control_character(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            for encoding in [DiffEncoding::Utf8, DiffEncoding::Utf16Le, DiffEncoding::Utf16Be] {
                let drawn = draw(&bytes, encoding);
                prop_assert!(drawn.text.chars().all(|c| c == '\t' || !c.is_control()));
                for mark in &drawn.marks {
                    prop_assert!(drawn.text[mark.start..mark.end].starts_with('\\'));
                }
                prop_assert_eq!(visible(&drawn.text), drawn.text);
            }
        }
    }
}
