//! Whether a line defines a name, judged by its text alone.
//!
//! This is a guess for ranking and nothing else: it costs a look at the line and works in languages
//! that have no grammar here.

use super::words::is_identifier;

/// Words after which a name is defined.
const KEYWORDS: &[&[u8]] = &[
    b"fn",
    b"struct",
    b"enum",
    b"trait",
    b"type",
    b"union",
    b"macro_rules!",
    b"const",
    b"static",
    b"def",
    b"class",
    b"function",
    b"function*",
    b"interface",
    b"namespace",
    b"module",
    b"package",
    b"func",
    b"fun",
    b"sub",
    b"object",
    b"record",
    b"protocol",
    b"extension",
    b"typedef",
    b"#define",
    b"define",
    b"defmodule",
    b"defp",
    b"defmacro",
    b"proc",
    b"table",
    b"TABLE",
    b"FUNCTION",
    b"PROCEDURE",
];
/// Words after which a name is defined for the whole file if they begin a line, and otherwise for a
/// few lines, which counts for nothing.
const KEYWORDS_OF_VARIABLES: &[&[u8]] = &[b"let", b"var", b"val"];
/// Words that stand before the type or the name of a method.
const MODIFIERS: &[&[u8]] = &[
    b"public",
    b"private",
    b"protected",
    b"internal",
    b"static",
    b"final",
    b"abstract",
    b"virtual",
    b"override",
    b"async",
    b"extern",
    b"inline",
    b"synchronized",
    b"export",
    b"unsafe",
];
/// Words that begin a line which defines nothing, though it looks like a function's beginning.
const STATEMENTS: &[&[u8]] = &[
    b"return", b"if", b"else", b"for", b"while", b"switch", b"case", b"do", b"goto", b"throw",
    b"await", b"yield", b"new", b"delete", b"raise", b"assert", b"import", b"from", b"use",
    b"using", b"include",
];
/// How far a line is looked at.
const MAX_LINE: usize = 400;

/// Whether the identifier that holds the byte `at` is defined in its line.
pub(super) fn is_definition(text: &[u8], at: usize) -> bool {
    let from = at.saturating_sub(MAX_LINE);
    let start = memchr::memrchr(b'\n', &text[from..at]).map_or(from, |end| from + end + 1);
    let name = (start..at).rev().find(|&at| !is_identifier(text[at])).map_or(start, |at| at + 1);
    // A text can be one identifier of a megabyte, such as a number in hexadecimal digits.
    let far = text.len().min(at + MAX_LINE);
    let end = (at..far).find(|&at| !is_identifier(text[at])).unwrap_or(far);
    let before = text[start..name].trim_ascii_end();
    let last = last_word(before);
    if KEYWORDS.contains(&last) {
        return true;
    }
    let is_indented = text[start..name].first().is_some_and(u8::is_ascii_whitespace);
    if KEYWORDS_OF_VARIABLES.contains(&last) {
        return !is_indented;
    }
    let rest = &text[end..text.len().min(end + MAX_LINE)];
    let follows = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    if last != b"mod" && !matches!(follows, Some(b'(' | b'=')) {
        return false;
    }
    let rest = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
    // `mod name {`, but not `mod name;`, which says that the definition is elsewhere.
    if last == b"mod" {
        return !rest.trim_ascii_end().ends_with(b";");
    }
    let first = first_word(before);
    match rest.trim_ascii_start().first() {
        // `func (r *Reader) Name(`, `static int name(`, `public void name(`, `name() {`.
        Some(b'(') => {
            let is_c_like = !is_indented
                && !before.is_empty()
                && before.iter().all(|&byte| is_identifier(byte) || b" \t*&:<>,~".contains(&byte))
                && !STATEMENTS.contains(&first);
            first == b"func" && before.ends_with(b")")
                || (is_c_like || MODIFIERS.contains(&first))
                    && !rest.trim_ascii_end().ends_with(b";")
                || before.is_empty()
                    && rest.trim_ascii_end().ends_with(b"{")
                    && !STATEMENTS.contains(&&text[name..end])
        }
        // `NAME = 1` at the beginning of a line.
        Some(b'=') => {
            before.is_empty() && !is_indented && !rest.trim_ascii_start().starts_with(b"==")
        }
        _ => false,
    }
}

/// Whether the line that starts at `start` defines a name.
pub(super) fn defined_at(text: &[u8], start: usize) -> bool {
    let rest = &text[start..text.len().min(start + MAX_LINE)];
    let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
    let begins =
        |at: &usize| is_identifier(line[*at]) && (*at == 0 || !is_identifier(line[at - 1]));
    // What follows the first parenthesis are parameters, except for the receiver in Go.
    let receiver = line.starts_with(b"func (").then(|| memchr::memchr(b')', line)).flatten();
    let from = receiver.unwrap_or(0);
    let end = memchr::memchr(b'(', &line[from..]).map_or(line.len(), |at| from + at);
    (from..end).filter(begins).any(|at| is_definition(text, start + at))
}

fn last_word(text: &[u8]) -> &[u8] {
    let start = text.iter().rposition(u8::is_ascii_whitespace).map_or(0, |at| at + 1);
    &text[start..]
}

fn first_word(text: &[u8]) -> &[u8] {
    text.split(|&byte| !is_identifier(byte)).find(|word| !word.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_defined_where_its_line_says_so() {
        let table = [
            ("fn target() {", true),
            ("    pub(crate) async fn target<T>(", true),
            ("pub struct target;", true),
            ("class my_target(Base):", true),
            ("    def target(self):", true),
            ("export const target = 1", true),
            ("func (r *Reader) target(x int) {", true),
            ("static int target(struct file *f)", true),
            ("    public void target(String x) {", true),
            ("#define target(x) x", true),
            ("target = 3", true),
            ("target() {", true),
            ("macro_rules! target {", true),
            ("mod target {", true),
            ("let target = 1", true),
            ("    let target = 1;", false),
            ("pub mod target;", false),
            ("    target(x);", false),
            ("    return target(x) {", false),
            ("return target(x)", false),
            ("int target(struct file *f);", false),
            ("    x = target", false),
            ("    target = 3", false),
            ("if target == 3", false),
            ("use crate::target;", false),
            ("// see target (", false),
        ];
        for (line, expected) in table {
            for text in [line.to_owned(), format!("before\n{line}\nafter\n")] {
                let at = text.find("target").unwrap();
                assert_eq!(is_definition(text.as_bytes(), at), expected, "{line}");
            }
        }
    }
    /// A number of a megabyte has many hits; each must not look at all of it.
    #[test]
    fn a_name_is_looked_at_as_far_as_a_line() {
        let of_length = |length: usize| format!("{}() {{\n", "a".repeat(length));
        assert!(is_definition(of_length(MAX_LINE - 1).as_bytes(), 0));
        assert!(!is_definition(of_length(MAX_LINE + 1).as_bytes(), 0));
    }
}
