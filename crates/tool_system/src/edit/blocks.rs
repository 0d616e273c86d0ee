//! Search/replace blocks: each finds one place in the file, as exactly as it can be found, and
//! changes only the lines that differ between its two texts.

use std::ops::Range;

use protocol::{ErrorCode, ToolError};
use workspace::Text;

use super::endings::{dress, unix, whole_lines};
use super::grade::{Grade, indentation_len, trim_end};
use super::line_map::LineMap;
use super::literal::{Counting, occurrences};
use super::locate::{MAX_PLACES, places};
use super::miss::Miss;
use super::placing::{AppliedBlock, Placed, already_applied, apply_placed, decide, numbered};
use super::script::Script;
use super::splice::Splice;

/// The grades at which whole lines are compared, after the text as it is was not found.
const LINE_GRADES: [Grade; 3] = [Grade::TrailingWhitespace, Grade::Indentation, Grade::Punctuation];

/// A text to find in the file, once, and what to put in its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'a> {
    /// The text as it stands in the file.
    pub(crate) search: &'a str,
    /// The text that replaces it.
    pub(crate) replace: &'a str,
    /// A line, from 1, that decides between several exact occurrences.
    pub(crate) line: Option<usize>,
}

/// What blocks came to.
#[derive(Debug)]
pub(crate) struct BlocksApplied {
    /// The new body.
    pub(crate) body: Vec<u8>,
    /// What became of each block, in the order of the blocks.
    pub(crate) blocks: Vec<AppliedBlock>,
}

