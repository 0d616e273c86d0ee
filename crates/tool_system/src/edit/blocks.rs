//! Search/replace blocks: each finds one place in the file. A text that stands there exactly is
//! replaced byte for byte, wherever in a line it begins or ends; only one that does not is compared
//! by whole lines, of which those that differ between the two texts are changed.

use std::ops::Range;

use protocol::{ErrorCode, ToolError};
use workspace::{LineEnding, Text};

use super::endings::{dress, unix, whole_lines};
use super::grade::Grade;
use super::line_map::LineMap;
use super::literal::{Counting, everywhere, occurrences};
use super::locate::{MAX_PLACES, places};
use super::miss::Miss;
use super::placing::{AppliedBlock, Placed, already_applied, apply_placed, decide, numbered};
use super::script::LineScript;
use super::splice::Splice;

/// The grades at which whole lines are compared, after the text as it is was not found.
const LINE_GRADES: [Grade; 3] = [Grade::TrailingWhitespace, Grade::Indentation, Grade::Punctuation];

/// A text to find in the file, once, and what to put in its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EditBlock<'a> {
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
    pub(crate) body: Vec<u8>,
    /// What became of each block, in the order of the blocks.
    pub(crate) blocks: Vec<AppliedBlock>,
}

/// A change that has found its place, and how exactly.
type PlacedBlock = (Splice, Grade);

/// Applies all blocks to the file as it is, or none. Every block is searched in the original text,
/// so that the order of the blocks does not matter; two that overlap are refused.
pub(crate) fn apply_blocks(
    text: &Text,
    blocks: &[EditBlock<'_>],
) -> Result<BlocksApplied, ToolError> {
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
    block: &EditBlock<'_>,
) -> Result<PlacedBlock, ToolError> {
    if block.search.is_empty() {
        return Err(blank("the search text is empty"));
    }
    if block.search == block.replace {
        return Err(unchanged());
    }
    if let Some(found) = place_exactly(map, block)? {
        return Ok(found);
    }
    if let Some(found) = place_carefully(map, block)? {
        return Ok(found);
    }
    if block.search.trim().is_empty() {
        return Err(blank(
            "the search text is only white space, which is not in the file like this",
        ));
    }
    Err(Miss::of_text(text, block.search, Some(block.replace)).error())
}

fn blank(message: &str) -> ToolError {
    ToolError::new(ErrorCode::InvalidArguments, message)
        .suggest("Search for lines that are in the file; to add text at a line, use a line edit.")
}

fn unchanged() -> ToolError {
    let message = "the search text and the replacement are the same";
    ToolError::new(ErrorCode::InvalidArguments, message)
}

/// Finds the text byte for byte; the replacement is taken byte for byte as well. Only where no line
/// of the file ends in a lone LF, an LF in either text is what a model writes for any line ending.
fn place_exactly(
    map: &LineMap<'_>,
    block: &EditBlock<'_>,
) -> Result<Option<PlacedBlock>, ToolError> {
    let body = map.body();
    let mut exact = everywhere(body, block.search.as_bytes(), MAX_PLACES);
    let has_lf = (0..map.len()).any(|line| map.ending(line) == LineEnding::Lf);
    if !has_lf && block.search.starts_with('\n') {
        // It begins in the middle of a CR LF.
        exact.clear();
    }
    if exact.is_empty() {
        return Ok(None);
    }
    let range = choose(map, exact, block)?;
    let tells_endings = block.search.contains(['\n', '\r']) || block.replace.contains('\r');
    let bytes = match has_lf || tells_endings {
        true => block.replace.as_bytes().to_vec(),
        false => {
            let ending = map.ending_near(map.line_at(range.start));
            dress(block.replace, &[], map.cr_only(), ending)
        }
    };
    Ok(Some((Splice { range, bytes }, Grade::Exact)))
}

/// Finds a text that does not stand in the file exactly: apart from line endings, or else whole
/// lines by grade. The place is unique, or there is an error.
pub(super) fn place_carefully(
    map: &LineMap<'_>,
    block: &EditBlock<'_>,
) -> Result<Option<PlacedBlock>, ToolError> {
    let (search, replace) = (unix(block.search), unix(block.replace));
    if search == replace {
        return Err(unchanged());
    }
    let mut found = occurrences(map, &search, Counting::Everywhere(MAX_PLACES));
    // The end of the file stands for a line ending only for a text that stands nowhere else.
    let lacks_ending = |span: &Range<usize>| {
        search.ends_with('\n') && span.end == map.body().len() && map.ends_open()
    };
    if search.trim().is_empty() || !found.iter().all(lacks_ending) {
        found.retain(|span| !lacks_ending(span));
    }
    if !found.is_empty() {
        let range = choose(map, found, block)?;
        let fallback = map.ending_near(map.line_at(range.start));
        let mut bytes = dress(&replace, &map.body()[range.clone()], map.cr_only(), fallback);
        if lacks_ending(&range) {
            open_end(&mut bytes);
        }
        return Ok(Some((Splice { range, bytes }, Grade::LineEnding)));
    }
    if search.trim().is_empty() {
        return Ok(None);
    }
    // A search for whole lines is answered with whole lines: the next line is never drawn up.
    let replace = match search.ends_with('\n') && !replace.is_empty() && !replace.ends_with('\n') {
        true => replace + "\n",
        false => replace,
    };
    place_lines(map, &search, &replace)
}

/// Which of several occurrences is meant: the only one, or the one at the line of the hint.
fn choose(
    map: &LineMap<'_>,
    mut found: Vec<Range<usize>>,
    block: &EditBlock<'_>,
) -> Result<Range<usize>, ToolError> {
    let lines = |span: &Range<usize>| map.line_at(span.start)..map.line_at(span.end.max(1) - 1) + 1;
    let lines: Vec<Range<usize>> = found.iter().map(lines).collect();
    let at = decide(&lines, block.line)?;
    Ok(found.swap_remove(at))
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
) -> Result<Option<PlacedBlock>, ToolError> {
    let (search_lines, replace_lines) = match search.ends_with('\n') {
        true => (whole_lines(search), whole_lines(replace)),
        // Without an ending at its end, the search is answered piece by piece as it stands.
        false => (pieces(search), pieces(replace)),
    };
    for grade in LINE_GRADES {
        let script = LineScript::of_lines(&search_lines, &replace_lines, grade);
        let found = places(map, &script.wanted, &script.new_indentations(), grade);
        let Some(place) = found.first() else { continue };
        let lines: Vec<Range<usize>> =
            found.iter().map(|place| place.line..place.line + search_lines.len()).collect();
        decide(&lines, None)?;
        let whole = LineScript::of_lines(&replace_lines, &[], grade);
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
