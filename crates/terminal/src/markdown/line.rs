//! What a line of Markdown begins, told as early as it is certain.

/// A line, or the beginning of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MarkdownLine<'a> {
    /// How many quotes it stands in.
    pub(super) depth: usize,
    /// The columns of space before its first character.
    pub(super) indent: usize,
    pub(super) kind: MarkdownKind<'a>,
}

/// The kinds of line, with the text that follows the mark.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MarkdownKind<'a> {
    Blank,
    Heading { level: usize, text: &'a str },
    Item { mark: &'a str, text: &'a str },
    Rule,
    Fence { fence: Fence, info: &'a str },
    TableRow(&'a str),
    Text(&'a str),
}

/// The mark that opens a block of code, and that closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

/// As CommonMark has it: marks of a fence and of a rule, levels of headings, digits before a list item.
const SHORTEST_FENCE: usize = 3;
const SHORTEST_RULE: usize = 3;
const DEEPEST_HEADING: usize = 6;
const LONGEST_NUMBER: usize = 9;
/// What a tab is worth before the text of a line.
const TAB: usize = 4;

impl Fence {
    /// Whether `line` closes the block that this mark has opened.
    pub(super) fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

/// What `line` is. If it is only the beginning of a line (`complete` is false), the answer is
/// `None` as long as the rest could change it.
pub(super) fn classify(line: &str, complete: bool) -> Option<MarkdownLine<'_>> {
    let (depth, rest) = quotes(line, usize::MAX);
    let text = rest.trim_start_matches([' ', '\t']);
    let indent = indentation(&rest[..rest.len() - text.len()]);
    if text.is_empty() {
        return complete.then_some(MarkdownLine { depth, indent, kind: MarkdownKind::Blank });
    }
    let kind = kind_of(text, complete)?;
    Some(MarkdownLine { depth, indent, kind })
}

/// The fence that the text of a list item begins with, and what it says about the code.
pub(super) fn opening_fence(text: &str) -> Option<(Fence, &str)> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    match fence(text, mark, true)? {
        MarkdownKind::Fence { fence, info } => Some((fence, info)),
        _ => None,
    }
}

/// Takes at most `most` quote marks off the beginning of a line.
pub(super) fn quotes(line: &str, most: usize) -> (usize, &str) {
    let (mut depth, mut rest) = (0, line);
    while depth < most {
        let Some(quoted) = rest.trim_start_matches(' ').strip_prefix('>') else { break };
        rest = quoted.strip_prefix(' ').unwrap_or(quoted);
        depth += 1;
    }
    (depth, rest)
}

/// The columns that leading white space takes.
pub(super) fn indentation(space: &str) -> usize {
    space.chars().map(|c| if c == '\t' { TAB } else { 1 }).sum()
}

fn kind_of(text: &str, complete: bool) -> Option<MarkdownKind<'_>> {
    let first = text.chars().next()?;
    match first {
        '#' => heading(text, complete),
        '`' | '~' => fence(text, first, complete),
        '-' | '*' | '_' | '+' => rule_or_item(text, first, complete),
        '0'..='9' => numbered_item(text, complete),
        '|' => complete.then_some(MarkdownKind::TableRow(text)),
        _ => Some(MarkdownKind::Text(text)),
    }
}

fn heading(text: &str, complete: bool) -> Option<MarkdownKind<'_>> {
    let after = text.trim_start_matches('#');
    let level = text.len() - after.len();
    if after.is_empty() && !complete && level <= DEEPEST_HEADING {
        return None;
    }
    if level > DEEPEST_HEADING || !(after.is_empty() || after.starts_with([' ', '\t'])) {
        return Some(MarkdownKind::Text(text));
    }
    let title = after.trim_start();
    // The length of the space before the title is no part of it.
    (complete || !title.is_empty()).then_some(MarkdownKind::Heading { level, text: title })
}

fn fence(text: &str, mark: char, complete: bool) -> Option<MarkdownKind<'_>> {
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    if length < SHORTEST_FENCE {
        let decided = complete || !info.is_empty();
        return decided.then_some(MarkdownKind::Text(text));
    }
    // Three backticks can also begin code within a line; only the whole line tells.
    if !complete {
        return None;
    }
    if mark == '`' && info.contains('`') {
        return Some(MarkdownKind::Text(text));
    }
    Some(MarkdownKind::Fence { fence: Fence { mark, length }, info: info.trim() })
}

