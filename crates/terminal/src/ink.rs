//! The sequences that are written to a terminal between text: attributes and links.

/// A set of attributes of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ink(u16);

/// Each attribute with the number that terminals know it by.
const NUMBERS: [(Ink, u8); 12] = [
    (Ink::BOLD, 1),
    (Ink::DIM, 2),
    (Ink::ITALIC, 3),
    (Ink::UNDERLINED, 4),
    (Ink::REVERSED, 7),
    (Ink::STRUCK, 9),
    (Ink::RED, 31),
    (Ink::GREEN, 32),
    (Ink::YELLOW, 33),
    (Ink::BLUE, 34),
    (Ink::MAGENTA, 35),
    (Ink::CYAN, 36),
];

impl Ink {
    /// Ends all attributes.
    pub(crate) const END: &'static str = "\x1b[0m";
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
    /// Functions within code.
    pub const BLUE: Ink = Ink(1 << 9);
    /// Keywords within code.
    pub const MAGENTA: Ink = Ink(1 << 10);
    /// The words that differ between two lines.
    pub const REVERSED: Ink = Ink(1 << 11);

    /// Both sets of attributes.
    pub const fn and(self, other: Ink) -> Ink {
        Ink(self.0 | other.0)
    }

    /// The length of the sequence that `text` begins with, if it is one that [`Self::paint`] or a
    /// link writes.
    pub fn length_at_start(text: &str) -> Option<usize> {
        if let Some(length) = Link::length_at_start(text) {
            return Some(length);
        }
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

const SCHEMES: [&str; 4] = ["https://", "http://", "mailto:", "file://"];
const LINK_START: &str = "\x1b]8;;";
const LINK_STOP: &str = "\x1b\\";
/// Terminals ignore longer ones.
const LONGEST_TARGET: usize = 2000;

/// A link that a terminal can follow (OSC 8). Its target is printable ASCII of a few schemes, so that it
/// cannot end the sequence or name a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link<'a>(&'a str);

impl<'a> Link<'a> {
    /// Ends a link.
    pub(crate) const END: &'static str = "\x1b]8;;\x1b\\";

    /// Whether one of our sequences begins or ends a link.
    pub(crate) fn is_sequence(sequence: &str) -> bool {
        sequence.starts_with(LINK_START)
    }

    /// The link to `target`, if it may be one.
    pub(crate) fn to(target: &'a str) -> Option<Link<'a>> {
        let is_known = SCHEMES
            .iter()
            .any(|scheme| target.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        let is_plain = target.bytes().all(|byte| byte.is_ascii_graphic());
        (is_known && is_plain && target.len() <= LONGEST_TARGET).then_some(Link(target))
    }

    pub(crate) fn around(self, text: &str) -> String {
        format!("{LINK_START}{}{LINK_STOP}{text}{}", self.0, Self::END)
    }

    fn length_at_start(text: &str) -> Option<usize> {
        let body = text.strip_prefix(LINK_START)?;
        let end = body.find('\x1b')?;
        let is_ours =
            body[end..].starts_with(LINK_STOP) && (end == 0 || Link::to(&body[..end]).is_some());
        is_ours.then_some(LINK_START.len() + end + LINK_STOP.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeline::safe_text::{harmless, harmless_but};

    #[test]
    fn only_our_own_sequences_pass() {
        let link = Link::to("https://a.b/c?d=1").expect("it is a link").around("text");
        let table = [
            ("\x1b[1;31mno\x1b[0m", "\x1b[1;31mno\x1b[0m"),
            (&*link, &*link),
            ("\x1b[8mhidden\x1b[0m", "\\x1B[8mhidden\x1b[0m"),
            ("\x1b[38;5;0m\x1b[m\x1b[2J\x1b]0;x\x07", "\\x1B[38;5;0m\\x1B[m\\x1B[2J\\x1B]0;x\\x07"),
            ("\x1b]8;;ssh://a\x1b\\", "\\x1B]8;;ssh://a\\x1B\\"),
            ("\x1b]8;id=1;https://a\x1b\\", "\\x1B]8;id=1;https://a\\x1B\\"),
            ("\x1b]8;;https://a\x07", "\\x1B]8;;https://a\\x07"),
            ("a\rb", "a\\rb"),
        ];
        for (text, expected) in table {
            let passed = harmless_but(text, &mut None, Ink::length_at_start);
            assert_eq!(passed, expected, "{text:?}");
        }
        assert_eq!(harmless("\x1b[1mx"), "\\x1B[1mx");
    }

    #[test]
    fn links_lead_to_few_schemes_and_cannot_end_early() {
        for target in ["https://a.b", "http://a", "mailto:a@b.c", "file:///a/b"] {
            assert!(Link::to(target).is_some(), "{target}");
        }
        let long = format!("https://{}", "a".repeat(LONGEST_TARGET));
        for target in [
            "src/a.rs",
            "javascript:x",
            "https://",
            "https://a b",
            "https://ä",
            "https://a\x07",
            &long,
        ] {
            assert_eq!(Link::to(target), None, "{target}");
        }
    }
}
