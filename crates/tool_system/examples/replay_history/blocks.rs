//! The change of a file as search/replace blocks, of whole lines or of parts of lines.

use std::ops::Range;

use serde_json::{Value, json};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::expressing::{Way, hunks, keeps_endings, lines};

/// A part of the old text, and of the new one that it becomes.
type Span = (Range<usize>, Range<usize>);

/// The blocks that make the old text into the new one. Every second file with CR LF is spoken of
/// with LF, as models do.
pub(crate) fn blocks(way: Way, path: &str, old: &str, new: &str) -> Vec<Value> {
    if old.contains('\r') && keeps_endings(old, new) && path.len().is_multiple_of(2) {
        return blocks(way, path, &old.replace("\r\n", "\n"), &new.replace("\r\n", "\n"));
    }
    let spans = match way {
        Way::Parts => parts(old, new, true),
        Way::ShortParts => parts(old, new, false),
        _ => whole_lines(old, new),
    };
    let block = |(index, (from, to)): (usize, Span)| {
        let (mut search, mut replace) = (&old[from], &new[to]);
        if matches!(way, Way::OpenBlocks)
            && index % 2 == 0
            && let (Some(open), Some(replaced)) = (without_end(search), without_end(replace))
            && !occurs_again(old, open)
        {
            (search, replace) = (open, replaced);
        }
        json!({"path": path, "search": search, "replace": replace})
    };
    spans.into_iter().enumerate().map(block).collect()
}

/// The text without its last line ending, if something is left.
fn without_end(text: &str) -> Option<&str> {
    let text = text.strip_suffix('\n')?;
    Some(text.strip_suffix('\r').unwrap_or(text)).filter(|text| !text.trim().is_empty())
}

/// A block for each hunk, with as much context as makes its search text unique.
fn whole_lines(old: &str, new: &str) -> Vec<Span> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let (old_starts, new_starts) = (starts(&old_lines), starts(&new_lines));
    let found = hunks(&old_lines, &new_lines).into_iter().map(|hunk| (hunk.old, hunk.new));
    let bytes = |starts: &[usize], lines: &Range<usize>| starts[lines.start]..starts[lines.end];
    let is_clear = |(from, _): &Span| {
        let search = &old[bytes(&old_starts, from)];
        !search.trim().is_empty() && !occurs_again(old, search)
    };
    let grow = |span: &mut Span| {
        span.0.start = span.0.start.saturating_sub(1);
        span.1.start = span.1.start.saturating_sub(1);
        span.0.end = (span.0.end + 1).min(old_lines.len());
        span.1.end = (span.1.end + 1).min(new_lines.len());
    };
    let spans = grown(found.collect(), is_clear, grow);
    let in_bytes = |(from, to): Span| (bytes(&old_starts, &from), bytes(&new_starts, &to));
    spans.into_iter().map(in_bytes).collect()
}

/// A block for each place where characters differ, which begins and ends inside lines as a rule. It
/// is made longer until it is unique, if that is asked for.
fn parts(old: &str, new: &str, unique: bool) -> Vec<Span> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let (old_starts, new_starts) = (starts(&old_lines), starts(&new_lines));
    let ops = capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines);
    let differing = ops.into_iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    let found = differing.map(|op| {
        let (from, to) = (op.old_range(), op.new_range());
        let from = old_starts[from.start]..old_starts[from.end];
        let to = new_starts[to.start]..new_starts[to.end];
        trimmed(old, new, (from, to))
    });
    let is_clear =
        |(from, _): &Span| !from.is_empty() && (!unique || !occurs_again(old, &old[from.clone()]));
    // What lies between two blocks is the same on both sides, so that both grow alike. By how much
    // depends on the place, so that beginnings and ends fall anywhere.
    let grow = |span: &mut Span| {
        for _ in 0..=span.0.start % 5 {
            let before = old[..span.0.start].chars().next_back().map_or(0, char::len_utf8);
            span.0.start -= before;
            span.1.start -= before;
        }
        for _ in 0..=span.0.end % 3 {
            let after = old[span.0.end..].chars().next().map_or(0, char::len_utf8);
            span.0.end += after;
            span.1.end += after;
        }
    };
    grown(found.collect(), is_clear, grow)
}

/// The span without what both sides begin and end with.
fn trimmed(old: &str, new: &str, (mut from, mut to): Span) -> Span {
    let (before, after) = (&old[from.clone()], &new[to.clone()]);
    let same = |(left, right): &(char, char)| left == right;
    let width = |(c, _): (char, char)| c.len_utf8();
    let head: usize = before.chars().zip(after.chars()).take_while(same).map(width).sum();
    let (before, after) = (&before[head..], &after[head..]);
    let tail = before.chars().rev().zip(after.chars().rev()).take_while(same).map(width);
    let tail: usize = tail.sum();
    (from.start, to.start) = (from.start + head, to.start + head);
    (from.end, to.end) = (from.end - tail, to.end - tail);
    (from, to)
}

/// Makes spans grow until each of them is clear. Those that touch each other become one.
fn grown(
    mut spans: Vec<Span>,
    is_clear: impl Fn(&Span) -> bool,
    grow: impl Fn(&mut Span),
) -> Vec<Span> {
    loop {
        let mut is_final = true;
        for span in spans.iter_mut().filter(|span| !is_clear(span)) {
            is_final = false;
            grow(span);
        }
        if is_final {
            return spans;
        }
        spans = joined(spans);
    }
}

fn joined(spans: Vec<Span>) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for (from, to) in spans {
        match joined.last_mut() {
            Some((before, before_to)) if from.start <= before.end => {
                // The first may reach beyond the second, into what is the same on both sides.
                let beyond = before.end.saturating_sub(from.end);
                (before.end, before_to.end) = (from.end + beyond, to.end + beyond);
            }
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// Where each line begins, and where the last one ends.
fn starts(lines: &[&str]) -> Vec<usize> {
    let ends = lines.iter().scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

fn occurs_again(text: &str, search: &str) -> bool {
    let Some(first) = text.find(search) else { return false };
    // Overlapping places count too, as they do for the tool.
    let next = first + search.chars().next().map_or(1, char::len_utf8);
    text[next..].contains(search)
}
