//! Recognising text that stands for code which was left out, such as `// ... rest of the code`.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::sync::LazyLock;

use protocol::{ErrorCode, ToolError};
use regex::Regex;

/// Lines longer than this are never placeholders.
const MAX_LINE_BYTES: usize = 200;

/// Refuses new text with a line that stands for left-out code and is not a line of the file as it is.
pub(crate) fn refuse_placeholder(new: &str, original: &[u8]) -> Result<(), ToolError> {
    let lines = original.split(|byte| matches!(byte, b'\n' | b'\r'));
    let known = LazyCell::new(|| lines.map(<[u8]>::trim_ascii).collect::<HashSet<_>>());
    let mut trimmed = new.lines().map(str::trim).enumerate();
    let found = trimmed.find(|(_, text)| is_placeholder(text) && !known.contains(text.as_bytes()));
    let Some((index, text)) = found else { return Ok(()) };
    let line = index + 1;
    let message = format!(
        "line {line} of the new text, `{text}`, stands for code that was left out; nothing was changed"
    );
    Err(ToolError::new(ErrorCode::InvalidArguments, message)
        .suggest("Send the code itself, or a smaller edit that leaves the rest of the file alone.")
        .detail("placeholder_line", line)
        .detail("placeholder", text))
}

/// Parts of a program that are commonly left out.
const PART: &str = "(?:code|file|functions?|methods?|class|classes|implementations?|imports?|logic|\
    module|components?|script|body|tests?|fields|props|properties|routes|handlers|styles|cases|\
    definitions|contents?|document|program)";

/// What is said of them.
const FATE: &str = "(?:(?:is |are |remains? |stays? |goes |go |continues |kept |left )?\
    (?:unchanged|untouched|unmodified|omitted|elided|truncated|the same|same|here|as before|as is|\
    as-is|remains?|same as (?:before|above)|unchanged from (?:before|above))(?: for brevity)?)";

/// Words before the thing that is left out.
const LEAD: &str = "(?:keep |include |insert |and )?(?:all |the |your |any |my |of )*";

/// A phrase that stands for left-out code by itself: a comment must be nothing else.
static CLEAR: LazyLock<Regex> = LazyLock::new(|| {
    phrase(&format!(
        "{LEAD}(?:(?:rest|remainder) of (?:the |your |this )?(?:existing |original |current )?\
            (?:[\\w.-]+ )?{PART} {FATE}\
         |(?:rest|remainder) of (?:the |your |this )?(?:existing |original |current )?\
            (?:code|implementation)\
         |(?:rest|remainder) (?:remains? |stays? |is )?(?:unchanged|the same|as before)\
         |(?:remaining|existing|other|original|previous) (?:code|functions?|methods?|\
            implementations?|imports|logic|classes|file contents?) {FATE}\
         |(?:code|implementation) (?:omitted|elided|unchanged)(?: for brevity)?)"
    ))
});

/// A phrase that stands for left-out code where an ellipsis says so too.
static HINTED: LazyLock<Regex> = LazyLock::new(|| {
    phrase(&format!(
        "{LEAD}(?:rest|remainder|remaining|unchanged|omitted|elided|no changes?|as before\
         |same as (?:before|above)|omitted for brevity|(?:remains |rest )?unchanged\
         |(?:rest|remainder) of (?:the |your |this )?(?:existing |original |current )?\
            (?:(?:[\\w.-]+ ){{0,2}}{PART}|[\\w-]+\\.\\w+)(?: {FATE})?\
         |(?:remaining|existing|previous|original|other|unchanged|same) (?:[\\w.-]+ )?{PART}\
            (?: {FATE})?\
         |(?:[\\w.-]+ )?{PART} (?:unchanged|omitted|elided|same as before|as before|\
            remains? (?:unchanged|the same)|continues)(?: for brevity)?)"
    ))
});

fn phrase(pattern: &str) -> Regex {
    // The patterns are constants, and the tests compile them.
    Regex::new(&format!("^(?i:{pattern})$")).unwrap_or_else(|error| panic!("{error}"))
}

/// Comment openers; one that begins another stands after it.
const OPENERS: [&str; 12] =
    ["{/*", "<!--", "/**", "/*", "///", "//!", "//", "--", "#", ";", "%", "*"];
const CLOSERS: [&str; 3] = ["*/}", "-->", "*/"];

fn is_placeholder(line: &str) -> bool {
    if line.len() > MAX_LINE_BYTES {
        return false;
    }
    match uncomment(line) {
        Some((opener, comment)) => {
            // A line with a star may be an item of a list in prose.
            is_hinted(comment) || opener != "*" && CLEAR.is_match(&plain(comment))
        }
        None => is_bare_placeholder(line) || inline_comment(line).is_some_and(is_hinted),
    }
}

/// The opener and the inside of a line that is nothing but a comment.
fn uncomment(line: &str) -> Option<(&'static str, &str)> {
    let (opener, inside) = OPENERS
        .iter()
        .find_map(|opener| line.strip_prefix(opener).map(|inside| (*opener, inside.trim())))?;
    let closed = CLOSERS.iter().find_map(|closer| inside.strip_suffix(closer));
    Some((opener, closed.unwrap_or(inside).trim()))
}

/// The comment inside or after code, such as `fn f() { /* ... existing code ... */ }`.
fn inline_comment(line: &str) -> Option<&str> {
    if let Some((_, rest)) = line.split_once("/*") {
        return rest.split_once("*/").map(|(comment, _)| comment.trim());
    }
    let after = [" // ", " # ", " -- "].iter().find_map(|opener| line.split_once(opener));
    after.map(|(_, comment)| comment.trim())
}

/// Whether a comment leaves something out by an ellipsis or brackets and by its words.
fn is_hinted(comment: &str) -> bool {
    let words = plain(comment);
    let has_ellipsis = comment.contains("...") || comment.contains('…');
    has_ellipsis && HINTED.is_match(&words) || is_bracketed(comment) && CLEAR.is_match(&words)
}

/// Whether a line that is no comment is such a phrase all the same: `[... rest of the code ...]`.
/// Two words are needed, because `...rest` is a spread.
fn is_bare_placeholder(line: &str) -> bool {
    let inside = line.trim_matches(|c: char| "[](){}<>.… ".contains(c));
    let only_words = inside.chars().all(|c| c.is_alphanumeric() || "_-' ".contains(c));
    only_words && inside.contains(' ') && is_hinted(line)
}

fn is_bracketed(text: &str) -> bool {
    let pairs = [('[', ']'), ('(', ')'), ('<', '>'), ('{', '}')];
    pairs.iter().any(|(open, close)| text.starts_with(*open) && text.ends_with(*close))
}

/// The words alone, with one space between them.
fn plain(text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\'' | '.');
    text.split(|c: char| !is_word(c))
        .map(|word| word.trim_matches(['.', '-']))
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests;
