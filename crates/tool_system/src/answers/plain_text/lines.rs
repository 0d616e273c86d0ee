//! Lines with their numbers: `13⇥text`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Numbered lines of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberedText<'a> {
    pub(crate) lines: Vec<(u64, &'a str)>,
}

impl<'a> NumberedText<'a> {
    /// Reads what `TextView::numbered` writes.
    pub(crate) fn parse(content: &'a str) -> Option<Self> {
        if content.is_empty() {
            return Some(Self::default());
        }
        let content = content.strip_suffix('\n').unwrap_or(content);
        let lines = content.split('\n').map(unpadded).collect::<Option<Vec<_>>>()?;
        Some(Self { lines })
    }

    /// The numbers of the first and the last line.
    pub(crate) fn span(&self) -> Option<(u64, u64)> {
        Some((self.lines.first()?.0, self.lines.last()?.0))
    }
}

/// The number and the text of a line such as `    13⇥text`.
pub(crate) fn unpadded(line: &str) -> Option<(u64, &str)> {
    let (number, text) = line.trim_start_matches(' ').split_once('\t')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| is_number)?, text))
}

/// The lines with their numbers. Empty lines are bare, since their neighbours tell their numbers; the
/// first and the last always have one, so that nothing depends on what surrounds the text.
pub(crate) fn numbered(lines: &[(u64, &str)]) -> String {
    let mut text = String::new();
    for (index, (number, line)) in lines.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        if !line.is_empty() || index == 0 || index + 1 == lines.len() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{number}\t{line}");
        }
    }
    text
}

/// A line that a search has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundLine {
    pub(crate) text: String,
    /// What stands between the number and the text: `-` for context, or what the line is.
    pub(crate) mark: &'static str,
}

impl FoundLine {
    /// A line that matches.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), mark: "" }
    }

    /// A line beside one that matches.
    pub(crate) fn context(text: impl Into<String>) -> Self {
        Self { text: text.into(), mark: "-" }
    }
}

/// Found lines below the heading of their file, each line once; gaps show in the numbers.
pub(crate) fn in_files(files: Vec<(String, BTreeMap<u64, FoundLine>)>) -> String {
    let mut text = String::new();
    for (heading, lines) in files {
        text.push_str(&heading);
        text.push('\n');
        for (number, FoundLine { text: line, mark }) in lines {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{number}{mark}\t{line}");
        }
    }
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_lose_their_padding_and_empty_lines_their_numbers() {
        let content = "    98\t\n    99\tfn a() {\n   100\t\n   101\t    5\tx\n   102\t";
        let parsed = NumberedText::parse(content).unwrap();
        assert_eq!(parsed.span(), Some((98, 102)));
        insta::assert_snapshot!(numbered(&parsed.lines).replace('\t', "⇥"), @r"
        98⇥
        99⇥fn a() {

        101⇥    5⇥x
        102⇥
        ");
    }

    #[test]
    fn what_is_not_numbered_is_not_taken_for_it() {
        for content in ["text", "     1\ta\ntext", " \ta", "+1\ta", "=== 1\t===", "1a\tb"] {
            assert_eq!(NumberedText::parse(content), None, "{content:?}");
        }
        assert_eq!(NumberedText::parse(""), Some(NumberedText::default()));
        assert_eq!(NumberedText::parse("     1\ta\n").unwrap().lines, [(1, "a")]);
    }

    proptest! {
        #[test]
        fn every_line_can_be_told_from_the_text(
            first in 1_u64..2_000_000,
            lines in proptest::collection::vec("(|[ \t0-9a-z\\[\\]\r]{0,6})", 1..30),
        ) {
            let given: Vec<(u64, &str)> = (first..).zip(lines.iter().map(String::as_str)).collect();
            let text = numbered(&given);
            let mut number = 0;
            let mut read = Vec::new();
            for line in text.split('\n') {
                let (own, content) = match line {
                    "" => (number + 1, ""),
                    line => unpadded(line).expect("a line that is not empty has a number"),
                };
                number = own;
                read.push((own, content));
            }
            prop_assert_eq!(read, given);
        }
    }
}
