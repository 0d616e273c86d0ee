//! What a name does in a directive of C, whose grammar leaves the rest of the line as it is.

use tree_sitter::Node;

use crate::symbols::Role;

/// Directives that show the rest of their line to the user.
const MESSAGES: &[&[u8]] = &[b"error", b"warning"];

/// The role of a name at the byte `at`, within the argument of a directive.
pub(super) fn role(argument: &Node<'_>, text: &[u8], at: usize) -> Role {
    let directive = argument.prev_sibling().and_then(|before| text.get(before.byte_range()));
    let directive = directive.unwrap_or_default().trim_ascii();
    let name = directive.strip_prefix(b"#").map(<[u8]>::trim_ascii_start);
    if name.is_some_and(|name| MESSAGES.contains(&name)) {
        return Role::Text;
    }
    text.get(argument.start_byte()..at).map_or(Role::Reference, role_after)
}

/// The role of a name that follows `before` in the body of a macro.
fn role_after(before: &[u8]) -> Role {
    let mut at = 0;
    while at < before.len() {
        let rest = &before[at..];
        let (end, role) = match rest {
            [b'/', b'/', ..] => (None, Role::Comment),
            [b'/', b'*', ..] => {
                (memchr::memmem::find(&rest[2..], b"*/").map(|end| end + 4), Role::Comment)
            }
            [quote @ b'"', ..] => (end_of_literal(rest, *quote), Role::Text),
            // The other apostrophes stand between digits.
            [quote @ b'\'', ..] if !before[..at].last().is_some_and(u8::is_ascii_alphanumeric) => {
                (end_of_literal(rest, *quote), Role::Text)
            }
            _ => (Some(1), Role::Reference),
        };
        let Some(length) = end else { return role };
        at += length;
    }
    Role::Reference
}

/// The length of the literal at the beginning of `text`, if it ends there.
fn end_of_literal(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_are_told_from_code() {
        for (before, expected) in [
            ("", Role::Reference),
            ("#", Role::Reference),
            ("f(\"", Role::Text),
            ("f(\"a\" ", Role::Reference),
            ("\"a\\\"", Role::Text),
            ("'\"' ", Role::Reference),
            ("'", Role::Text),
            ("1'000 ", Role::Reference),
            ("// it's ", Role::Comment),
            ("/* \" */ ", Role::Reference),
            ("/* *", Role::Comment),
            ("\"// \" ", Role::Reference),
            ("\"\\", Role::Text),
        ] {
            assert_eq!(role_after(before.as_bytes()), expected, "{before}");
        }
    }
}
