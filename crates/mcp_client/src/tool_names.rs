//! The name under which a model calls a foreign tool.

use std::fmt::Write as _;

use protocol::ContentHash;

/// What separates server and tool. None of our own tools has it in its name.
pub const SEPARATOR: &str = "__";
/// The longest name that every provider takes.
const MAX_NAME: usize = 64;
/// Hexadecimal digits that keep names apart whose own letters could not be kept.
const MARK_DIGITS: usize = 8;

/// `server__tool` in the letters that every provider takes. A name that has others, or is too long, has
/// those written out and ends with a part of its hash, so that no two tools of a server share a name.
pub(crate) fn exposed_name(server: &str, tool: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let prefix = format!("{server}{SEPARATOR}");
    if !tool.is_empty() && tool.chars().all(is_plain) && prefix.len() + tool.len() <= MAX_NAME {
        return prefix + tool;
    }
    let mark = &ContentHash::of(tool.as_bytes()).to_string()[..MARK_DIGITS];
    let room = MAX_NAME - MARK_DIGITS - 1;
    let mut name = prefix;
    for c in tool.chars() {
        let mut written = String::new();
        match c {
            c if is_plain(c) => written.push(c),
            '.' | '/' | ' ' | ':' => written.push('_'),
            // Writing to a string cannot fail.
            c => _ = write!(written, "u{:x}", u32::from(c)),
        }
        if name.len() + written.len() > room {
            break;
        }
        name.push_str(&written);
    }
    format!("{name}-{mark}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_names_stay_and_others_are_written_out_with_a_mark() {
        let names = ["add", "read_file", "get.user", "re\u{0430}d", "a\u{200b}b", ""];
        let shown: Vec<String> = names.iter().map(|tool| exposed_name("s", tool)).collect();
        insta::assert_snapshot!(shown.join("\n"), @"
        s__add
        s__read_file
        s__get_user-ed83eb0a
        s__reu430d-43cfd6c2
        s__au200bb-c6f10746
        s__-af1349b9
        ");
        assert_eq!(exposed_name("s", &"x".repeat(300)).len(), MAX_NAME);
    }

    proptest! {
        #[test]
        fn no_two_tools_share_a_name_and_every_provider_takes_it(
            one in "[a-c._ä\u{200b}]{0,70}", other in "[a-c._ä\u{200b}]{0,70}",
        ) {
            let (first, second) = (exposed_name("srv", &one), exposed_name("srv", &other));
            prop_assert_eq!(one == other, first == second);
            prop_assert!(first.len() <= MAX_NAME);
            prop_assert!(first.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)));
            prop_assert!(first.starts_with("srv__"));
        }
    }
}
