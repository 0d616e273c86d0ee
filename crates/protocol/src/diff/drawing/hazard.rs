//! Which characters mislead a reader, and how.

use super::Glyph;

/// The ways in which text can be other than it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::diff) enum Hazard {
    /// A terminal interprets it.
    Control,
    /// It reorders what stands around it.
    Bidi,
    /// It has no width.
    Invisible,
    /// It hides a second text in the first.
    Tag,
    /// It changes the look of its neighbour.
    Variation,
    /// It looks like a space.
    Space,
    /// It is not a character.
    NotText,
}

impl Hazard {
    pub(in crate::diff) const ALL: [Hazard; 7] = [
        Hazard::Control,
        Hazard::Bidi,
        Hazard::Invisible,
        Hazard::Tag,
        Hazard::Variation,
        Hazard::Space,
        Hazard::NotText,
    ];

    /// What it is and why it matters, before and after the place where it is.
    pub(in crate::diff) fn words(self) -> (&'static str, &'static str) {
        match self {
            Hazard::Control => ("control characters", "a terminal would interpret them"),
            Hazard::Bidi => {
                ("characters that reorder text", "it runs in another order than it would read")
            }
            Hazard::Invisible => ("invisible characters", "names that look equal may differ"),
            Hazard::Tag => ("tag characters", "they hide text that only programs read"),
            Hazard::Variation => ("variation selectors", "they can hide data"),
            Hazard::Space => ("unusual spaces", "they look like a space but are not"),
            Hazard::NotText => ("bytes that are not UTF-8", "they are shown as numbers"),
        }
    }
}

/// A set of hazards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::diff) struct Hazards(u8);

impl Hazards {
    pub(in crate::diff) fn insert(&mut self, hazard: Hazard) {
        self.0 |= 1 << hazard as u8;
    }

    pub(in crate::diff) fn contains(self, hazard: Hazard) -> bool {
        self.0 & (1 << hazard as u8) != 0
    }
}

/// The hazard of a character between its neighbours. In emoji, selectors and joiners are at home.
pub(super) fn of(character: char, before: Option<Glyph>, after: Option<Glyph>) -> Option<Hazard> {
    let is = |glyph: Option<Glyph>, test: fn(char) -> bool| matches!(glyph, Some(Glyph::Char(c)) if test(c));
    let emoji_before = is(before, |c| is_pictograph(c) || c == EMOJI_STYLE);
    match character {
        '\t' => None,
        ' '..='~' => None,
        c if c.is_control() => Some(Hazard::Control),
        EMOJI_STYLE if is(before, is_keycap_base) && is(after, |c| c == KEYCAP) => None,
        TEXT_STYLE | EMOJI_STYLE if is(before, is_pictograph) => None,
        ZERO_WIDTH_JOINER if emoji_before && is(after, is_pictograph) => None,
        '\u{061C}' | '\u{200E}' | '\u{200F}' => Some(Hazard::Bidi),
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Some(Hazard::Bidi),
        '\u{E0000}'..='\u{E007F}' => Some(Hazard::Tag),
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' | '\u{180B}'..='\u{180F}' => {
            Some(Hazard::Variation)
        }
        '\u{2028}' | '\u{2029}' => Some(Hazard::Control),
        c if c.is_whitespace() => Some(Hazard::Space),
        '\u{2800}' => Some(Hazard::Space),
        c if is_invisible(c) => Some(Hazard::Invisible),
        _ => None,
    }
}

const TEXT_STYLE: char = '\u{FE0E}';
const EMOJI_STYLE: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';
const ZERO_WIDTH_JOINER: char = '\u{200D}';

fn is_keycap_base(c: char) -> bool {
    matches!(c, '0'..='9' | '#' | '*')
}

/// The characters that Unicode defines to have no look of their own, and noncharacters.
fn is_invisible(c: char) -> bool {
    let noncharacter = (c as u32) & 0xFFFE == 0xFFFE || matches!(c, '\u{FDD0}'..='\u{FDEF}');
    noncharacter
        || matches!(
            c,
            '\u{00AD}'
                | '\u{034F}'
                | '\u{115F}'
                | '\u{1160}'
                | '\u{17B4}'
                | '\u{17B5}'
                | '\u{200B}'..='\u{200D}'
                | '\u{2060}'..='\u{2065}'
                | '\u{206A}'..='\u{206F}'
                | '\u{3164}'
                | '\u{FEFF}'
                | '\u{FFA0}'
                | '\u{FFF0}'..='\u{FFFB}'
                | '\u{1BCA0}'..='\u{1BCA3}'
                | '\u{1D173}'..='\u{1D17A}'
                | '\u{E0080}'..='\u{E00FF}'
                | '\u{E01F0}'..='\u{E0FFF}'
        )
}

/// The blocks in which emoji live. Being generous here only lets a selector stay invisible behind a
/// picture.
fn is_pictograph(c: char) -> bool {
    matches!(
        c,
        '\u{00A9}' | '\u{00AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
            | '\u{2190}'..='\u{21FF}'
            | '\u{2300}'..='\u{23FF}'
            | '\u{24C2}'
            | '\u{25A0}'..='\u{27BF}'
            | '\u{2934}' | '\u{2935}'
            | '\u{2B00}'..='\u{2BFF}'
            | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}'
            | '\u{1F000}'..='\u{1FAFF}'
    )
}
