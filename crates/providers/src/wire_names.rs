//! Names of tools and ids of calls in the form in which a provider accepts them.
//!
//! A model can invent any name, and a server any id: `functions.read_file`, an emoji, nothing at all.
//! The conversation keeps them as they came. Providers refuse a whole request for one of them, and
//! differ in what they refuse, so a request writes what is acceptable as it is and anything else as
//! what is left of it and a hash of all of it. That is a function of the name alone: a call and its
//! result stay together, a request begins like the one before it, and two names never become one.

use std::borrow::Cow;

use protocol::ContentHash;

/// What stands between the readable part and the hash. A name that ends like this is always
/// rewritten, so that none can be mistaken for the rewritten form of another.
const SEAM: &str = "-x";
/// The digits of the hash. Names that collide would need some four thousand million calls.
const HASH_DIGITS: usize = 16;
/// What stands for a name without a single acceptable character.
const NAMELESS: &str = "unnamed";

/// The longest name that all providers accept; Anthropic alone takes 128 characters.
const MAX_NAME: usize = 64;

/// Which ids of calls a provider accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdRule {
    /// Letters, digits, `_` and `-`.
    Plain {
        /// The most characters.
        max: usize,
    },
    /// Punctuation as well. It has to stay where it can: Kimi K2 wants its `functions.read_file:0`
    /// back as it was.
    Punctuated {
        /// The most characters.
        max: usize,
    },
    /// `Tool call id was call_0fypS1hVX but must be a-z, A-Z, 0-9, with a length of 9.`
    Nine,
}

impl IdRule {
    /// `messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`.
    pub(crate) const ANTHROPIC: Self = Self::Plain { max: 64 };
    /// `Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum
    /// length 40`.
    pub(crate) const CHAT: Self = Self::Punctuated { max: 40 };
    /// `Invalid 'input[95].call_id': string too long. Expected a string with maximum length 64`.
    pub(crate) const RESPONSES: Self = Self::Punctuated { max: 64 };

    /// The id of a call, or of the call that a result belongs to.
    pub(crate) fn write(self, id: &str) -> Cow<'_, str> {
        let max = match self {
            Self::Plain { max } | Self::Punctuated { max } => max,
            Self::Nine if id.len() == NINE && self.accepts(id) => return Cow::Borrowed(id),
            Self::Nine => return Cow::Owned(nine_characters(id)),
        };
        let fits = !id.is_empty() && id.len() <= max && self.accepts(id);
        accepted_form(id, fits, max)
    }

    /// Whether all characters of an id are accepted.
    fn accepts(self, id: &str) -> bool {
        id.chars().all(|c| match self {
            Self::Plain { .. } => is_plain(c),
            Self::Punctuated { .. } => c.is_ascii_graphic(),
            Self::Nine => c.is_ascii_alphanumeric(),
        })
    }
}

/// The length of Mistral's ids.
const NINE: usize = 9;

/// Nothing but a hash has room in nine letters and digits.
fn nine_characters(id: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut number = u64::from_str_radix(&hash(id), 16).unwrap_or_default();
    let digit = |_| {
        let digit = number % 62;
        number /= 62;
        char::from(DIGITS[usize::try_from(digit).unwrap_or_default()])
    };
    (0..NINE).map(digit).collect()
}

fn hash(original: &str) -> String {
    let mut hash = ContentHash::of(original.as_bytes()).to_string();
    hash.truncate(HASH_DIGITS);
    hash
}

/// The name of a tool: letters, digits, `_` and `-`, as all providers want it, and no digit or `-`
/// first, which Gemini refuses.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let fits = begins_well && name.len() <= MAX_NAME && name.chars().all(is_plain);
    accepted_form(name, fits, MAX_NAME)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn accepted_form(original: &str, fits: bool, max: usize) -> Cow<'_, str> {
    if fits && !looks_rewritten(original) {
        return Cow::Borrowed(original);
    }
    let room = max - SEAM.len() - HASH_DIGITS;
    Cow::Owned(format!("{}{SEAM}{}", readable(original, room), hash(original)))
}

fn looks_rewritten(name: &str) -> bool {
    let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    name.rsplit_once(SEAM)
        .is_some_and(|(_, hash)| hash.len() == HASH_DIGITS && hash.chars().all(is_digit))
}

