//! Colours and weights of text, and whether the output can show them.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Whether an output shows colours, and how wide it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStyle {
    /// A file, a pipe, or a user who wants no colours: text stays as it is.
    Plain,
    /// A terminal of this many columns.
    Styled {
        /// Its columns.
        width: usize,
    },
}

impl OutputStyle {
    /// `text` in `ink`, if the output shows colours.
    pub fn paint(self, ink: Ink, text: &str) -> String {
        match self {
            OutputStyle::Plain => text.to_owned(),
            OutputStyle::Styled { .. } => ink.paint(text),
        }
    }

    /// `text` cut to what is left of a line after `used` columns.
    pub fn fit(self, text: &str, used: usize) -> String {
        match self {
            OutputStyle::Plain => text.to_owned(),
            OutputStyle::Styled { width } => fit(text, width.saturating_sub(used)),
        }
    }
}

/// A set of attributes of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ink(u16);

/// Each attribute with the number that terminals know it by.
const NUMBERS: [(Ink, u8); 9] = [
    (Ink::BOLD, 1),
    (Ink::DIM, 2),
    (Ink::ITALIC, 3),
    (Ink::UNDERLINED, 4),
    (Ink::STRUCK, 9),
    (Ink::RED, 31),
    (Ink::GREEN, 32),
    (Ink::YELLOW, 33),
    (Ink::CYAN, 36),
];

impl Ink {
    /// No attribute.
    pub const PLAIN: Ink = Ink(0);
    /// Heavier.
    pub const BOLD: Ink = Ink(1);
    /// Less important.
    pub const DIM: Ink = Ink(1 << 1);
    /// Slanted.
    pub const ITALIC: Ink = Ink(1 << 2);
    /// With a line below.
    pub const UNDERLINED: Ink = Ink(1 << 3);
    /// With a line through it.
    pub const STRUCK: Ink = Ink(1 << 4);
    /// Removed or failed.
    pub const RED: Ink = Ink(1 << 5);
    /// Added or passed.
    pub const GREEN: Ink = Ink(1 << 6);
    /// Waiting, or a warning.
    pub const YELLOW: Ink = Ink(1 << 7);
    /// Code, marks and names.
    pub const CYAN: Ink = Ink(1 << 8);

    /// Both sets of attributes.
    pub const fn and(self, other: Ink) -> Ink {
        Ink(self.0 | other.0)
    }

    /// The length of the sequence that `text` begins with, if it is one that [`Self::paint`] writes.
    pub fn length_at_start(text: &str) -> Option<usize> {
        let body = text.strip_prefix("\x1b[")?;
        let (numbers, _) = body.split_once('m')?;
        let known = |number: &str| NUMBERS.iter().any(|(_, known)| known.to_string() == number);
        let is_ours = numbers == "0" || numbers.split(';').all(known);
        is_ours.then_some("\x1b[".len() + numbers.len() + "m".len())
    }

    /// `text` with these attributes, which end with it.
    pub fn paint(self, text: &str) -> String {
        if self == Ink::PLAIN || text.is_empty() {
            return text.to_owned();
        }
        let set = NUMBERS.iter().filter(|(ink, _)| self.0 & ink.0 != 0);
        let numbers: Vec<String> = set.map(|(_, number)| number.to_string()).collect();
        format!("\x1b[{}m{text}\x1b[0m", numbers.join(";"))
    }
}

/// The columns that `text` takes.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// `text`, or as much of its beginning as fits into `width` columns, with `…` for the rest.
pub fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeline::safe_text::{harmless, harmless_but};

    #[test]
    fn inks_add_up_and_plain_places_have_none() {
        let ink = Ink::BOLD.and(Ink::RED);
        assert_eq!(OutputStyle::Styled { width: 80 }.paint(ink, "no"), "\x1b[1;31mno\x1b[0m");
        assert_eq!(OutputStyle::Plain.paint(ink, "no"), "no");
        assert_eq!(Ink::PLAIN.paint("x"), "x");
    }

    #[test]
    fn only_the_sequences_of_our_own_inks_pass() {
        let table = [
            ("\x1b[1;31mno\x1b[0m", "\x1b[1;31mno\x1b[0m"),
            ("\x1b[8mhidden\x1b[0m", "\\x1B[8mhidden\x1b[0m"),
            ("\x1b[38;5;0m\x1b[m\x1b[2J\x1b]0;x\x07", "\\x1B[38;5;0m\\x1B[m\\x1B[2J\\x1B]0;x\\x07"),
            ("a\rb", "a\\rb"),
        ];
        for (text, expected) in table {
            let passed = harmless_but(text, &mut None, Ink::length_at_start);
            assert_eq!(passed, expected, "{text:?}");
        }
        assert_eq!(harmless("\x1b[1mx"), "\\x1B[1mx");
    }

    #[test]
    fn what_does_not_fit_is_cut_by_columns() {
        let table =
            [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("漢字漢字", 5, "漢字…"), ("漢字", 2, "…")];
        for (text, width, expected) in table {
            assert_eq!(fit(text, width), expected, "{text} in {width}");
        }
    }
}
