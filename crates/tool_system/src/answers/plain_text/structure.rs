//! The structure of a file in few words: `118⇥ pub fn new(registry, options) -> Self`.

/// A line of an outline.
struct OutlineEntry<'a> {
    depth: usize,
    /// Absent for a heading that stands on no line of its own.
    line: Option<&'a str>,
    text: &'a str,
}

/// An outline with the numbers first. If it `folds`, fields are named after their type, and
/// parameters are without their types. The symbols of a file `in_directory` stand one level below
/// its path.
pub(crate) fn folded(outline: &str, folds: bool, in_directory: bool) -> String {
    let entries: Vec<OutlineEntry<'_>> = outline.lines().map(entry_of).collect();
    let mut shown = Vec::new();
    let mut index = 0;
    while let Some(entry) = entries.get(index) {
        let depth = entry.depth.saturating_sub(usize::from(in_directory));
        let mut text = match folds {
            true => without_types(entry.text),
            false => entry.text.to_owned(),
        };
        index += 1;
        let fields = if folds { fields_after(&entries, index) } else { Vec::new() };
        if !fields.is_empty() {
            index += fields.len();
            text.push_str(&format!(" {{ {} }}", fields.join(", ")));
        }
        shown.push(match entry.line {
            Some(line) => format!("{line}\t{}{text}", " ".repeat(depth)),
            None => format!("{}{text}", " ".repeat(depth)),
        });
    }
    shown.join("\n")
}

fn entry_of(line: &str) -> OutlineEntry<'_> {
    let text = line.trim_start_matches(' ');
    let depth = (line.len() - text.len()) / 2;
    let is_number = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once(": ").filter(|(number, _)| !number.is_empty() && is_number(number)) {
        Some((number, text)) => OutlineEntry { depth, line: Some(number), text },
        None => OutlineEntry { depth, line: None, text },
    }
}

/// The names of the fields that follow the type before `index`, up to the first thing that is none.
fn fields_after<'a>(entries: &[OutlineEntry<'a>], index: usize) -> Vec<&'a str> {
    let Some(parent) = index.checked_sub(1).and_then(|at| entries.get(at)) else {
        return Vec::new();
    };
    let is_enum = parent.text.split(' ').any(|word| word == "enum");
    let children = entries[index..].iter().enumerate().map_while(|(offset, entry)| {
        let next = entries.get(index + offset + 1);
        let is_leaf = next.is_none_or(|next| next.depth <= entry.depth);
        let is_child = entry.line.is_some() && entry.depth == parent.depth + 1;
        field_name(entry.text, is_enum).filter(|_| is_leaf && is_child)
    });
    if parent.line.is_some() { children.collect() } else { Vec::new() }
}

/// Words that can stand before the name of a field.
const MODIFIERS: &[&str] = &[
    "pub",
    "pub(crate)",
    "pub(super)",
    "public",
    "private",
    "protected",
    "readonly",
    "static",
    "final",
    "internal",
    "override",
    "mut",
];

/// The name of a field such as `pub limits: Limits` or `private r = 1`, or of a variant.
fn field_name(text: &str, is_enum: bool) -> Option<&str> {
    let mut rest = text;
    while let Some((word, after)) = rest.split_once(' ')
        && MODIFIERS.contains(&word)
    {
        rest = after;
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '#');
    let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
    let is_field = after.starts_with(':') || after.starts_with("?:") || after.starts_with(" =");
    // A name alone is a variant, or a field without a type; a word before it would be a keyword.
    let is_variant = is_enum && (after.is_empty() || after.starts_with(['(', ' ', '{', ',']));
    (!name.is_empty() && (is_field || is_variant)).then_some(name)
}

/// A signature without the types of its parameters.
fn without_types(text: &str) -> String {
    let whole = || text.to_owned();
    let Some((start, end)) = parameters(text) else { return whole() };
    let names = top_level_parts(&text[start..end]).into_iter().map(parameter_name);
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    format!("{}{}{}", &text[..start], names.join(", "), &text[end..])
}

