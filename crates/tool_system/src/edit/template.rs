//! The replacement text of a regular expression: `$1`, `${name}`, `$$`.

use protocol::{ErrorCode, ToolError};
use regex::bytes::Regex;

/// Refuses a template that names a group which the pattern does not have. The regex crate would
/// silently put nothing there, which is how `$1a` for `${1}a` loses text.
pub(super) fn check_template(template: &str, regex: &Regex) -> Result<(), ToolError> {
    let groups: Vec<&str> = regex.capture_names().flatten().collect();
    let count = regex.captures_len() - 1;
    let known = |name: &str| match name.parse::<usize>() {
        Ok(number) => number <= count,
        Err(_) => groups.contains(&name),
    };
    match group_references(template).find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => Err(unknown_group(name, count, &groups, known)),
    }
}

/// A hint for a template that seems to use another notation than `$1`.
pub(super) fn template_note(template: &str, regex: &Regex) -> Option<String> {
    let backslash = template.as_bytes().windows(2).any(|pair| {
        pair[0] == b'\\' && pair[1].is_ascii_digit() && usize::from(pair[1] - b'0') > 0
    });
    (backslash && regex.captures_len() > 1).then(|| {
        "The replacement contains a backslash and a digit, which is taken literally; a capture \
         group is written $1 or ${name}."
            .to_owned()
    })
}

/// The group names in the template, read as the regex crate reads them.
fn group_references(template: &str) -> impl Iterator<Item = &str> {
    let mut rest = template;
    std::iter::from_fn(move || {
        loop {
            let after = &rest[rest.find('$')? + 1..];
            if let Some(literal) = after.strip_prefix('$') {
                rest = literal;
                continue;
            }
            if let Some((name, tail)) =
                after.strip_prefix('{').and_then(|braced| braced.split_once('}'))
            {
                rest = tail;
                return Some(name);
            }
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
            rest = &after[end..];
            if end > 0 {
                return Some(&after[..end]);
            }
        }
    })
}

fn unknown_group(
    name: &str,
    count: usize,
    groups: &[&str],
    known: impl Fn(&str) -> bool,
) -> ToolError {
    let has = match (count, groups) {
        (0, _) => "which has no groups".to_owned(),
        (_, []) => format!("which has the groups 1 to {count}"),
        _ => format!("which has {count} groups, named {}", groups.join(", ")),
    };
    let split = (1..name.len()).rev().find(|at| name.is_char_boundary(*at) && known(&name[..*at]));
    let suggestion = match split {
        Some(at) => {
            format!("`${name}` reads as one name; write `${{{}}}{}`.", &name[..at], &name[at..])
        }
        None => "Write `$$` for a literal dollar sign, or add the group to the pattern.".to_owned(),
    };
    let message =
        format!("the replacement names the group `{name}`, but the pattern, {has}, lacks it");
    ToolError::new(ErrorCode::InvalidArguments, message).suggest(suggestion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_groups_are_refused_with_the_right_spelling() {
        let regex = Regex::new(r"(\w+) (?<last>\w+)").unwrap();
        for right in ["$1", "${1}a", "$last $$x", "${last}s", "$0", "costs $ 5", "$2!", "$", "${"] {
            check_template(right, &regex).unwrap_or_else(|error| panic!("{right}: {error}"));
        }
        let table = [
            ("$1a", "write `${1}a`"),
            ("$last_name", "write `${last}_name`"),
            ("$3", "`$$` for a literal"),
            ("${first}", "`$$` for a literal"),
            ("$$$x", "`$$` for a literal"),
        ];
        for (wrong, hint) in table {
            let error = check_template(wrong, &regex).unwrap_err();
            assert!(error.suggestion.unwrap().contains(hint), "{wrong}");
        }
    }
}
