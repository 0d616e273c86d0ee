//! What a search found, in one shape for ours and for ripgrep's, and whether both found the same.

use std::cmp::Ordering;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// Stands where our answer leaves out a part of a long line.
const CUT: char = '…';

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) path: String,
    pub(crate) number: u64,
    pub(crate) text: String,
}

/// How many lines match, and the first of them by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResultSet {
    pub(crate) total: u64,
    pub(crate) first: Vec<Line>,
}

impl ResultSet {
    /// The first `wanted` of `lines`, and how many they are.
    pub(crate) fn new(mut lines: Vec<Line>, wanted: usize) -> ResultSet {
        lines.sort_by(|a, b| by_path(&a.path, &b.path).then(a.number.cmp(&b.number)));
        let total = lines.len() as u64;
        lines.truncate(wanted);
        ResultSet { total, first: lines }
    }

    /// What `grep` answers.
    pub(crate) fn answered(answer: &Value) -> Result<ResultSet> {
        let line = |found: &Value| {
            Some(Line {
                path: found["path"].as_str()?.to_owned(),
                number: found["line"].as_u64()?,
                text: found["text"].as_str()?.to_owned(),
            })
        };
        let matches = answer["matches"].as_array().context("the answer has no matches")?;
        let first: Option<Vec<Line>> = matches.iter().map(line).collect();
        Ok(ResultSet {
            total: answer["total"].as_u64().context("the answer has no total")?,
            first: first.context("a match without path, line or text")?,
        })
    }

    /// How ours differs from theirs, for people; none if it does not.
    pub(crate) fn difference(&self, theirs: &ResultSet) -> Option<String> {
        if self.total != theirs.total {
            return Some(format!("{} lines, not {}", self.total, theirs.total));
        }
        if self.first.len() != theirs.first.len() {
            return Some(format!("{} lines shown, not {}", self.first.len(), theirs.first.len()));
        }
        let mut pairs = self.first.iter().zip(&theirs.first).enumerate();
        let (place, (ours, theirs)) = pairs.find(|(_, (ours, theirs))| !is_same(ours, theirs))?;
        Some(format!(
            "result {} is {}:{}: `{}`, not {}:{}: `{}`",
            place + 1,
            ours.path,
            ours.number,
            ours.text,
            theirs.path,
            theirs.number,
            theirs.text
        ))
    }
}

fn is_same(ours: &Line, theirs: &Line) -> bool {
    let shown = ours.text.trim_matches(CUT);
    let same_text =
        ours.text == theirs.text || (shown.len() < ours.text.len() && theirs.text.contains(shown));
    ours.path == theirs.path && ours.number == theirs.number && same_text
}

/// The lines that ripgrep prints with `--null --line-number`. Its remarks about binary files have no
/// NUL and are passed over.
pub(crate) fn printed_by_ripgrep(output: &[u8]) -> Vec<Line> {
    output.split(|byte| *byte == b'\n').filter_map(printed_line).collect()
}

fn printed_line(line: &[u8]) -> Option<Line> {
    let nul = line.iter().position(|byte| *byte == 0)?;
    let (path, rest) = (&line[..nul], &line[nul + 1..]);
    let colon = rest.iter().position(|byte| *byte == b':')?;
    let path = String::from_utf8_lossy(path.strip_prefix(b"./").unwrap_or(path)).into_owned();
    let number = std::str::from_utf8(&rest[..colon]).ok()?.parse().ok()?;
    let text = &rest[colon + 1..];
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    Some(Line { path, number, text: String::from_utf8_lossy(text).into_owned() })
}

/// By component, so that a directory's contents directly follow it.
pub(crate) fn by_path(a: &str, b: &str) -> Ordering {
    a.split('/').cmp(b.split('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(path: &str, number: u64, text: &str) -> Line {
        Line { path: path.into(), number, text: text.into() }
    }

    #[test]
    fn what_ripgrep_prints_is_read() {
        let output = b"./a/b.c\x0012:int x; // a:b\r\n\
            bin.o: binary file matches (found \"\\0\" byte around offset 3)\n\
            c d.c\x001:caf\xE9\n";
        assert_eq!(
            printed_by_ripgrep(output),
            [line("a/b.c", 12, "int x; // a:b"), line("c d.c", 1, "caf\u{FFFD}")]
        );
        assert_eq!(printed_by_ripgrep(b""), []);
    }

    #[test]
    fn results_are_ordered_by_component_and_line() {
        let lines = ["b.c", "a-b/x", "a/x", "a.c", "a/b/x"].map(|path| line(path, 2, ""));
        let lines = [&lines[..], &[line("a/x", 1, "")]].concat();
        let set = ResultSet::new(lines, 5);
        let shown: Vec<_> = set.first.iter().map(|line| (&*line.path, line.number)).collect();
        assert_eq!(shown, [("a/b/x", 2), ("a/x", 1), ("a/x", 2), ("a-b/x", 2), ("a.c", 2)]);
        assert_eq!(set.total, 6);
    }

    #[test]
    fn an_answer_is_read_and_a_broken_one_refused() {
        let found = json!({"path": "a.c", "line": 3, "text": "x"});
        let set = ResultSet::answered(&json!({"matches": [found], "total": 9})).expect("a set");
        assert_eq!(set, ResultSet { total: 9, first: vec![line("a.c", 3, "x")] });
        for broken in [json!({}), json!({"matches": [{"path": "a.c"}], "total": 1})] {
            assert!(ResultSet::answered(&broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn differences_are_named() {
        let set = |total, first: &[Line]| ResultSet { total, first: first.to_vec() };
        let theirs = set(2, &[line("a.c", 1, "a long line"), line("b.c", 1, "y")]);
        let table = [
            (set(2, &[line("a.c", 1, "a long line"), line("b.c", 1, "y")]), None),
            (set(2, &[line("a.c", 1, "…long…"), line("b.c", 1, "y")]), None),
            (set(3, &theirs.first), Some("3 lines, not 2")),
            (set(2, &theirs.first[..1]), Some("1 lines shown, not 2")),
            (set(2, &[line("a.c", 1, "…short…"), line("b.c", 1, "y")]), Some("result 1 is")),
            (set(2, &[line("a.c", 1, "long"), line("b.c", 1, "y")]), Some("result 1 is")),
            (set(2, &[line("a.c", 1, "a long line"), line("b.c", 2, "y")]), Some("result 2 is")),
            (set(2, &[line("a.c", 1, "a long line"), line("c.c", 1, "y")]), Some("result 2 is")),
        ];
        for (ours, expected) in table {
            let found = ours.difference(&theirs);
            match expected {
                None => assert_eq!(found, None),
                Some(part) => {
                    assert!(found.as_ref().is_some_and(|why| why.contains(part)), "{found:?}")
                }
            }
        }
    }
}
