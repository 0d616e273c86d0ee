//! Definitions in languages without a grammar, by the look of the line.

use super::word::WholeWord;

/// The most bytes of a line that is looked at; longer ones are data.
const MAX_LINE: usize = 400;

/// Words that define the name after them, in one language or another.
const DEFINERS: [&str; 48] = [
    "function",
    "func",
    "fun",
    "fn",
    "def",
    "defun",
    "defmacro",
    "defmodule",
    "defp",
    "defn",
    "define",
    "sub",
    "proc",
    "procedure",
    "method",
    "class",
    "struct",
    "enum",
    "union",
    "trait",
    "interface",
    "protocol",
    "extension",
    "object",
    "record",
    "module",
    "namespace",
    "package",
    "type",
    "typealias",
    "typedef",
    "let",
    "var",
    "val",
    "const",
    "local",
    "set",
    "table",
    "view",
    "index",
    "trigger",
    "macro",
    "config",
    "message",
    "service",
    "rpc",
    "resource",
    "data",
];
/// Files of prose; a colon or equals sign says nothing in them.
const PROSE: [&[u8]; 9] = [b"md", b"txt", b"rst", b"adoc", b"html", b"htm", b"xml", b"svg", b"log"];

/// What kind of thing the line seems to define.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextLook {
    Function,
    Type,
    Variable,
}

/// A line that looks like the definition of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextDefinition {
    pub(crate) at: usize,
    pub(crate) look: TextLook,
}

/// The places in a file, with this extension, that look like a definition of `word`.
pub(crate) fn definitions_by_text(
    extension: &[u8],
    text: &[u8],
    word: &WholeWord,
) -> Vec<TextDefinition> {
    if PROSE.contains(&extension) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut line_done = 0;
    for at in word.places(text) {
        let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline);
        if start < line_done || end - start > MAX_LINE {
            continue;
        }
        let before = &text[start..at];
        let after = &text[at + word.bytes().len()..end];
        if let Some(look) = look(before, after) {
            found.push(TextDefinition { at, look });
            line_done = end;
        }
    }
    found
}

fn look(before: &[u8], after: &[u8]) -> Option<TextLook> {
    let before = String::from_utf8_lossy(before).to_lowercase();
    let trimmed = before.trim_start();
    let comment =
        ["//", "#", "--", ";", "*", "%", "\"", "'"].iter().any(|mark| trimmed.starts_with(mark));
    if comment && !trimmed.starts_with("#define") {
        return None;
    }
    let words: Vec<&str> =
        trimmed.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let after = after.trim_ascii_start();
    // Qualified names count with their qualifier: `function Account.new`, `func (a Account) new`.
    let last = before
        .trim_end()
        .rsplit(|c: char| c.is_whitespace() || c == '(')
        .next()
        .unwrap_or_default();
    let qualified = last.ends_with('.') || last.ends_with(':');
    // `let mut x`, `CREATE TABLE IF NOT EXISTS x`
    let between = |word: &&&str| ["mut", "rec", "if", "not", "exists"].contains(*word);
    let reach = if qualified { 2 } else { 1 };
    let is_value = before.contains('=');
    let definer = words
        .iter()
        .rev()
        .skip_while(between)
        .take(if is_value { 0 } else { reach })
        .find_map(|word| DEFINERS.iter().find(|definer| *definer == word));
    let is_call_or_use = qualified && definer.is_none();
    if let Some(definer) = definer {
        return Some(match *definer {
            "class" | "struct" | "enum" | "union" | "trait" | "interface" | "protocol"
            | "extension" | "object" | "record" | "type" | "typealias" | "typedef" | "table"
            | "view" | "message" | "data" => TextLook::Type,
            "let" | "var" | "val" | "const" | "set" | "config" | "index" => TextLook::Variable,
            "local" if !after.starts_with(b"(") => TextLook::Variable,
            _ => TextLook::Function,
        });
    }
    if is_call_or_use || !trimmed.is_empty() {
        return None;
    }
    let equals = after.starts_with(b"=") && !after.starts_with(b"==")
        || [b":=".as_slice(), b"?=", b"+=", b"::="].iter().any(|sign| after.starts_with(sign));
    let colon = after.starts_with(b":") && !after.starts_with(b"::");
    match (equals, colon) {
        (true, _) if is_function_value(after) => Some(TextLook::Function),
        (true, _) => Some(TextLook::Variable),
        (_, true) => Some(TextLook::Function),
        _ => None,
    }
}

fn is_function_value(after: &[u8]) -> bool {
    let value = after.trim_ascii_start().trim_ascii_start();
    memchr::memmem::find(value, b"function").is_some()
        || memchr::memmem::find(value, b"=>").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_look_like_definitions_are_told_from_uses() {
        let table = [
            ("lua", "function foo(a)", Some(TextLook::Function)),
            ("lua", "local function foo(a)", Some(TextLook::Function)),
            ("lua", "function Account.foo(self)", Some(TextLook::Function)),
            ("lua", "local foo = 1", Some(TextLook::Variable)),
            ("lua", "foo = function() end", Some(TextLook::Function)),
            ("lua", "  print(foo)", None),
            ("lua", "local x = foo()", None),
            ("lua", "function bar(foo)", None),
            ("sql", "create table if not exists foo (", Some(TextLook::Type)),
            ("lua", "x.foo = 1", None),
            ("lua", "-- function foo", None),
            ("swift", "public func foo() -> Int {", Some(TextLook::Function)),
            ("swift", "struct foo: Codable {", Some(TextLook::Type)),
            ("kt", "data class foo(val a: Int)", Some(TextLook::Type)),
            ("sql", "CREATE TABLE foo (", Some(TextLook::Type)),
            ("mk", "foo: bar.o", Some(TextLook::Function)),
            ("mk", "foo := 1", Some(TextLook::Variable)),
            ("mk", "\t$(foo) x", None),
            ("ex", "  defp foo(a), do: a", Some(TextLook::Function)),
            ("hs", "foo :: Int -> Int", None),
            ("md", "foo: what it is", None),
            ("x", "if foo == 1", None),
        ];
        for (extension, line, expected) in table {
            let text = format!("first\n{line}\nlast\n");
            let found =
                definitions_by_text(extension.as_bytes(), text.as_bytes(), &WholeWord::new("foo"));
            assert_eq!(found.first().map(|found| found.look), expected, "{line}");
        }
    }

    #[test]
    fn a_huge_line_is_data() {
        let text = format!("function foo() {}", "x".repeat(1000));
        assert!(definitions_by_text(b"x", text.as_bytes(), &WholeWord::new("foo")).is_empty());
    }
}
