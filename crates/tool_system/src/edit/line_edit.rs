//! Inserting, deleting and replacing lines by number.

use protocol::{ErrorCode, ToolError};
use workspace::LineEnding;

use super::endings::{align, endings_for, unix, whole_lines};
use super::line_map::LineMap;
use super::splice::{Changed, Splice, apply_splices};

/// How many of the actual lines an error shows.
const MAX_SHOWN_LINES: usize = 50;

/// One edit by line numbers, which start at 1 and are those that `read_file` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEdit<'a> {
    /// Put `content` after line `after`; 0 is the beginning of the file.
    Insert { after: usize, content: &'a str },
    /// Remove the lines `start` to `end`, both included.
    Delete { start: usize, end: usize },
    /// Put `content` in the place of the lines `start` to `end`, both included.
    Replace { start: usize, end: usize, content: &'a str },
}

/// What a line edit came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LinesEdited {
    pub(crate) body: Vec<u8>,
    /// How many lines the new body has.
    pub(crate) total_lines: usize,
    /// How many lines more (or fewer) than before.
    pub(crate) delta: isize,
    /// Where the change is.
    pub(crate) changed: Changed,
}

/// Makes one line edit. `expected` is the text that the caller believes to be in the lines that are
/// deleted or replaced, or in the line after which something is inserted; line endings and a
/// missing last one do not count.
pub(crate) fn edit_lines(
    body: &[u8],
    edit: LineEdit<'_>,
    expected: Option<&str>,
) -> Result<LinesEdited, ToolError> {
    let map = LineMap::of(body);
    check_range(&map, edit)?;
    check_expected(&map, edit, expected)?;
    let splice = match edit {
        LineEdit::Insert { after, content } => insertion(&map, after, &content_lines(content)?),
        LineEdit::Delete { start, end } => {
            Splice { range: map.start_of(start - 1)..map.start_of(end), bytes: Vec::new() }
        }
        LineEdit::Replace { start, end, content } => {
            replacement(&map, start - 1..end, &content_lines(content)?)
        }
    };
    let (body, mut changed) = apply_splices(&map, &[splice]);
    let total_lines = LineMap::of(&body).len();
    let delta = total_lines.cast_signed() - map.len().cast_signed();
    Ok(LinesEdited { body, total_lines, delta, changed: changed.remove(0) })
}

/// The content as owned lines. Empty content could mean no line or an empty one, so it is refused.
fn content_lines(content: &str) -> Result<Vec<Vec<u8>>, ToolError> {
    let content = unix(content);
    if content.is_empty() {
        return Err(ToolError::new(ErrorCode::InvalidArguments, "the content is empty").suggest(
            "For an empty line send \"\\n\" as content; to remove lines use operation=\"delete\".",
        ));
    }
    Ok(whole_lines(&content).into_iter().map(<[u8]>::to_vec).collect())
}

fn insertion(map: &LineMap<'_>, after: usize, lines: &[Vec<u8>]) -> Splice {
    let at = map.start_of(after);
    let ending = map.ending_near(after.saturating_sub(1)).as_bytes();
    let mut bytes = lines.join(ending);
    if after > 0 && after == map.len() && map.ends_open() {
        // The last line has no ending: it gets one, and the new last line has none, unless it is
        // empty and would be no line without one.
        bytes.splice(0..0, ending.iter().copied());
        if lines.last().is_some_and(Vec::is_empty) {
            bytes.extend_from_slice(ending);
        }
    } else {
        bytes.extend_from_slice(ending);
    }
    Splice { range: at..at, bytes }
}

fn replacement(map: &LineMap<'_>, at: std::ops::Range<usize>, lines: &[Vec<u8>]) -> Splice {
    let old: Vec<&[u8]> = at.clone().map(|line| map.content(line)).collect();
    let old_endings: Vec<LineEnding> = at.clone().map(|line| map.ending(line)).collect();
    let new: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    let fallback = map.ending_near(at.start);
    let mut endings = endings_for(&align(&old, &new), &old_endings, fallback);
    for ending in &mut endings {
        if *ending == LineEnding::None {
            *ending = fallback;
        }
    }
    let ends_empty = new.last().is_none_or(|line| line.is_empty());
    if let (Some(last), Some(LineEnding::None)) = (endings.last_mut(), old_endings.last())
        && !ends_empty
    {
        *last = LineEnding::None;
    }
    let mut bytes = Vec::new();
    for (line, ending) in new.iter().zip(endings) {
        bytes.extend_from_slice(line);
        bytes.extend_from_slice(ending.as_bytes());
    }
    Splice { range: map.start_of(at.start)..map.start_of(at.end), bytes }
}

fn check_range(map: &LineMap<'_>, edit: LineEdit<'_>) -> Result<(), ToolError> {
    let total = map.len();
    let valid = match edit {
        LineEdit::Insert { after, .. } => after <= total,
        LineEdit::Delete { start, end } | LineEdit::Replace { start, end, .. } => {
            1 <= start && start <= end && end <= total
        }
    };
    if valid {
        return Ok(());
    }
    let (asked, allowed) = match edit {
        LineEdit::Insert { after, .. } => {
            (format!("start_line {after}"), format!("0 to {total} (0 is the beginning)"))
        }
        LineEdit::Delete { start, end } | LineEdit::Replace { start, end, .. } => {
            let allowed = match total {
                0 => "none, because the file is empty".to_owned(),
                _ => format!("1 to {total}, with start_line not above end_line"),
            };
            (format!("lines {start} to {end}"), allowed)
        }
    };
    let message = format!("{asked}: the file has {total} lines; valid line numbers are {allowed}");
    Err(ToolError::new(ErrorCode::InvalidRange, message)
        .suggest("Read the file again for its present line numbers.")
        .detail("total_lines", total))
}

fn check_expected(
    map: &LineMap<'_>,
    edit: LineEdit<'_>,
    expected: Option<&str>,
) -> Result<(), ToolError> {
    let Some(expected) = expected else { return Ok(()) };
    let lines = match edit {
        LineEdit::Insert { after, .. } => after.saturating_sub(1)..after,
        LineEdit::Delete { start, end } | LineEdit::Replace { start, end, .. } => start - 1..end,
    };
    let expected = unix(expected);
    // An empty line may be written as nothing at all.
    let believed = if expected.is_empty() && !lines.is_empty() {
        vec![&b""[..]]
    } else {
        whole_lines(&expected)
    };
    let actual: Vec<&[u8]> = lines.clone().map(|line| map.content(line)).collect();
    if believed == actual {
        return Ok(());
    }
    let (first, last) = (lines.start + 1, lines.end);
    let shown: Vec<_> =
        actual.iter().take(MAX_SHOWN_LINES).map(|line| String::from_utf8_lossy(line)).collect();
    let differing = believed.iter().zip(&actual).take_while(|(left, right)| left == right).count();
    let message = format!(
        "lines {first} to {last} are not what was expected; the first difference is in line {}; \
         nothing was changed. They are:\n{}",
        first + differing.min(actual.len().saturating_sub(1)),
        shown.join("\n")
    );
    Err(ToolError::new(ErrorCode::Conflict, message)
        .suggest("Compare with these lines, then send the edit with the right numbers and text.")
        .detail("actual", shown.join("\n"))
        .detail("start_line", first)
        .detail("end_line", last))
}

#[cfg(test)]
mod tests;
