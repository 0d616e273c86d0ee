//! `@path` in a message: a file that the user points at.

use std::ops::Range;

/// A file that is pointed at.
#[derive(Debug, PartialEq, Eq)]
pub struct Mention<'a> {
    /// Where it stands in the message, with its mark.
    pub range: Range<usize>,
    /// The path as typed. Whether it exists is another question.
    pub path: &'a str,
}

/// Marks that end a sentence rather than a path.
const TRAILING: [char; 11] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"'];

/// The mentions in a message, in order: `@src/main.rs`, or `@"a path with spaces"`. The `@` in an
/// address or within a word is none.
pub fn mentions(text: &str) -> Vec<Mention<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('@').map(|at| from + at) {
        from = at + 1;
        if !mention_can_begin(&text[..at]) {
            continue;
        }
        let (path, end) = path_at(text, from);
        if !path.is_empty() {
            found.push(Mention { range: at..end, path });
            from = end;
        }
    }
    found
}

/// Whether a mention can stand after this text.
pub fn mention_can_begin(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '{' | ','))
}

/// The path that begins at `start`, and where the mention of it ends.
fn path_at(text: &str, start: usize) -> (&str, usize) {
    let rest = &text[start..];
    if let Some(quoted) = rest.strip_prefix('"')
        && let Some(end) = quoted.find(['"', '\n'])
        && quoted[end..].starts_with('"')
    {
        return (&quoted[..end], start + end + 2);
    }
    let end = rest.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(rest.len());
    let path = rest[..end].trim_end_matches(TRAILING);
    (path, start + path.len())
}

/// `path` as it is mentioned.
pub fn mention_of(path: &str) -> String {
    let plain =
        !path.contains(|c: char| c.is_whitespace() || c == '"') && !path.ends_with(TRAILING);
    if plain { format!("@{path}") } else { format!("@\"{path}\"") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_found_and_addresses_are_not() {
        let table: [(&str, &[&str]); 9] = [
            ("@src/main.rs", &["src/main.rs"]),
            ("see @a.rs, (@b/) and @c.rs.", &["a.rs", "b/", "c.rs"]),
            ("@\"my notes.md\" please", &["my notes.md"]),
            ("me@example.org", &[]),
            ("a lone @ or `@x`", &[]),
            ("@@x", &["@x"]),
            ("@\"never closed", &[]),
            ("@.github/x\n@y", &[".github/x", "y"]),
            ("@漢字.rs、", &["漢字.rs、"]),
        ];
        for (text, expected) in table {
            let paths: Vec<&str> = mentions(text).iter().map(|mention| mention.path).collect();
            assert_eq!(paths, expected, "{text}");
        }
        assert_eq!(mentions("see @a.rs.")[0].range, 4..9);
    }

    proptest! {
        #[test]
        fn ranges_lie_in_the_text_and_every_path_can_be_mentioned(text in any::<String>(), path in "[a-z. !/]{0,8}[a-z!. ]") {
            for mention in mentions(&text) {
                prop_assert!(text[mention.range.clone()].starts_with('@'));
                prop_assert!(text[mention.range].contains(mention.path));
            }
            let mentioned = format!("see {} there", mention_of(&path));
            prop_assert_eq!(mentions(&mentioned)[0].path, path);
        }
    }
}