/// Applies all blocks to the file as it is, or none. Every block is searched in the original text,
/// so that the order of the blocks does not matter; two that overlap are refused.
pub(crate) fn apply_blocks(text: &Text, blocks: &[Block<'_>]) -> Result<BlocksApplied, ToolError> {
    let map = LineMap::of(text.body());
    let mut found = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.iter().enumerate() {
        let (splice, grade) = place_block(text, &map, block)
            .map_err(|error| numbered(error, "block", index, blocks.len()))?;
        found.push(Placed { splice, grade, index });
    }
    let (body, blocks) = apply_placed(&map, found, "block")?;
    Ok(BlocksApplied { body, blocks })
}

fn place_block(
    text: &Text,
    map: &LineMap<'_>,
    block: &Block<'_>,
) -> Result<(Splice, Grade), ToolError> {
    if block.search.trim().is_empty() {
        return Err(ToolError::new(
            ErrorCode::InvalidArguments,
            "the search text is empty or only white space",
        )
        .suggest(
            "Search for lines that are in the file; to add text at a line, use a line edit.",
        ));
    }
    let (search, replace) = (unix(block.search), unix(block.replace));
    if search == replace {
        return Err(ToolError::new(
            ErrorCode::InvalidArguments,
            "the search text and the replacement are the same",
        ));
    }
    // A search for whole lines is answered with whole lines: the next line is never drawn up.
    let replace = match search.ends_with('\n') && !replace.is_empty() && !replace.ends_with('\n') {
        true => replace + "\n",
        false => replace,
    };
    if let Some(found) = place_text(map, block, &search, &replace)? {
        return Ok(found);
    }
    if let Some(found) = place_lines(map, &search, &replace)? {
        return Ok(found);
    }
    let miss = Miss::of_text(text, block.search, Some(block.replace));
    let message = match miss.already_applied {
        true => "the search text is not in the file, but the replacement is: already applied",
        false => "the search text is not in the file; nothing was changed",
    };
    Err(miss.explain(ToolError::new(ErrorCode::Conflict, message)))
}

/// Finds the text as it is, or apart from line endings; it need not be whole lines.
fn place_text(
    map: &LineMap<'_>,
    block: &Block<'_>,
    search: &str,
    replace: &str,
) -> Result<Option<(Splice, Grade)>, ToolError> {
    let mut everywhere = occurrences(map, search, Counting::Everywhere(MAX_PLACES));
    everywhere
        .retain(|span| stands_whole(map, span, search) && keeps_indentation(map, span, replace));
    let exact: Vec<Range<usize>> = everywhere
        .iter()
        .filter(|span| map.body()[span.start..span.end] == *block.search.as_bytes())
        .cloned()
        .collect();
    let (found, grade) = match exact.is_empty() {
        true => (everywhere, Grade::LineEnding),
        false => (exact, Grade::Exact),
    };
    if found.is_empty() {
        return Ok(None);
    }
    let lines: Vec<Range<usize>> = found
        .iter()
        .map(|span| map.line_at(span.start)..map.line_at(span.end.max(1) - 1) + 1)
        .collect();
    let range = found[decide(&lines, block.line)?].clone();
    let copies = match replace.contains(search) {
        true => occurrences(map, replace, Counting::Everywhere(MAX_PLACES)),
        false => Vec::new(),
    };
    if copies.iter().any(|copy| copy.start <= range.start && range.end <= copy.end) {
        return Err(already_applied(map.line_at(range.start)));
    }
    let old = &map.body()[range.clone()];
    let fallback = map.ending_near(map.line_at(range.start));
    let mut bytes = dress(replace, old, map.cr_only(), fallback);
    if search.ends_with('\n') && range.end == map.body().len() && map.ends_open() {
        open_end(&mut bytes);
    }
    Ok(Some((Splice { range, bytes }, grade)))
}

/// Whether the text is not just a part of something else. Several lines must be whole lines, because
/// a line of which only the beginning fits is another line; a part of a line must be whole words.
fn stands_whole(map: &LineMap<'_>, span: &Range<usize>, search: &str) -> bool {
    let body = map.body();
    if search.contains('\n') {
        let first = map.span(map.line_at(span.start));
        let last = map.span(map.line_at(span.end.max(1) - 1));
        let before = &body[first.start..span.start];
        let after = &body[span.end.min(last.content_end)..last.content_end];
        return before.trim_ascii().is_empty() && after.trim_ascii().is_empty();
    }
    let is_word =
        |at: usize| body[at].is_ascii_alphanumeric() || body[at] == b'_' || body[at] > 0x7F;
    let cuts_word = |at: usize| at > 0 && at < body.len() && is_word(at - 1) && is_word(at);
    !cuts_word(span.start) && !cuts_word(span.end)
}

/// Whether the replacement can stand where the text stands without losing the indentation. One line
/// that was searched without its indentation, and whose replacement has further lines that lack it
/// too, is a matter for the grade that re-indents.
fn keeps_indentation(map: &LineMap<'_>, span: &Range<usize>, replace: &str) -> bool {
    let line = map.span(map.line_at(span.start));
    let is_one_line = span.end >= trim_end(&map.body()[..line.content_end]).len()
        && map.body()[span.clone()].trim_ascii().iter().all(|byte| *byte != b'\n');
    let indentation = &map.body()[line.start..span.start];
    if !is_one_line || indentation.is_empty() || indentation_len(indentation) < indentation.len() {
        return true;
    }
    let mut further = replace.lines().skip(1).filter(|line| !line.trim().is_empty());
    further.all(|line| line.as_bytes().starts_with(indentation))
}

/// Takes off the last line ending, because the file had none there; but not from an empty line,
/// which would be no line without it.
fn open_end(bytes: &mut Vec<u8>) {
    let ended = [&b"\r\n"[..], b"\n", b"\r"].into_iter().find(|ending| bytes.ends_with(ending));
    let content = bytes.len() - ended.map_or(0, <[u8]>::len);
    if content > 0 && !matches!(bytes[content - 1], b'\n' | b'\r') {
        bytes.truncate(content);
    }
}

/// Finds whole lines apart from trailing white space, indentation or look-alike punctuation.
fn place_lines(
    map: &LineMap<'_>,
    search: &str,
    replace: &str,
) -> Result<Option<(Splice, Grade)>, ToolError> {
    let (search_lines, replace_lines) = match search.ends_with('\n') {
        true => (whole_lines(search), whole_lines(replace)),
        // Without an ending at its end, the search is answered piece by piece as it stands.
        false => (pieces(search), pieces(replace)),
    };
    for grade in LINE_GRADES {
        let script = Script::of_lines(&search_lines, &replace_lines, grade);
        let found = places(map, &script.wanted, &script.new_indentations(), grade);
        let Some(place) = found.first() else { continue };
        let lines: Vec<Range<usize>> =
            found.iter().map(|place| place.line..place.line + search_lines.len()).collect();
        decide(&lines, None)?;
        let whole = Script::of_lines(&replace_lines, &[], grade);
        let copies = places(map, &whole.wanted, &[], grade);
        let here = &lines[0];
        if copies
            .iter()
            .any(|copy| copy.line <= here.start && here.end <= copy.line + replace_lines.len())
        {
            return Err(already_applied(here.start));
        }
        return Ok(Some((script.render(map, place), grade)));
    }
    Ok(None)
}

fn pieces(text: &str) -> Vec<&[u8]> {
    text.split('\n').map(str::as_bytes).collect()
}

#[cfg(test)]
mod tests;
