//! What to write instead of a pattern that was refused.

use grep_regex::ErrorKind as Refusal;
use regex_syntax::ast::{self, ErrorKind};

/// Characters that mean something in a regular expression.
const SPECIAL: &str = r"\.+*?()|[]{}^$";
/// The most characters of a pattern that advice repeats.
const MAX_REPEATED: usize = 200;

/// What is wrong with a regular expression, and what to do about it.
pub(super) fn on_regex(pattern: &str, error: &grep_regex::Error) -> (String, String) {
    if let Refusal::NotAllowed(_) = error.kind() {
        let reason = "a line never contains its line break".to_owned();
        return (reason, "Set multiline to true to match over several lines.".into());
    }
    match ast::parse::Parser::new().parse(pattern) {
        Err(error) => (reason(pattern, &error), advice(pattern, &error)),
        Ok(_) => match error.to_string() {
            text if text.contains("size limit") => (
                "it becomes too large".into(),
                "Use smaller counts in {…}, or fewer alternatives and Unicode classes.".into(),
            ),
            // Such as an unknown Unicode class. The engine draws the place below its message.
            text => {
                let line = text.lines().rev().find_map(|line| line.strip_prefix("error: "));
                (line.unwrap_or(&text).to_owned(), as_text(pattern))
            }
        },
    }
}

/// The engine's words and the place, counted in characters from 1.
fn reason(pattern: &str, error: &ast::Error) -> String {
    let start = error.span().start.offset.min(pattern.len());
    let at = pattern.get(..start).map_or(1, |before| before.chars().count() + 1);
    let what = match error.kind() {
        ErrorKind::UnsupportedLookAround => "look-around is not supported".to_owned(),
        ErrorKind::UnsupportedBackreference => "back-references are not supported".to_owned(),
        ErrorKind::RepetitionMissing => "there is nothing to repeat".to_owned(),
        kind => kind.to_string(),
    };
    format!("{what}, at character {at}")
}

fn advice(pattern: &str, error: &ast::Error) -> String {
    match error.kind() {
        ErrorKind::UnsupportedLookAround => without_look_around(pattern),
        ErrorKind::UnsupportedBackreference => {
            "Write the repeated text out, as in `'[^']*'|\"[^\"]*\"` for `(['\"]).*?\\1`.".into()
        }
        ErrorKind::RepetitionMissing if looks_like_glob(pattern) => format!(
            "This looks like a glob for file names: give it as include, or to glob. As a regular \
             expression it is `{}`.",
            from_glob(pattern)
        ),
        ErrorKind::GroupUnclosed => repaired(pattern, &format!("{pattern})")),
        ErrorKind::ClassUnclosed => repaired(pattern, &format!("{pattern}]")),
        ErrorKind::EscapeUnexpectedEof => repaired(pattern, &format!("{pattern}\\")),
        ErrorKind::GroupUnopened
        | ErrorKind::EscapeUnrecognized
        | ErrorKind::RepetitionMissing
        | ErrorKind::RepetitionCountUnclosed
        | ErrorKind::RepetitionCountDecimalEmpty => {
            repaired(pattern, &with_escape_at(pattern, error.span()))
        }
        _ => as_text(pattern),
    }
}

/// Advice that offers `repair` if it is a valid pattern, and in any case the text itself.
fn repaired(pattern: &str, repair: &str) -> String {
    let is_valid = regex_syntax::parse(repair).is_ok();
    if is_valid && repair != escaped(pattern) && repair.chars().count() <= MAX_REPEATED {
        return format!("Did you mean `{repair}`? {}", as_text(pattern));
    }
    as_text(pattern)
}

fn as_text(pattern: &str) -> String {
    if pattern.chars().count() > MAX_REPEATED {
        return "Use a valid pattern such as `class \\w+Test`, and escape what stands for itself \
                with a backslash."
            .into();
    }
    format!(
        "Use a valid pattern such as `class \\w+Test`. To find the text itself, escape it: `{}`.",
        escaped(pattern)
    )
}

/// What must be there can be matched instead of looked at: lines are found, not places in them.
fn without_look_around(pattern: &str) -> String {
    let matched = pattern.replace("(?=", "(?:").replace("(?<=", "(?:");
    if !pattern.contains("(?!")
        && !pattern.contains("(?<!")
        && matched.chars().count() <= MAX_REPEATED
        && regex_syntax::parse(&matched).is_ok()
    {
        return format!("Match what you wanted to look at: `{matched}` finds the same lines.");
    }
    "Search without the part that must not be there, and pass over the lines that have it; or say \
     what may be there instead, as in `foo[^b]` for `foo(?!b)`."
        .into()
}

fn looks_like_glob(pattern: &str) -> bool {
    let name = pattern.rsplit('/').next().unwrap_or(pattern);
    pattern.starts_with('*')
        && (name.starts_with("*.") || pattern.starts_with("**"))
        && !pattern.contains(['(', '|', '\\', ' '])
}

