//! Replacing every occurrence of a text or of a regular expression.

use memchr::memmem;
use protocol::{ErrorCode, ToolError};
use regex::bytes::{Regex, RegexBuilder};
use workspace::{LineEnding, Text};

use super::blocks::{EditBlock, place_carefully};
use super::endings::{dress, unix};
use super::grade::Grade;
use super::line_map::LineMap;
use super::literal::{Counting, occurrences};
use super::miss::Miss;
use super::splice::{Changed, Splice, apply_splices};
use super::template::{check_template, template_note};
use crate::extensions::writing::{append_file, edit_lines};

/// How large a compiled pattern may be, in bytes, and as much again for its lazy automaton. The
/// engine is linear in the text; this bounds the factor.
const REGEX_SIZE_LIMIT: usize = 4 << 20;

/// How many lines an error lists.
const MAX_LISTED_LINES: usize = 20;

/// What to replace by what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replacement<'a> {
    /// The text or regular expression to find.
    pub(crate) find: &'a str,
    /// What to put in its place; for a regular expression `$1` and `${name}` are groups.
    pub(crate) replace: &'a str,
    /// Whether `find` is a regular expression, in multi-line mode.
    pub(crate) is_regex: bool,
    /// How many occurrences there must be.
    pub(crate) expected: Option<usize>,
}

/// What a replacement came to.
#[derive(Debug)]
pub(crate) struct Replaced {
    pub(crate) body: Vec<u8>,
    /// How many occurrences were replaced.
    pub(crate) count: usize,
    /// Where, in order.
    pub(crate) changed: Vec<Changed>,
    /// How the one place was found, if the text does not stand in the file literally.
    pub(crate) grade: Option<Grade>,
    /// How many of the occurrences stood inside a copy of the replacement text, as after the same
    /// call made a second time (`a` by `a b` in `a b`). Zero for a regular expression.
    pub(crate) inside_replacement: usize,
    /// Help for the case of no occurrence.
    pub(crate) miss: Option<Miss>,
    /// Remarks for the model.
    pub(crate) notes: Vec<String>,
}

/// Replaces every occurrence. A text that does not occur literally is found as a block would be, in
/// one place or none. Nothing at all is a success with a count of zero and a [`Miss`]; another count
/// than expected is an error.
pub(crate) fn replace(text: &Text, what: &Replacement<'_>) -> Result<Replaced, ToolError> {
    if what.find.is_empty() {
        return Err(ToolError::new(ErrorCode::InvalidArguments, "the text to find is empty")
            .suggest(format!("To add text, use {} or {}.", append_file::NAME, edit_lines::NAME)));
    }
    let map = LineMap::of(text.body());
    let mut notes = Vec::new();
    let (mut splices, inside_replacement) = match what.is_regex {
        true => (regex_splices(&map, what, &mut notes)?, 0),
        false => literal_splices(&map, what),
    };
    let mut grade = None;
    if splices.is_empty()
        && !what.is_regex
        && what.expected != Some(0)
        && let Some((splice, found)) = careful_splice(&map, what)?
    {
        splices.push(splice);
        grade = Some(found);
    }
    let miss = splices.is_empty().then(|| match what.is_regex {
        true => Miss::of_pattern(text, what.find),
        false => Miss::of_text(text, what.find, Some(what.replace)),
    });
    check_count(&map, &splices, what.expected, miss.as_ref())?;
    let (body, changed) = apply_splices(&map, &splices);
    let count = splices.len();
    Ok(Replaced { body, count, changed, grade, inside_replacement, miss, notes })
}

fn literal_splices(map: &LineMap<'_>, what: &Replacement<'_>) -> (Vec<Splice>, usize) {
    let (find, new) = (unix(what.find), unix(what.replace));
    // A pattern of nothing but line ends is meant to change the endings themselves.
    let speaks_of_endings = what.find.bytes().all(|byte| matches!(byte, b'\r' | b'\n'));
    let mut found = occurrences(map, &find, Counting::Apart);
    if what.find.contains('\r') {
        let as_given =
            |span: &std::ops::Range<usize>| map.body()[span.clone()] == *what.find.as_bytes();
        if speaks_of_endings || found.iter().any(as_given) {
            found.retain(as_given);
        }
    }
    let within: Vec<usize> = memmem::find_iter(new.as_bytes(), find.as_bytes()).collect();
    let stands_inside = |span: &std::ops::Range<usize>| {
        within.iter().any(|offset| {
            let copy = span.start.checked_sub(*offset).and_then(|start| map.body().get(start..));
            copy.is_some_and(|copy| copy.starts_with(new.as_bytes()))
        })
    };
    let inside = found.iter().filter(|span| stands_inside(span)).count();
    let splices = found.into_iter().map(|range| {
        let bytes = if speaks_of_endings {
            what.replace.as_bytes().to_vec()
        } else {
            let fallback = map.ending_near(map.line_at(range.start));
            dress(&new, &map.body()[range.clone()], map.cr_only(), fallback)
        };
        Splice { range, bytes }
    });
    (splices.collect(), inside)
}

