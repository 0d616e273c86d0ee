//! Deciding between places, and making several changes at once.

use std::ops::Range;

use protocol::{ErrorCode, ToolError};

use super::grade::Grade;
use super::line_map::LineMap;
use super::locate::MAX_PLACES;
use super::splice::{Changed, Splice, apply_splices};

/// How many places an error lists.
const MAX_LISTED_PLACES: usize = 20;

/// Where and how a block or a hunk was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AppliedBlock {
    /// How exactly the old text was found.
    pub(crate) grade: Grade,
    /// The place, in the old and in the new body.
    pub(crate) changed: Changed,
}

/// A change that has found its place.
pub(super) struct Placed {
    pub(super) splice: Splice,
    pub(super) grade: Grade,
    /// Its number in the order in which it was asked for, from 0.
    pub(super) index: usize,
}

/// Makes all changes, unless two of them overlap. The answer is in the order of asking.
pub(super) fn apply_placed(
    map: &LineMap<'_>,
    mut placed: Vec<Placed>,
    noun: &str,
) -> Result<(Vec<u8>, Vec<AppliedBlock>), ToolError> {
    placed.sort_by_key(|placed| (placed.splice.range.start, placed.splice.range.end));
    if let Some([left, right]) = placed
        .array_windows::<2>()
        .find(|[left, right]| left.splice.range.end > right.splice.range.start)
    {
        let line = map.line_at(right.splice.range.start) + 1;
        let (first, second) = (left.index.min(right.index) + 1, left.index.max(right.index) + 1);
        let message =
            format!("{noun}s {first} and {second} overlap at line {line}; nothing was changed");
        return Err(ToolError::new(ErrorCode::InvalidArguments, message)
            .suggest(format!("Join the two {noun}s into one.")));
    }
    let order: Vec<(usize, Grade)> =
        placed.iter().map(|placed| (placed.index, placed.grade)).collect();
    let splices: Vec<Splice> = placed.into_iter().map(|placed| placed.splice).collect();
    let (body, changed) = apply_splices(map, &splices);
    let mut answers: Vec<_> = order.into_iter().zip(changed).collect();
    answers.sort_by_key(|((index, _), _)| *index);
    let answers = answers.into_iter().map(|((_, grade), changed)| AppliedBlock { grade, changed });
    Ok((body, answers.collect()))
}

/// Says which of several changes an error is about.
pub(super) fn numbered(mut error: ToolError, noun: &str, index: usize, total: usize) -> ToolError {
    if total > 1 {
        // One change that fails keeps the others from being made, which a call with one need not be told.
        let told = error.message.trim_end_matches('.');
        let all = if told.contains("nothing was changed") { "" } else { "; nothing was changed" };
        error.message = format!("{noun} {} of {total}: {told}{all}", index + 1);
    }
    error.detail(noun, index + 1)
}

/// Which of several places is meant: the only one, or the one at the line of the hint.
pub(super) fn decide(places: &[Range<usize>], hint: Option<usize>) -> Result<usize, ToolError> {
    if places.len() == 1 {
        return Ok(0);
    }
    if let Some(line) = hint.and_then(|line| line.checked_sub(1)) {
        let only = |wanted: &dyn Fn(&Range<usize>) -> bool| {
            let mut fitting = (0..places.len()).filter(|at| wanted(&places[*at]));
            fitting.next().filter(|_| fitting.next().is_none())
        };
        let at_hint =
            only(&|place| place.start == line).or_else(|| only(&|place| place.contains(&line)));
        if let Some(at) = at_hint {
            return Ok(at);
        }
    }
    let mut lines: Vec<usize> = places.iter().map(|place| place.start + 1).collect();
    lines.truncate(MAX_LISTED_PLACES);
    let listed = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let count =
        if places.len() >= MAX_PLACES { "many".to_owned() } else { places.len().to_string() };
    let message =
        format!("the search text occurs {count} times (at lines {listed}); nothing was changed");
    Err(ToolError::new(ErrorCode::InvalidArguments, message)
        .suggest("Add neighbouring lines to the search text until it is unique.")
        .detail("lines", lines))
}

/// The error for a change that stands in the file already.
pub(super) fn already_applied(line: usize) -> ToolError {
    let message = format!(
        "the replacement is in the file already, at line {}: already applied; nothing was \
         changed",
        line + 1
    );
    ToolError::new(ErrorCode::Conflict, message)
        .suggest(
            "If that is the change you meant, go on with the next. If not, give more of the lines around it.",
        )
        .detail("already_applied", true)
        .detail("line", line + 1)
}
