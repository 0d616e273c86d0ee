//! Where two texts differ. Showing and selecting both build on this, so that a hunk's number means
//! the same to both.

use std::collections::HashMap;
use std::ops::Range;

use super::common_runs::{CommonRun, runs_of_numbers};
use super::file_text::{DiffEncoding, FileText, is_binary};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// A file above this size is not shown as text: no approver reads that much.
const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;
/// Nor is a change that would show more lines than this.
const MAX_SHOWN_LINES: usize = 200_000;
/// Nor is a text in which more lines than this lie between the first and the last change, both sides
/// together: the search for what they have in common would take seconds.
const MAX_COMPARED_LINES: usize = 400_000;
/// Equal lines beside the changed region that the algorithm gets to see, so that it can place an
/// insertion between equal lines where it reads best.
const MARGIN: usize = 64;

/// Two texts and their hunks, or the reason why there are none.
pub(super) enum Comparison<'a> {
    Opaque(Opaque),
    Text { old: FileText<'a>, new: FileText<'a>, hunks: Vec<HunkSpan> },
}

/// Why content is not compared line by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opaque {
    Binary,
    TooLarge,
}

/// Lines that go and lines that come in their place. One of the two is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangedLines {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// Blocks that are so close that they are shown together, and the lines shown around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HunkSpan {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    pub(super) blocks: Vec<ChangedLines>,
}

impl<'a> Comparison<'a> {
    pub(super) fn of(before: &'a [u8], after: &'a [u8]) -> Self {
        if is_binary(before) || is_binary(after) {
            return Comparison::Opaque(Opaque::Binary);
        }
        if before.len().max(after.len()) > MAX_TEXT_BYTES {
            return Comparison::Opaque(Opaque::TooLarge);
        }
        let old = FileText::new(before, encoding_beside(before, after));
        let new = FileText::new(after, encoding_beside(after, before));
        let Some(blocks) = blocks(&old, &new) else {
            return Comparison::Opaque(Opaque::TooLarge);
        };
        let hunks = grouped(blocks, old.len(), new.len());
        let shown: usize = hunks.iter().map(|hunk| hunk.old.len() + hunk.new.len()).sum();
        match shown > MAX_SHOWN_LINES {
            true => Comparison::Opaque(Opaque::TooLarge),
            false => Comparison::Text { old, new, hunks },
        }
    }
}

/// An empty text has the encoding of the other side.
fn encoding_beside(bytes: &[u8], other: &[u8]) -> DiffEncoding {
    DiffEncoding::of(if bytes.is_empty() { other } else { bytes })
}

/// The lines that differ, or `None` if there are too many to compare.
fn blocks<'a>(old: &FileText<'a>, new: &FileText<'a>) -> Option<Vec<ChangedLines>> {
    if old.bytes == new.bytes {
        return Some(Vec::new());
    }
    // Parts of both encodings in one file would be no text at all, so there is only one choice.
    if old.encoding != new.encoding {
        return Some(vec![ChangedLines { old: 0..old.len(), new: 0..new.len() }]);
    }
    let shorter = old.len().min(new.len());
    let same_head = (0..shorter).take_while(|at| old.line(*at) == new.line(*at)).count();
    let same_tail = (1..=shorter - same_head)
        .take_while(|back| old.line(old.len() - back) == new.line(new.len() - back))
        .count();
    let head = same_head.saturating_sub(MARGIN);
    let tail = same_tail.saturating_sub(MARGIN);
    if old.len() + new.len() - 2 * (head + tail) > MAX_COMPARED_LINES {
        return None;
    }
    let mut numbers = HashMap::new();
    let old_numbers = numbered(old, head..old.len() - tail, &mut numbers);
    let new_numbers = numbered(new, head..new.len() - tail, &mut numbers);
    let runs = runs_of_numbers(&old_numbers, &new_numbers);
    let end = CommonRun { old: old_numbers.len(), new: new_numbers.len(), len: 0 };
    let mut before = CommonRun { old: 0, new: 0, len: 0 };
    let mut blocks = Vec::new();
    for run in runs.into_iter().chain([end]) {
        let block = ChangedLines {
            old: head + before.old + before.len..head + run.old,
            new: head + before.new + before.len..head + run.new,
        };
        if !(block.old.is_empty() && block.new.is_empty()) {
            blocks.push(block);
        }
        before = run;
    }
    Some(blocks)
}

/// Lines as numbers that are equal where the lines are: cheap to compare again and again.
fn numbered<'a>(
    text: &FileText<'a>,
    lines: Range<usize>,
    numbers: &mut HashMap<&'a [u8], usize>,
) -> Vec<usize> {
    let number = |at| {
        let next = numbers.len();
        *numbers.entry(text.line(at)).or_insert(next)
    };
    lines.map(number).collect()
}

fn grouped(blocks: Vec<ChangedLines>, old_len: usize, new_len: usize) -> Vec<HunkSpan> {
    let mut hunks: Vec<HunkSpan> = Vec::new();
    for block in blocks {
        match hunks.last_mut() {
            // The ends still hold the context after the last block.
            Some(hunk) if block.old.start <= hunk.old.end + CONTEXT => {
                hunk.blocks.push(block.clone())
            }
            _ => hunks.push(HunkSpan {
                old: block.old.start.saturating_sub(CONTEXT)..0,
                new: block.new.start.saturating_sub(CONTEXT)..0,
                blocks: vec![block.clone()],
            }),
        }
        if let Some(hunk) = hunks.last_mut() {
            hunk.old.end = (block.old.end + CONTEXT).min(old_len);
            hunk.new.end = (block.new.end + CONTEXT).min(new_len);
        }
    }
    hunks
}
