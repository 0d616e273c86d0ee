//! The function or type around a line, judged by indentation and the look of definitions.

use super::blocks::{indent, line_at};
use super::definition::defined_at;

/// How far up the beginning is looked for, in bytes. A function that is longer says little.
const MAX_BYTES: usize = 64 * 1024;
/// How long a head is shown, in characters.
const MAX_HEAD: usize = 120;
/// Lines that a definition may begin below the line itself: its comment was found.
const MAX_COMMENT_LINES: usize = 40;
/// How lines begin that belong to the definition which follows.
const LEADS: &[&[u8]] = &[b"//", b"/*", b"*", b"#", b"@", b"--", b"\"\"\""];

/// What stands around a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enclosing {
    /// The line that begins the definition, without what opens its body.
    pub head: String,
    /// The number of that line, from 1.
    pub first: u64,
    /// The number of its last line.
    pub last: u64,
}

/// The definition around the line `best`, counted from 0, of a text whose lines start at `starts`.
pub(super) fn enclosing(text: &[u8], starts: &[usize], best: usize) -> Option<Enclosing> {
    let line = |index: usize| line_at(text, starts[index]);
    let first = below_comment(best, starts.len(), &line);
    let head = match heads(text, starts[first]) {
        true => first,
        false => head_above(text, starts, first)?,
    };
    let margin = indent(line(head))?;
    let last = last_line(head, starts.len(), margin, &line);
    (first <= last).then(|| Enclosing {
        head: shown_head(line(head)),
        first: head as u64 + 1,
        last: last as u64 + 1,
    })
}

/// The line that a comment or an attribute is about.
fn below_comment<'t>(best: usize, count: usize, line: &impl Fn(usize) -> &'t [u8]) -> usize {
    let leads = |index: &usize| is_lead(line(*index));
    let end = count.min(best + MAX_COMMENT_LINES);
    (best..end).find(|index| !leads(index)).unwrap_or(best)
}

/// Whether a line is a comment or an attribute. `#define` and its like are neither.
fn is_lead(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let is_directive =
        line.strip_prefix(b"#").and_then(|rest| rest.first()).is_some_and(u8::is_ascii_lowercase);
    !is_directive && LEADS.iter().any(|lead| line.starts_with(lead))
}

/// Whether the line that starts at `start` begins a definition. Prose can look like one: "this function
/// is called".
fn heads(text: &[u8], start: usize) -> bool {
    !is_lead(line_at(text, start)) && defined_at(text, start)
}

/// The nearest line above that stands further left and defines something.
fn head_above(text: &[u8], starts: &[usize], from: usize) -> Option<usize> {
    let lowest = starts[from].saturating_sub(MAX_BYTES);
    let mut margin = indent(line_at(text, starts[from])).unwrap_or(usize::MAX);
    for index in (0..from).rev().take_while(|index| starts[*index] >= lowest) {
        let Some(column) = indent(line_at(text, starts[index])) else { continue };
        if column < margin {
            if heads(text, starts[index]) {
                return Some(index);
            }
            // What closes a list of parameters or opens a body has the column of the head.
            let text = line_at(text, starts[index]).trim_ascii_start();
            if !matches!(text.first(), Some(b')' | b']' | b'{')) {
                margin = column;
            }
        }
    }
    None
}

/// The last line of a definition whose head is at `margin`: what closes it, or the last one that
/// stands further right.
fn last_line<'t>(
    head: usize,
    count: usize,
    margin: usize,
    line: &impl Fn(usize) -> &'t [u8],
) -> usize {
    let mut last = head;
    for index in head + 1..count {
        let Some(column) = indent(line(index)) else { continue };
        if column > margin {
            last = index;
            continue;
        }
        let text = line(index).trim_ascii_start();
        let opens_body =
            matches!(text.first(), Some(b'{' | b')' | b']')) || text.starts_with(b"where");
        if column == margin && opens_body {
            last = index;
            continue;
        }
        let closes = column == margin && (text.starts_with(b"}") || text.starts_with(b"end"));
        return if closes { index } else { last };
    }
    last
}

/// The head without indentation and without what opens the body.
fn shown_head(line: &[u8]) -> String {
    let line = line.trim_ascii().strip_suffix(b"{").unwrap_or(line.trim_ascii());
    crate::excerpt::excerpt(line.trim_ascii(), 0, MAX_HEAD)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn around(text: &str, needle: &str) -> Option<(String, u64, u64)> {
        let starts: Vec<usize> = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .filter(|start| *start < text.len() || text.is_empty())
            .collect();
        let at = text.find(needle).unwrap();
        let best = starts.partition_point(|start| *start <= at) - 1;
        enclosing(text.as_bytes(), &starts, best).map(|found| (found.head, found.first, found.last))
    }

    #[test]
    fn the_nearest_definition_is_found_in_several_languages() {
        let rust = "impl A {\n    /// Counts.\n    pub fn count(\n        &self,\n    ) -> usize {\n        \
                    if x {\n            inner()\n        }\n    }\n}\nconst B: u8 = 1;\n";
        let python =
            "class A:\n    def run(self):\n        inner()\n\n        last()\n\nother = 1\n";
        let go = "func (r *R) Run(a int) error {\n\tinner()\n\treturn nil\n}\n\nvar x = 1\n";
        let c = "static int run(int a)\n{\n\tinner();\n}\n";
        let defines =
            "#define ONE 1 /* more\n              of it */\n#define TWO 2\n\nint run(int a) {\n}\n";
        let comment =
            "/* This function is called\n * by slaves.\n *\n */\nint run(int a) {\n\tx();\n}\n";
        let table = [
            (rust, "inner", Some(("pub fn count(", 3, 9))),
            (rust, "Counts", Some(("pub fn count(", 3, 9))),
            (rust, "&self", Some(("pub fn count(", 3, 9))),
            (rust, "const B", Some(("const B: u8 = 1;", 11, 11))),
            (python, "inner", Some(("def run(self):", 2, 5))),
            (python, "last", Some(("def run(self):", 2, 5))),
            (python, "class", Some(("class A:", 1, 5))),
            (go, "inner", Some(("func (r *R) Run(a int) error", 1, 4))),
            (c, "inner", Some(("static int run(int a)", 1, 4))),
            ("one\ntwo\n", "two", None),
            (defines, "ONE", Some(("#define ONE 1 /* more", 1, 2))),
            (defines, "TWO", Some(("#define TWO 2", 3, 3))),
            (comment, "slaves", Some(("int run(int a)", 5, 7))),
        ];
        for (text, needle, expected) in table {
            let expected = expected.map(|(head, first, last)| (head.to_owned(), first, last));
            assert_eq!(around(text, needle), expected, "{needle} in {text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_around_a_line_holds_it(text in "(fn a\\(\\) \\{|  x|\\}|    y|# z|\\n| )*", line in 0_usize..20) {
            let starts: Vec<usize> =
                std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
            let best = line.min(starts.len() - 1);
            if let Some(found) = enclosing(text.as_bytes(), &starts, best) {
                prop_assert!(found.first >= 1 && found.first <= found.last);
                prop_assert!(found.last <= starts.len() as u64);
                prop_assert!((best as u64) < found.last);
            }
        }
    }
}
