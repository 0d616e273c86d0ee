//! Where the lines of a body begin and end.

use memchr::{memchr, memchr_iter};
use workspace::LineEnding;

/// The place of one line in the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineSpan {
    pub(super) start: usize,
    /// Where the ending begins.
    pub(super) content_end: usize,
    /// Where the next line begins.
    pub(super) end: usize,
}

/// The lines of a body, numbered from 0, by the rule of [`workspace::Lines`]: LF ends a line, CR LF
/// counts as one ending, and a lone CR ends a line only in a body without any LF.
#[derive(Debug)]
pub(super) struct LineMap<'a> {
    body: &'a [u8],
    spans: Vec<LineSpan>,
    cr_only: bool,
}

impl<'a> LineMap<'a> {
    pub(super) fn of(body: &'a [u8]) -> Self {
        Self::new(body, memchr(b'\n', body).is_none())
    }

    /// The lines as diff and git see them: a lone CR never ends one.
    pub(super) fn ended_by_lf(body: &'a [u8]) -> Self {
        Self::new(body, false)
    }

    fn new(body: &'a [u8], cr_only: bool) -> Self {
        let mut spans = Vec::new();
        let mut start = 0;
        for at in memchr_iter(if cr_only { b'\r' } else { b'\n' }, body) {
            let has_cr = !cr_only && at > start && body[at - 1] == b'\r';
            spans.push(LineSpan { start, content_end: at - usize::from(has_cr), end: at + 1 });
            start = at + 1;
        }
        if start < body.len() {
            spans.push(LineSpan { start, content_end: body.len(), end: body.len() });
        }
        Self { body, spans, cr_only: cr_only && memchr(b'\r', body).is_some() }
    }

    pub(super) fn body(&self) -> &'a [u8] {
        self.body
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether a lone CR ends the lines.
    pub(super) fn cr_only(&self) -> bool {
        self.cr_only
    }

    pub(super) fn span(&self, line: usize) -> LineSpan {
        self.spans[line]
    }

    /// Where `line` begins; the end of the body for the line after the last.
    pub(super) fn start_of(&self, line: usize) -> usize {
        self.spans.get(line).map_or(self.body.len(), |span| span.start)
    }

    /// The line without its ending.
    pub(super) fn content(&self, line: usize) -> &'a [u8] {
        let span = self.spans[line];
        &self.body[span.start..span.content_end]
    }

    /// The lines without their endings.
    pub(super) fn contents(&self) -> impl Iterator<Item = &'a [u8]> {
        self.spans.iter().map(|span| &self.body[span.start..span.content_end])
    }

    pub(super) fn ending(&self, line: usize) -> LineEnding {
        let span = self.spans[line];
        match &self.body[span.content_end..span.end] {
            b"\n" => LineEnding::Lf,
            b"\r\n" => LineEnding::CrLf,
            b"\r" => LineEnding::Cr,
            _ => LineEnding::None,
        }
    }

    /// The line that holds the byte at `offset`. The end of the body belongs to the last line.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.spans.partition_point(|span| span.start <= offset).saturating_sub(1)
    }

    /// Whether the last line lacks an ending.
    pub(super) fn ends_open(&self) -> bool {
        self.spans.last().is_some_and(|span| span.content_end == span.end)
    }

    /// The ending for new text at `line`: the line's own, else that of the line before it, else the
    /// most frequent one of the file, else LF.
    pub(super) fn ending_near(&self, line: usize) -> LineEnding {
        let own = [Some(line), line.checked_sub(1)].into_iter().flatten();
        own.filter(|line| *line < self.len())
            .map(|line| self.ending(line))
            .find(|ending| *ending != LineEnding::None)
            .unwrap_or_else(|| self.dominant())
    }

    fn dominant(&self) -> LineEnding {
        if self.cr_only {
            return LineEnding::Cr;
        }
        let of = |wanted| (0..self.len()).filter(|line| self.ending(*line) == wanted).count();
        if of(LineEnding::CrLf) > of(LineEnding::Lf) { LineEnding::CrLf } else { LineEnding::Lf }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workspace::Text;

    use super::*;

    proptest! {
        #[test]
        fn lines_are_those_of_the_workspace(body in "[ab\r\n]{0,20}") {
            let text = Text::decode(body.as_bytes());
            let map = LineMap::of(text.body());
            let ours: Vec<_> =
                (0..map.len()).map(|line| (map.content(line), map.ending(line))).collect();
            prop_assert_eq!(ours, text.lines().collect::<Vec<_>>());
            for offset in 0..body.len() {
                let span = map.span(map.line_at(offset));
                prop_assert!((span.start..span.end).contains(&offset));
            }
        }
    }
}
