//! The pattern of a search, with a quick way to lines that can match. The question "regex with a
//! literal part" of `cargo xtask bench search` needs it to be no slower than ripgrep without an index.

use grep_matcher::{LineMatchKind, LineTerminator, Match, Matcher, NoCaptures, NoError};
use grep_regex::RegexMatcher;
use memchr::memmem::Finder;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

/// A text that is part of each match has to be this long to be looked for first.
const MIN_BYTES: usize = 4;

/// A compiled pattern. The regular expression engine looks for the beginning of a match; if a text
/// further on is rarer, as `_probe(` is in `static int \w+_probe\(`, lines without it are passed
/// over.
pub(super) struct LineMatcher {
    regex: RegexMatcher,
    rare: Option<Finder<'static>>,
}

impl LineMatcher {
    /// `pattern` is what `regex` was compiled from, to match within lines.
    pub(super) fn new(regex: RegexMatcher, pattern: &str, within_lines: bool) -> LineMatcher {
        let rare = if within_lines { rare_part(pattern) } else { None };
        LineMatcher { regex, rare: rare.map(|part| Finder::new(&part).into_owned()) }
    }
}

/// A text in each match of a case-sensitive `pattern` that is rarer than its beginning.
fn rare_part(pattern: &str) -> Option<Vec<u8>> {
    let parser = ParserBuilder::new().utf8(false).multi_line(true).build().parse(pattern);
    let hir = parser.ok()?;
    let HirKind::Concat(parts) = hir.kind() else { return None };
    let literals = || parts.iter().filter_map(literal);
    let rarest =
        literals().filter(|part| part.len() >= MIN_BYTES).max_by_key(|part| rarity(part))?;
    // What the engine looks for anyway.
    let first = parts.first().and_then(literal);
    let is_better = first.is_none_or(|first| rarity(rarest) > rarity(first));
    (is_better && !rarest.contains(&b'\n')).then(|| rarest.to_vec())
}

fn literal(part: &Hir) -> Option<&[u8]> {
    match part.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        HirKind::Capture(group) => literal(&group.sub),
        _ => None,
    }
}

/// How rare a text is in code, roughly: blanks and the letters of keywords say little, signs and
/// capitals more.
fn rarity(text: &[u8]) -> usize {
    let weight = |byte: &u8| match byte {
        b' ' | b'\t' => 0,
        b'a' | b'c' | b'd' | b'e' | b'i' | b'l' | b'n' | b'o' | b'r' | b's' | b't' | b'u' => 1,
        b'a'..=b'z' | b'_' => 2,
        _ => 3,
    };
    text.iter().map(weight).sum()
}

impl Matcher for LineMatcher {
    type Captures = NoCaptures;
    type Error = NoError;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, NoError> {
        self.regex.find_at(haystack, at)
    }

    fn new_captures(&self) -> Result<NoCaptures, NoError> {
        Ok(NoCaptures::new())
    }

    fn is_match(&self, haystack: &[u8]) -> Result<bool, NoError> {
        self.regex.is_match(haystack)
    }

    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> Result<Option<usize>, NoError> {
        self.regex.shortest_match_at(haystack, at)
    }

    fn non_matching_bytes(&self) -> Option<&grep_matcher::ByteSet> {
        self.regex.non_matching_bytes()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.regex.line_terminator()
    }

    fn find_candidate_line(&self, haystack: &[u8]) -> Result<Option<LineMatchKind>, NoError> {
        match &self.rare {
            Some(rare) => Ok(rare.find(haystack).map(LineMatchKind::Candidate)),
            None => self.regex.find_candidate_line(haystack),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_text_that_each_match_has_is_looked_for() {
        let table = [
            (r"static int \w+_probe\(", Some("_probe(")),
            (r"static int (\w+)(_probe\()", Some("_probe(")),
            (r"_probe\(\w+static", None),
            ("plain text", None),
            (r"\w+_exit\b", Some("_exit")),
            (r"a(b|c)de", None),
            (r"^\s*impl .* for .*Visitor\b", Some("Visitor")),
            (r"int (_probe)?x", None),
            (r"int (_probe)+x", None),
            ("(?i)static int _PROBE", None),
            (r"x[0-9]+", None),
            ("broken(", None),
        ];
        for (pattern, expected) in table {
            let part = rare_part(pattern).map(|part| String::from_utf8(part).unwrap());
            assert_eq!(part.as_deref(), expected, "{pattern}");
        }
    }
}
