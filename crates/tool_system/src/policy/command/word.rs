//! One word of a command line, with its quotes taken off.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much of a word is known before the shell runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordKind {
    /// All of it: the program gets exactly this text.
    Plain,
    /// The shell expands it to names: globs, braces, a tilde.
    Pattern,
    /// It holds variables or the output of commands.
    Opaque,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CommandWord {
    /// The text without quotes; as it was written if it is opaque.
    pub text: String,
    /// How much of it is known.
    pub kind: WordKind,
}

impl CommandWord {
    /// A word that is passed on as it is.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: WordKind::Plain }
    }

    /// A word of which only the spelling is known.
    pub fn opaque(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: WordKind::Opaque }
    }

    /// The text, if it is known.
    pub fn as_plain(&self) -> Option<&str> {
        (self.kind == WordKind::Plain).then_some(self.text.as_str())
    }

    /// Takes the quotes off `raw`. `None` if it is not exactly one word, so that a reading of the
    /// line that took it for one is mistaken.
    pub(super) fn decode(raw: &str) -> Option<Self> {
        let mut text = String::new();
        let mut kind = WordKind::Plain;
        let mut chars = raw.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\'' => loop {
                    match chars.next()? {
                        '\'' => break,
                        quoted => text.push(quoted),
                    }
                },
                '"' => loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => match chars.next()? {
                            '\n' => {}
                            escaped @ ('"' | '\\' | '$' | '`') => text.push(escaped),
                            other => text.extend(['\\', other]),
                        },
                        '`' => return Some(Self::opaque(raw)),
                        '$' if expands(chars.peek()) => return Some(Self::opaque(raw)),
                        quoted => text.push(quoted),
                    }
                },
                '\\' => match chars.next()? {
                    '\n' => {}
                    escaped => text.push(escaped),
                },
                '`' => return Some(Self::opaque(raw)),
                '$' if expands(chars.peek()) || matches!(chars.peek(), Some('\'' | '"')) => {
                    return Some(Self::opaque(raw));
                }
                '<' | '>' if chars.peek() == Some(&'(') => return Some(Self::opaque(raw)),
                ';' | '|' | '&' | '<' | '>' | '(' | ')' => return None,
                space if space.is_whitespace() => return None,
                '{' if chars.peek() == Some(&'}') => text.push(c),
                '*' | '?' | '[' | '{' => {
                    kind = WordKind::Pattern;
                    text.push(c);
                }
                '~' if text.is_empty() || text.ends_with(['=', ':']) => {
                    kind = WordKind::Pattern;
                    text.push(c);
                }
                other => text.push(other),
            }
        }
        Some(Self { text, kind })
    }
}

/// Whether a dollar before this character begins something that the shell replaces.
fn expands(next: Option<&char>) -> bool {
    next.is_some_and(|c| c.is_alphanumeric() || "_{([@*#?$!-".contains(*c))
}

/// The word as it could be typed: quoted where it has to be.
impl fmt::Display for CommandWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = |c: char| c.is_alphanumeric() || "_-./:=@%+,^{}".contains(c);
        let needs_quotes = self.text.is_empty() || !self.text.chars().all(bare);
        if self.kind == WordKind::Plain && needs_quotes {
            write!(f, "'{}'", self.text.replace('\'', r"'\''"))
        } else {
            f.write_str(&self.text)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_come_off_and_what_the_shell_replaces_is_marked() {
        use WordKind::*;
        let cases: &[(&str, Option<(&str, WordKind)>)] = &[
            ("ls", Some(("ls", Plain))),
            (r"r\m", Some(("rm", Plain))),
            ("r''m", Some(("rm", Plain))),
            (r#""r"'m'"#, Some(("rm", Plain))),
            (r#""a\"b\c""#, Some(("a\"b\\c", Plain))),
            ("'$HOME'", Some(("$HOME", Plain))),
            ("$HOME", Some(("$HOME", Opaque))),
            ("\"$HOME\"", Some(("\"$HOME\"", Opaque))),
            ("a$", Some(("a$", Plain))),
            ("$'x'", Some(("$'x'", Opaque))),
            ("`x`", Some(("`x`", Opaque))),
            ("<(x)", Some(("<(x)", Opaque))),
            ("*.rs", Some(("*.rs", Pattern))),
            ("'*.rs'", Some(("*.rs", Plain))),
            ("{a,b}", Some(("{a,b}", Pattern))),
            ("{}", Some(("{}", Plain))),
            ("~/x", Some(("~/x", Pattern))),
            ("a~", Some(("a~", Plain))),
            ("a b", None),
            ("a;b", None),
            ("'a", None),
            ("a\u{A0}b", None),
        ];
        for (raw, expected) in cases {
            let decoded = CommandWord::decode(raw);
            let shown = decoded.as_ref().map(|word| (word.text.as_str(), word.kind));
            assert_eq!(shown, *expected, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn a_plain_word_survives_being_typed(text in "\\PC{0,12}") {
            let word = CommandWord::plain(text);
            let typed = word.to_string();
            // A brace that is typed bare would be a pattern; only `{}` is passed on as it is.
            prop_assume!(!typed.contains('{') || typed.starts_with('\''));
            prop_assert_eq!(CommandWord::decode(&typed), Some(word));
        }
    }
}
