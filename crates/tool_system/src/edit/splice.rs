//! Putting new bytes in the place of old ones.

use std::ops::Range;

use serde::Serialize;

use super::line_map::LineMap;

/// New bytes for one span of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) bytes: Vec<u8>,
}

/// Lines, numbered from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct LineRange {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// One place that an edit changed. An empty span is reported as the line where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Changed {
    /// The bytes that were replaced, in the old body.
    pub(crate) before: Range<usize>,
    /// The bytes that replaced them, in the new body.
    pub(crate) after: Range<usize>,
    /// The lines of `before`.
    pub(crate) old_lines: LineRange,
    /// The lines of `after`.
    pub(crate) new_lines: LineRange,
}

impl LineRange {
    fn of(map: &LineMap<'_>, span: &Range<usize>) -> Self {
        let last = span.end.saturating_sub(1).max(span.start);
        Self { start: map.line_at(span.start) + 1, end: map.line_at(last) + 1 }
    }
}

/// The body with every splice made, and where. The splices are in order and do not overlap.
pub(super) fn apply_splices(map: &LineMap<'_>, splices: &[Splice]) -> (Vec<u8>, Vec<Changed>) {
    let body = map.body();
    let mut edited = Vec::with_capacity(body.len());
    let mut copied = 0;
    let mut spans = Vec::with_capacity(splices.len());
    for splice in splices {
        edited.extend_from_slice(&body[copied..splice.range.start]);
        let start = edited.len();
        edited.extend_from_slice(&splice.bytes);
        spans.push((splice.range.clone(), start..edited.len()));
        copied = splice.range.end;
    }
    edited.extend_from_slice(&body[copied..]);
    let new_map = LineMap::of(&edited);
    let changed = spans
        .into_iter()
        .map(|(before, after)| Changed {
            old_lines: LineRange::of(map, &before),
            new_lines: LineRange::of(&new_map, &after),
            before,
            after,
        })
        .collect();
    (edited, changed)
}