/// The regular expression for the names that a simple glob means.
fn from_glob(glob: &str) -> String {
    let mut regex = String::new();
    for character in glob.trim_start_matches("**/").chars() {
        match character {
            '*' if regex.ends_with(".*") => {}
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            other => push_escaped(&mut regex, other),
        }
    }
    regex
}

/// The pattern with a backslash before what stands at `span`.
fn with_escape_at(pattern: &str, span: &ast::Span) -> String {
    let at = span.start.offset;
    match (pattern.get(..at), pattern.get(at..)) {
        (Some(before), Some(rest)) => format!("{before}\\{rest}"),
        _ => escaped(pattern),
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    text.chars().for_each(|character| push_escaped(&mut escaped, character));
    escaped
}

fn push_escaped(text: &mut String, character: char) {
    if SPECIAL.contains(character) {
        text.push('\\');
    }
    text.push(character);
}

/// What to do about a glob that does not parse.
pub(super) fn on_glob(pattern: &str) -> String {
    let valid = "Use a valid glob such as `**/*.tsx`, `src/**/*.test.ts` or `*.{js,ts}`.";
    if pattern.contains(['[', ']', '{', '}']) && pattern.chars().count() <= MAX_REPEATED {
        let literal = pattern.chars().fold(String::new(), |mut literal, character| {
            match character {
                '[' | ']' | '{' | '}' => literal.extend(['[', character, ']']),
                other => literal.push(other),
            }
            literal
        });
        return format!("{valid} To match brackets in names, write `{literal}`.");
    }
    valid.into()
}

#[cfg(test)]
mod tests {
    use grep_regex::RegexMatcherBuilder;
    use proptest::prelude::*;

    use super::*;

    fn explained(pattern: &str) -> (String, String) {
        let mut builder = RegexMatcherBuilder::new();
        let error = builder.line_terminator(Some(b'\n')).build(pattern).expect_err("it is wrong");
        on_regex(pattern, &error)
    }

    #[test]
    fn each_mistake_is_named_with_its_place_and_a_way_out() {
        let table = [
            ("foo(", "unclosed group, at character 4", "escape it: `foo\\(`"),
            ("foo(bar", "unclosed group, at character 4", "Did you mean `foo(bar)`?"),
            ("foo)", "unopened group, at character 4", "escape it: `foo\\)`"),
            ("*.rs", "there is nothing to repeat, at character 1", "it is `.*\\.rs`"),
            ("**/*.tsx", "there is nothing to repeat", "looks like a glob"),
            ("+1", "there is nothing to repeat", "escape it: `\\+1`"),
            ("[a-z", "unclosed character class", "Did you mean `[a-z]`?"),
            ("日(", "at character 2", "`日\\(`"),
            ("foo(?=bar)", "look-around is not supported, at character 4", "`foo(?:bar)` finds"),
            ("(?<=a)b", "look-around", "`(?:a)b` finds"),
            ("foo(?!bar)", "look-around", "must not be there"),
            ("(a)\\1", "back-references are not supported, at character 4", "Write the repeated"),
            ("a\\nb", "a line never contains its line break", "Set multiline"),
            ("fn main() {", "repetition", "escape it: `fn main\\(\\) \\{`"),
            ("\\p{Foo}", "property not found", "Use a valid pattern"),
            ("C:\\y", "unrecognized escape", "`C:\\\\y`"),
            ("a\\", "incomplete escape", "`a\\\\`"),
        ];
        for (pattern, reason, advice) in table {
            let explained = explained(pattern);
            assert!(explained.0.contains(reason), "{pattern}: {explained:?}");
            assert!(explained.1.contains(advice), "{pattern}: {explained:?}");
        }
        let mut builder = RegexMatcherBuilder::new();
        let error = builder.size_limit(1000).build("\\w{500}").expect_err("it is too large");
        assert!(on_regex("\\w{500}", &error).1.contains("smaller counts"));
    }

    #[test]
    fn a_glob_with_brackets_is_offered_with_brackets_that_stand_for_themselves() {
        assert!(on_glob("src/[a").contains("`src/[[]a`"));
        assert!(!on_glob("a**\\").contains("brackets"));
    }

    proptest! {
        /// Advice on whatever people type does not panic, and the escaped text is always valid.
        #[test]
        fn advice_can_always_be_given(pattern in r"[a-z(){}\[\]\\*+?|^$.<=!:日 \n-]{0,24}") {
            let mut builder = RegexMatcherBuilder::new();
            if let Err(error) = builder.line_terminator(Some(b'\n')).build(&pattern) {
                let (reason, advice) = on_regex(&pattern, &error);
                prop_assert!(!reason.is_empty() && !advice.is_empty());
            }
            prop_assert!(regex_syntax::parse(&escaped(&pattern)).is_ok());
        }
    }
}