/// The one place of a text that does not occur literally. A replacement that stands there already is
/// no error here, but part of the help for a miss.
fn careful_splice(
    map: &LineMap<'_>,
    what: &Replacement<'_>,
) -> Result<Option<(Splice, Grade)>, ToolError> {
    if unix(what.find) == unix(what.replace) {
        return Ok(None);
    }
    match place_carefully(map, &EditBlock { search: what.find, replace: what.replace, line: None })
    {
        Err(error) if error.details.contains_key("already_applied") => Ok(None),
        found => found,
    }
}

fn regex_splices(
    map: &LineMap<'_>,
    what: &Replacement<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<Splice>, ToolError> {
    let body = map.body();
    let has_cr = map.cr_only() || memmem::find(body, b"\r\n").is_some();
    let regex = compile(what.find, has_cr)?;
    check_template(what.replace, &regex)?;
    notes.extend(template_note(what.replace, &regex));
    let as_given = names_cr(what.find);
    let template = unix(what.replace);
    let past_last_line = !body.is_empty() && !map.ends_open();
    let splices = regex
        .captures_iter(body)
        .filter_map(|captures| {
            let whole = captures.get(0)?;
            // After the last line ending there is no line that `^` or `$` could mean.
            if whole.is_empty() && whole.start() == body.len() && past_last_line {
                return None;
            }
            let mut bytes = Vec::new();
            if as_given {
                captures.expand(what.replace.as_bytes(), &mut bytes);
            } else {
                let ending = ending_at(map, whole.range());
                captures.expand(with_ending(&template, ending).as_bytes(), &mut bytes);
            }
            Some(Splice { range: whole.range(), bytes })
        })
        .collect();
    Ok(splices)
}

/// Compiles a pattern; `crlf` makes `^`, `$` and `.` take CR LF for one line end.
fn compile(pattern: &str, crlf: bool) -> Result<Regex, ToolError> {
    let mut builder = RegexBuilder::new(pattern);
    builder.multi_line(true).crlf(crlf);
    builder.size_limit(REGEX_SIZE_LIMIT).dfa_size_limit(REGEX_SIZE_LIMIT);
    builder.build().map_err(|error| {
        let suggestion = match &error {
            regex::Error::CompiledTooBig(_) => {
                "The pattern is too large; use smaller repetition counts.".to_owned()
            }
            _ if pattern.contains("(?=") || pattern.contains("(?!") || pattern.contains("(?<") => {
                "Look-around and back-references are not supported; capture the surrounding text \
                 and put it back with $1."
                    .to_owned()
            }
            _ => format!(
                "To find it as plain text, send is_regex=false or escape it: {}",
                regex::escape(pattern)
            ),
        };
        ToolError::new(ErrorCode::InvalidPattern, format!("invalid regular expression: {error}"))
            .suggest(suggestion)
    })
}

/// Whether a pattern mentions carriage returns, so that its replacement is taken byte for byte.
fn names_cr(pattern: &str) -> bool {
    pattern.contains('\r') || pattern.contains(r"\r") || pattern.contains(r"\x0D")
}

fn ending_at(map: &LineMap<'_>, span: std::ops::Range<usize>) -> LineEnding {
    map.ending_near(map.line_at(span.start))
}

fn with_ending(template: &str, ending: LineEnding) -> String {
    let ending = String::from_utf8_lossy(ending.as_bytes());
    template.replace('\n', &ending)
}

fn check_count(
    map: &LineMap<'_>,
    splices: &[Splice],
    expected: Option<usize>,
    miss: Option<&Miss>,
) -> Result<(), ToolError> {
    let count = splices.len();
    let Some(expected) = expected.filter(|expected| *expected != count) else { return Ok(()) };
    let mut lines: Vec<usize> =
        splices.iter().map(|splice| map.line_at(splice.range.start) + 1).collect();
    lines.dedup();
    lines.truncate(MAX_LISTED_LINES);
    let message = format!("expected {expected} occurrences but found {count}; nothing was changed");
    let error = ToolError::new(ErrorCode::Conflict, message)
        .detail("expected", expected)
        .detail("found", count)
        .detail("lines", lines);
    Err(match miss {
        Some(miss) => miss.explain(error),
        None => error.suggest(format!(
            "Make the text to find longer until it is unique, or send the expected count {count}."
        )),
    })
}

#[cfg(test)]
mod tests;
