//! Giving a model's text the line endings of the file.

use std::borrow::Cow;

use protocol::common_runs;
use workspace::LineEnding;

/// Above this many lines on both sides together, lines are compared from both ends only. No model
/// writes so much in one piece, and a full comparison could take seconds.
const MAX_COMPARED_LINES: usize = 20_000;

/// Text with CR LF written as LF, which is how everything from a model is treated.
pub(super) fn unix(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// The lines of a text in which every line stands for a whole one, whether or not the last one is
/// ended.
pub(super) fn whole_lines(unix: &str) -> Vec<&[u8]> {
    let text = unix.strip_suffix('\n').unwrap_or(unix);
    if unix.is_empty() { Vec::new() } else { text.split('\n').map(str::as_bytes).collect() }
}

/// For each line of `new`, the line of `old` that it is, by a line-wise comparison.
pub(super) fn align(old: &[&[u8]], new: &[&[u8]]) -> Vec<Option<usize>> {
    let mut aligned = vec![None; new.len()];
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    for (at, line) in aligned[..head].iter_mut().enumerate() {
        *line = Some(at);
    }
    for at in 0..tail {
        aligned[new.len() - 1 - at] = Some(old.len() - 1 - at);
    }
    let old_middle = &old_rest[..old_rest.len() - tail];
    let new_middle = &new_rest[..new_rest.len() - tail];
    if old_middle.len() + new_middle.len() > MAX_COMPARED_LINES {
        return aligned;
    }
    for run in common_runs(old_middle, new_middle) {
        for at in 0..run.len {
            aligned[head + run.new + at] = Some(head + run.old + at);
        }
    }
    aligned
}

/// The endings for new lines, given which old line each of them is. An old line keeps its ending; a
/// changed one takes that of the line it stands for, an added one that of the line before it.
pub(super) fn endings_for(
    aligned: &[Option<usize>],
    old: &[LineEnding],
    fallback: LineEnding,
) -> Vec<LineEnding> {
    let mut endings = Vec::with_capacity(aligned.len());
    let mut next_old = 0;
    for (at, kept) in aligned.iter().enumerate() {
        if let Some(kept) = kept {
            endings.push(old[*kept]);
            next_old = kept + 1;
            continue;
        }
        let gap_end = aligned[at..].iter().flatten().next().copied().unwrap_or(old.len());
        let own = (next_old < gap_end).then(|| old[next_old]);
        next_old += usize::from(own.is_some());
        let before = next_old.checked_sub(1).map(|line| old[line]);
        let after = old.get(next_old).copied();
        let found = [own, before, after].into_iter().flatten().find(|e| *e != LineEnding::None);
        endings.push(found.unwrap_or(fallback));
    }
    endings
}

/// `new`, which replaces the bytes `old`, with the endings of `old` where it has them and
/// `fallback` elsewhere. Neither needs to begin or end with a line.
pub(super) fn dress(new: &str, old: &[u8], cr_only: bool, fallback: LineEnding) -> Vec<u8> {
    if !new.contains('\n') {
        return new.as_bytes().to_vec();
    }
    let (old_lines, old_endings): (Vec<&[u8]>, Vec<LineEnding>) =
        ended_lines(old, cr_only).into_iter().unzip();
    let mut new_lines: Vec<&[u8]> = new.split('\n').map(str::as_bytes).collect();
    let tail = new_lines.pop().unwrap_or_default();
    let endings = endings_for(&align(&old_lines, &new_lines), &old_endings, fallback);
    let mut dressed = Vec::with_capacity(new.len() + new_lines.len());
    for (line, ending) in new_lines.iter().zip(endings) {
        dressed.extend_from_slice(line);
        dressed.extend_from_slice(ending.as_bytes());
    }
    dressed.extend_from_slice(tail);
    dressed
}

/// The pieces of `bytes` that are followed by a line ending.
fn ended_lines(bytes: &[u8], cr_only: bool) -> Vec<(&[u8], LineEnding)> {
    let terminator = if cr_only { b'\r' } else { b'\n' };
    let mut lines = Vec::new();
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(terminator, rest) {
        let line = &rest[..at];
        lines.push(match line.strip_suffix(b"\r") {
            _ if cr_only => (line, LineEnding::Cr),
            Some(content) => (content, LineEnding::CrLf),
            None => (line, LineEnding::Lf),
        });
        rest = &rest[at + 1..];
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_lines_keep_their_ending_and_new_ones_take_a_neighbours() {
        let table = [
            ("a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n"),
            ("a\nX\nb\n", "a\nb\r\n", "a\nX\nb\r\n"),
            ("X\na\n", "a\r\n", "X\r\na\r\n"),
            ("a\nc\n", "a\nb\r\nc\n", "a\nc\n"),
            ("a\nX\nc\n", "a\nb\r\nc\n", "a\nX\r\nc\n"),
            ("x\ny", "z", "x\ny"),
        ];
        for (new, old, expected) in table {
            let dressed = dress(new, old.as_bytes(), false, LineEnding::Lf);
            assert_eq!(String::from_utf8(dressed).unwrap(), expected, "{new:?} for {old:?}");
        }
        assert_eq!(dress("x\ny", b"a", true, LineEnding::Cr), b"x\ry");
    }
}