/// Where the parameters stand: after the first parenthesis that follows a name or its generics.
fn parameters(text: &str) -> Option<(usize, usize)> {
    let skipped =
        ["pub(crate)", "pub(super)", "pub(in "].iter().find(|word| text.starts_with(**word));
    let skipped = skipped.map_or(0, |_| text.find(')').map_or(0, |at| at + 1));
    let mut angles = 0_i32;
    let mut before = ' ';
    for (at, character) in text[skipped..].char_indices() {
        match character {
            '<' => angles += 1,
            '>' if before != '-' && before != '=' => angles -= 1,
            '(' if angles == 0
                && (before.is_alphanumeric() || matches!(before, '_' | '>' | '!' | '?')) =>
            {
                let start = skipped + at + 1;
                return Some((start, start + closing(&text[start..])?));
            }
            // What follows is a value, not a signature.
            '=' if angles == 0 => return None,
            _ => {}
        }
        before = character;
    }
    None
}

/// Where the parenthesis closes that was opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The parts between commas that stand in no brackets.
fn top_level_parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth, mut before) = (0, 0_i32, ' ');
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if matches!(before, '-' | '=') => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        before = character;
    }
    parts.push(text[start..].trim());
    parts
}

/// `mut options: Options` by its name; whatever is not written with a colon stays as it is, but for
/// how Rust takes `self`, which is its type.
fn parameter_name(parameter: &str) -> &str {
    if matches!(parameter, "&self" | "&mut self" | "mut self") {
        return "self";
    }
    let name = match parameter.split_once(':') {
        Some((name, rest)) if !rest.starts_with(':') => name.trim_end(),
        _ => return parameter,
    };
    name.strip_prefix("mut ").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn signatures_lose_the_types_of_their_parameters_and_nothing_else() {
        let table = [
            (
                "pub fn new( registry: Arc<ToolRegistry>, mut options: Options, ) -> Self",
                "pub fn new(registry, options) -> Self",
            ),
            (
                "pub(crate) fn judge(&self, a: &[Effect]) -> Verdict",
                "pub(crate) fn judge(self, a) -> Verdict",
            ),
            (
                "fn map<K: Into<(A, B)>>(f: impl Fn(A, B) -> C, k: K)",
                "fn map<K: Into<(A, B)>>(f, k)",
            ),
            ("area(a?: number, b: string = 'x'): number", "area(a?, b): number"),
            ("def run(self, *args, key: int = 3) -> None", "def run(self, *args, key) -> None"),
            (
                "func (s *Server) Run(ctx context.Context, n int) error",
                "func (s *Server) Run(ctx context.Context, n int) error",
            ),
            ("const LIMIT: usize = size_of::<u64>(3)", "const LIMIT: usize = size_of::<u64>(3)"),
            ("fn take((a, b): (u8, u8), x: u8)", "fn take((a, b), x)"),
            ("pub struct Limits", "pub struct Limits"),
            ("fn broken(a: u8", "fn broken(a: u8"),
            ("static int f(std::string a, int b)", "static int f(std::string a, int b)"),
        ];
        for (text, expected) in table {
            assert_eq!(without_types(text), expected);
        }
    }

    #[test]
    fn fields_are_named_after_their_type() {
        let outline = "1: const A: usize = 3\n2: pub struct S\n  3: pub a: u8\n  4: b: Vec<u8>\nS:\n  \
                       6: pub fn new(a: u8) -> S\n9: enum E\n  10: One\n  11: Two(u8)\n12: class C\n  \
                       13: private r = 1\n  14: area()\n  15: late = 2\n…3 more\n";
        insta::assert_snapshot!(folded(outline, true, false).replace('\t', "⇥"), @r"
        1⇥const A: usize = 3
        2⇥pub struct S { a, b }
        S:
        6⇥ pub fn new(a) -> S
        9⇥enum E { One, Two }
        12⇥class C { r }
        14⇥ area()
        15⇥ late = 2
        …3 more
        ");
        insta::assert_snapshot!(folded("2: struct S\n  3: a: u8\n", false, false).replace('\t', "⇥"), @r"
        2⇥struct S
        3⇥ a: u8
        ");
        insta::assert_snapshot!(folded("src/a.rs\n  2: struct S\n  …1 more\n", false, true).replace('\t', "⇥"), @r"
        src/a.rs
        2⇥struct S
        …1 more
        ");
    }

    proptest! {
        #[test]
        fn any_text_is_folded_without_losing_a_numbered_line_or_a_name(
            lines in proptest::collection::vec("( {0,4})([0-9]{1,3}: )?[a-zé()<>:,{} =]{0,20}", 0..12),
        ) {
            let outline = lines.join("\n");
            // An outline has no blank lines.
            let count = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
            let shown = folded(&outline, true, false);
            prop_assert!(count(&shown) <= count(&outline));
            let unfolded = folded(&outline, false, false);
            prop_assert_eq!(count(&unfolded), count(&outline));
        }
    }
}