fn rule_or_item(text: &str, mark: char, complete: bool) -> Option<MarkdownKind<'_>> {
    let only_marks = mark != '+' && text.chars().all(|c| c == mark || c == ' ' || c == '\t');
    if only_marks {
        if !complete {
            return None;
        }
        if text.chars().filter(|c| *c == mark).count() >= SHORTEST_RULE {
            return Some(MarkdownKind::Rule);
        }
    }
    if mark == '_' { Some(MarkdownKind::Text(text)) } else { item(text, mark.len_utf8(), complete) }
}

fn numbered_item(text: &str, complete: bool) -> Option<MarkdownKind<'_>> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits > LONGEST_NUMBER {
        return Some(MarkdownKind::Text(text));
    }
    match text[digits..].chars().next() {
        None if !complete => None,
        Some('.' | ')') => item(text, digits + 1, complete),
        _ => Some(MarkdownKind::Text(text)),
    }
}

/// A list item, if white space follows the first `length` bytes.
fn item(text: &str, length: usize, complete: bool) -> Option<MarkdownKind<'_>> {
    let (mark, after) = text.split_at(length);
    if after.is_empty() && !complete {
        return None;
    }
    if !(after.is_empty() || after.starts_with([' ', '\t'])) {
        return Some(MarkdownKind::Text(text));
    }
    let content = after.trim_start();
    // A block of code may begin here, which the whole line tells.
    let undecided = content.is_empty() || content.starts_with(['`', '~']);
    (complete || !undecided).then_some(MarkdownKind::Item { mark, text: content })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind(line: &str) -> MarkdownKind<'_> {
        classify(line, true).unwrap().kind
    }

    #[test]
    fn whole_lines_are_what_people_mean() {
        let bullets = |text| MarkdownKind::Item { mark: "-", text };
        let table = [
            ("", MarkdownKind::Blank),
            ("# A", MarkdownKind::Heading { level: 1, text: "A" }),
            ("####### A", MarkdownKind::Text("####### A")),
            ("#hashtag", MarkdownKind::Text("#hashtag")),
            ("- a", bullets("a")),
            ("-", bullets("")),
            ("12) b", MarkdownKind::Item { mark: "12)", text: "b" }),
            ("3.14 is pi", MarkdownKind::Text("3.14 is pi")),
            ("---", MarkdownKind::Rule),
            ("* * *", MarkdownKind::Rule),
            ("**bold**", MarkdownKind::Text("**bold**")),
            ("__init__", MarkdownKind::Text("__init__")),
            (
                "```rust ",
                MarkdownKind::Fence { fence: Fence { mark: '`', length: 3 }, info: "rust" },
            ),
            ("```x``` y", MarkdownKind::Text("```x``` y")),
            ("| a |", MarkdownKind::TableRow("| a |")),
        ];
        for (line, expected) in table {
            assert_eq!(kind(line), expected, "{line}");
        }
        let quoted = classify("> >  - x", true).unwrap();
        assert_eq!((quoted.depth, quoted.indent), (2, 1));
        assert_eq!(quoted.kind, bullets("x"));
    }

    #[test]
    fn the_beginning_of_a_line_waits_only_if_it_must() {
        for waits in ["", " ", ">", "#", "##", "-", "--", "- ", "1", "12.", "``", "```ru", "| a"] {
            assert_eq!(classify(waits, false), None, "{waits:?}");
        }
        for (ready, expected) in [
            ("W", MarkdownKind::Text("W")),
            ("# T", MarkdownKind::Heading { level: 1, text: "T" }),
            ("- x", MarkdownKind::Item { mark: "-", text: "x" }),
            ("**b", MarkdownKind::Text("**b")),
            ("`c", MarkdownKind::Text("`c")),
        ] {
            assert_eq!(classify(ready, false).unwrap().kind, expected, "{ready}");
        }
    }

    proptest! {
        #[test]
        fn what_is_said_early_stays_true(line in "[-*_+#>`~|0-9. a]{0,12}") {
            let whole = classify(&line, true).unwrap();
            for end in 0..line.len() {
                if let Some(early) = classify(&line[..end], false) {
                    prop_assert_eq!((early.depth, early.indent), (whole.depth, whole.indent));
                    prop_assert_eq!(std::mem::discriminant(&early.kind), std::mem::discriminant(&whole.kind));
                }
            }
        }
    }
}
