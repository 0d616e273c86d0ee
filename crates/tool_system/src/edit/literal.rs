//! Finding a text in a body, whatever the endings of its lines.

use std::ops::Range;

use memchr::memmem;

use super::line_map::LineMap;

/// What counts as an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    /// From left to right, none overlapping another: what a replacement of all occurrences needs.
    Apart,
    /// Every place where the text stands, up to this many: what the question whether it is unique
    /// needs. The end of the file stands for a missing last line ending.
    Everywhere(usize),
}

/// The places where `find` stands in the body. A `\n` in `find` matches any line ending of the
/// file.
pub(super) fn occurrences(map: &LineMap<'_>, find: &str, counting: Counting) -> Vec<Range<usize>> {
    match find.contains('\n') {
        true => across_lines(map, find, counting),
        false => within_lines(map.body(), find.as_bytes(), counting),
    }
}

fn within_lines(body: &[u8], find: &[u8], counting: Counting) -> Vec<Range<usize>> {
    match counting {
        Counting::Apart => memmem::find_iter(body, find).map(|at| at..at + find.len()).collect(),
        Counting::Everywhere(limit) => everywhere(body, find, limit),
    }
}

/// The places where exactly these bytes stand, overlapping ones included, up to `limit` of them.
pub(super) fn everywhere(body: &[u8], find: &[u8], limit: usize) -> Vec<Range<usize>> {
    let finder = memmem::Finder::new(find);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < limit
        && let Some(at) = body.get(from..).and_then(|rest| finder.find(rest))
    {
        found.push(from + at..from + at + find.len());
        from += at + 1;
    }
    found
}

fn across_lines(map: &LineMap<'_>, find: &str, counting: Counting) -> Vec<Range<usize>> {
    let mut middle: Vec<&[u8]> = find.split('\n').map(str::as_bytes).collect();
    let last = middle.pop().unwrap_or_default();
    let first = middle.remove(0);
    let open_end = counting != Counting::Apart;
    let mut found: Vec<Range<usize>> = Vec::new();
    for line in 0..map.len() {
        let Some(span) = standing_at(map, line, first, &middle, last, open_end) else { continue };
        match counting {
            Counting::Apart if found.last().is_some_and(|last| last.end > span.start) => {}
            Counting::Everywhere(limit) if found.len() == limit => break,
            _ => found.push(span),
        }
    }
    found
}

/// The span of `first`, the whole lines `middle` and `last`, if `first` ends `line`.
fn standing_at(
    map: &LineMap<'_>,
    line: usize,
    first: &[u8],
    middle: &[&[u8]],
    last: &[u8],
    open_end: bool,
) -> Option<Range<usize>> {
    if !map.content(line).ends_with(first) {
        return None;
    }
    let last_line = line + middle.len() + 1;
    let whole = line + 1..last_line;
    if last_line > map.len() || whole.zip(middle).any(|(at, wanted)| map.content(at) != *wanted) {
        return None;
    }
    let start = map.span(line).content_end - first.len();
    if last_line < map.len() {
        let end = map.span(last_line).start + last.len();
        return map.content(last_line).starts_with(last).then_some(start..end);
    }
    let ended = !map.ends_open() || open_end;
    (last.is_empty() && ended).then_some(start..map.body().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_match_any_ending() {
        let everywhere = Counting::Everywhere(9);
        type Row<'a> = (&'a str, &'a str, Counting, &'a [(usize, usize)]);
        let table: &[Row<'_>] = &[
            ("a\r\nb\na\nb", "a\nb", Counting::Apart, &[(0, 4), (5, 8)]),
            ("aaa", "aa", Counting::Apart, &[(0, 2)]),
            ("aaa", "aa", everywhere, &[(0, 2), (1, 3)]),
            ("a\na\na\n", "a\na", Counting::Apart, &[(0, 3)]),
            ("a\n\nb", "\n", Counting::Apart, &[(1, 2), (2, 3)]),
            ("x\r\n\r\ny", "\n\n", Counting::Apart, &[(1, 5)]),
            ("a\rb\r", "a\nb\n", everywhere, &[(0, 4)]),
            ("a\nb", "b\n", Counting::Apart, &[]),
            ("a\nb", "b\n", everywhere, &[(2, 3)]),
            ("xa\nbx", "a\nb", everywhere, &[(1, 4)]),
        ];
        for (body, find, counting, expected) in table {
            let map = LineMap::of(body.as_bytes());
            let found: Vec<_> = occurrences(&map, find, *counting)
                .into_iter()
                .map(|span| (span.start, span.end))
                .collect();
            assert_eq!(found, *expected, "{find:?} in {body:?}");
        }
    }
}