/// What a reader still recognises of a name: its acceptable parts, beginning with a letter.
fn readable(name: &str, room: usize) -> String {
    let mut out = String::new();
    for part in name.split(|c: char| !is_plain(c)).filter(|part| !part.is_empty()) {
        if !out.is_empty() {
            out.push('_');
        }
        out.push_str(part);
        if out.len() >= room {
            break;
        }
    }
    let begins = out.find(|c: char| c.is_ascii_alphabetic());
    let mut out = begins.map_or_else(|| NAMELESS.to_owned(), |at| out.split_off(at));
    out.truncate(room);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_accepted_stays_and_all_else_is_recognisable() {
        let long = "abcdefgh".repeat(40);
        let names = [
            "read_file",
            "functions.read_file",
            "functions.read_file:0",
            "",
            "🦀",
            "1st",
            "a b\n",
            "über.tool",
            "read_file-x0123456789abcdef",
            &long,
        ];
        let written: Vec<_> = names.iter().map(|name| tool_name(name)).collect();
        insta::assert_snapshot!(written.join("\n"), @"
        read_file
        functions_read_file-x7ed0cc9d56e1cdc5
        functions_read_file_0-x36da328e3d6947b5
        unnamed-xaf1349b9f5f9a1a6
        unnamed-xa4abc90628d5caf7
        st-x7f721eca475660f9
        a_b-x210d28a5b1118d0b
        ber_tool-xac8d2e2d79141b82
        read_file-x0123456789abcdef-xdb014a58830e8bf7
        abcdefghabcdefghabcdefghabcdefghabcdefghabcdef-xb08d9d24ba0b3578
        ");
        let ids = [
            "toolu_01",
            "functions.read_file:0",
            "",
            "a\u{7}",
            "chatcmpl-tool-0123456789abcdef0123456789abcdef",
        ];
        let rules = [IdRule::ANTHROPIC, IdRule::CHAT, IdRule::RESPONSES, IdRule::Nine];
        let written = ids.map(|id| rules.map(|rule| rule.write(id).into_owned()).join(" "));
        insta::assert_snapshot!(written.join("\n"), @"
        toolu_01 toolu_01 toolu_01 5lCA2N3OM
        functions_read_file_0-x36da328e3d6947b5 functions.read_file:0 functions.read_file:0 3fd5l1Ecy
        unnamed-xaf1349b9f5f9a1a6 unnamed-xaf1349b9f5f9a1a6 unnamed-xaf1349b9f5f9a1a6 Q6wCNfx9v
        a-xe9ec7d059cc228e6 a-xe9ec7d059cc228e6 a-xe9ec7d059cc228e6 CBEzmtZaA
        chatcmpl-tool-0123456789abcdef0123456789abcdef chatcmpl-tool-01234567-xe33189fd44203840 chatcmpl-tool-0123456789abcdef0123456789abcdef WUR2MfzQL
        ");
    }

    /// Names of all kinds, and their rewritten forms, which a model may have seen and repeat.
    fn any_name() -> impl Strategy<Value = String> {
        let name =
            prop_oneof!["[a-c.:]{0,3}", "[a-zA-Z0-9_-]{0,80}", any::<String>(), "\\PC{60,300}"];
        let repeated = name.clone().prop_map(|name| tool_name(&name).into_owned());
        let repeated_id = name.clone().prop_map(|id| IdRule::CHAT.write(&id).into_owned());
        prop_oneof![4 => name, 1 => repeated, 1 => repeated_id]
    }

    proptest! {
        #[test]
        fn every_form_is_accepted_and_no_two_names_share_one(one in any_name(), other in any_name()) {
            let written = tool_name(&one);
            prop_assert!((1..=MAX_NAME).contains(&written.len()) && written.chars().all(is_plain));
            prop_assert!(written.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
            prop_assert_eq!(written == tool_name(&other), one == other);
            for rule in [IdRule::ANTHROPIC, IdRule::CHAT, IdRule::RESPONSES] {
                let written = rule.write(&one);
                let longest = if rule == IdRule::CHAT { 40 } else { 64 };
                prop_assert!((1..=longest).contains(&written.len()) && rule.accepts(&written));
                prop_assert_eq!(written == rule.write(&other), one == other);
                // What was rewritten names another call when a model sends it.
                if written != one {
                    prop_assert_ne!(rule.write(&written), written.clone());
                }
            }
            let written = IdRule::Nine.write(&one);
            prop_assert!(written.len() == NINE && IdRule::Nine.accepts(&written));
            prop_assert_eq!(written == IdRule::Nine.write(&other), one == other);
        }
    }
}
