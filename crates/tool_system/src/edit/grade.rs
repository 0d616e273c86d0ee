//! How exactly a text must match the file to count as found.

use std::borrow::Cow;

use serde::Serialize;

/// How exactly a searched text was found. Each grade also overlooks what those before it overlook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Grade {
    /// Byte for byte.
    Exact,
    /// Apart from line endings.
    LineEnding,
    /// Apart from white space at the end of lines.
    TrailingWhitespace,
    /// Apart from the indentation, which differs in the same way in all lines.
    Indentation,
    /// Apart from punctuation that looks alike, such as curly quotes.
    Punctuation,
}

impl Grade {
    /// What the match overlooks, as words for an answer.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Grade::Exact => "exact match",
            Grade::LineEnding => "match apart from line endings",
            Grade::TrailingWhitespace => "match apart from trailing white space",
            Grade::Indentation => "match apart from indentation; the new lines were re-indented",
            Grade::Punctuation => "match apart from look-alike punctuation",
        }
    }
}

/// A line as two lines are compared at some grade: indentation and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineKey<'a> {
    pub(super) indentation: Cow<'a, [u8]>,
    pub(super) rest: Cow<'a, [u8]>,
}

impl<'a> LineKey<'a> {
    /// The key of a line without its ending.
    pub(super) fn of(line: &'a [u8], grade: Grade) -> Self {
        let line = match grade {
            Grade::Punctuation => fold_lookalikes(line),
            _ => Cow::Borrowed(line),
        };
        match line {
            Cow::Borrowed(line) => {
                let (indentation, rest) = split_indentation(line, grade);
                Self { indentation: Cow::Borrowed(indentation), rest: Cow::Borrowed(rest) }
            }
            Cow::Owned(line) => {
                let (indentation, rest) = split_indentation(&line, grade);
                Self {
                    indentation: Cow::Owned(indentation.to_vec()),
                    rest: Cow::Owned(rest.to_vec()),
                }
            }
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        self.rest.is_empty() && self.indentation.is_empty()
    }
}

/// Takes indentation off where the grade looks at it apart, and trailing white space where the
/// grade overlooks it.
fn split_indentation(line: &[u8], grade: Grade) -> (&[u8], &[u8]) {
    let line = if grade >= Grade::TrailingWhitespace { trim_end(line) } else { line };
    let indented = if grade >= Grade::Indentation { indentation_len(line) } else { 0 };
    line.split_at(indented)
}

/// The line without the white space at its end.
pub(super) fn trim_end(line: &[u8]) -> &[u8] {
    line.trim_ascii_end()
}

/// How many bytes of blanks and tabs a line begins with.
pub(super) fn indentation_len(line: &[u8]) -> usize {
    line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The line with typographic punctuation written in ASCII. Bytes that are no characters are left
/// alone.
pub(super) fn fold_lookalikes(line: &[u8]) -> Cow<'_, [u8]> {
    if line.is_ascii() {
        return Cow::Borrowed(line);
    }
    let mut folded = Vec::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        for character in chunk.valid().chars() {
            match lookalike(character) {
                Some(ascii) => folded.extend_from_slice(ascii.as_bytes()),
                None => folded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        folded.extend_from_slice(chunk.invalid());
    }
    Cow::Owned(folded)
}

/// The ASCII that a model writes for a typographic character.
fn lookalike(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{201B}' | '\u{2032}' | '\u{02BC}' => "'",
        '\u{201C}' | '\u{201D}' | '\u{201E}' | '\u{201F}' | '\u{2033}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{2026}' => "...",
        '\u{00A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => " ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_grade_overlooks_one_thing_more() {
        let same = |left: &str, right: &str, grade| {
            let (left, right) =
                (LineKey::of(left.as_bytes(), grade), LineKey::of(right.as_bytes(), grade));
            left.rest == right.rest
        };
        let table = [
            ("a  ", "a", Grade::TrailingWhitespace),
            ("  a", "a", Grade::Indentation),
            ("\u{201C}a\u{201D} \u{2013} b\u{2026}", "\"a\" - b...", Grade::Punctuation),
            ("a\u{A0}b", "a b", Grade::Punctuation),
        ];
        let grades =
            [Grade::LineEnding, Grade::TrailingWhitespace, Grade::Indentation, Grade::Punctuation];
        for (left, right, first) in table {
            for grade in grades {
                assert_eq!(same(left, right, grade), grade >= first, "{left} {right} {grade:?}");
            }
        }
        assert!(!same("a", "b", Grade::Punctuation));
    }
}
