//! What becomes of a run of whole lines: which of them stay, which go and what is added.

use workspace::LineEnding;

use super::endings::{align, endings_for};
use super::grade::{Grade, indentation_len, trim_end};
use super::line_map::LineMap;
use super::locate::{EditPlace, WantedLine};
use super::splice::Splice;

/// One line of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineStep<'a> {
    /// The wanted line of this index, with the file's own bytes.
    Keep(usize),
    Add(NewLine<'a>),
}

/// A line that the file does not have yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NewLine<'a> {
    /// Without the CR of a CR LF.
    pub(super) content: &'a [u8],
    /// Its ending, or `None` if it takes that of its neighbours.
    pub(super) ending: Option<LineEnding>,
}

/// A change of whole lines, before it has a place in a file.
#[derive(Debug, Clone)]
pub(super) struct LineScript<'a> {
    pub(super) wanted: Vec<WantedLine<'a>>,
    pub(super) steps: Vec<LineStep<'a>>,
    /// Whether a new last line of a file that ends without a line ending has none either.
    pub(super) keep_open: bool,
}

impl<'a> LineScript<'a> {
    /// The change from the lines `search` to the lines `replace`.
    pub(super) fn of_lines(search: &[&'a [u8]], replace: &[&'a [u8]], grade: Grade) -> Self {
        let key = |line: &&'a [u8]| match grade >= Grade::TrailingWhitespace {
            true => trim_end(line),
            false => *line,
        };
        let keys = |lines: &[&'a [u8]]| lines.iter().map(key).collect::<Vec<_>>();
        let aligned = align(&keys(search), &keys(replace));
        let steps = aligned.iter().zip(replace).map(|(kept, content)| match kept {
            Some(line) => LineStep::Keep(*line),
            None => LineStep::Add(NewLine { content, ending: None }),
        });
        let wanted = search.iter().map(|content| WantedLine { content, ended: true });
        Self { wanted: wanted.collect(), steps: steps.collect(), keep_open: true }
    }

    /// The indentations of the lines that are added. Empty lines have none.
    pub(super) fn new_indentations(&self) -> Vec<&'a [u8]> {
        let added = self.steps.iter().filter_map(|step| match step {
            LineStep::Add(new) => Some(new.content),
            LineStep::Keep(_) => None,
        });
        added
            .filter(|line| !line.trim_ascii().is_empty())
            .map(|line| &line[..indentation_len(line)])
            .collect()
    }

    /// The bytes to put in the place that was found.
    pub(super) fn render(&self, map: &LineMap<'_>, place: &EditPlace) -> Splice {
        let first = place.line;
        let after = first + self.wanted.len();
        let range = map.start_of(first)..map.start_of(after);
        let near = if self.wanted.is_empty() { first.saturating_sub(1) } else { first };
        let fallback = map.ending_near(near);
        let endings = self.endings(map, place, fallback);
        let mut bytes = Vec::new();
        if range.is_empty() && first > 0 && first == map.len() && map.ends_open() {
            bytes.extend_from_slice(fallback.as_bytes());
        }
        for (step, ending) in self.steps.iter().zip(endings) {
            match step {
                LineStep::Keep(line) => bytes.extend_from_slice(map.content(first + line)),
                LineStep::Add(new) => bytes.extend_from_slice(&indented(new.content, place)),
            }
            bytes.extend_from_slice(ending.as_bytes());
        }
        Splice { range, bytes }
    }

    fn endings(
        &self,
        map: &LineMap<'_>,
        place: &EditPlace,
        fallback: LineEnding,
    ) -> Vec<LineEnding> {
        let lines = place.line..place.line + self.wanted.len();
        let aligned: Vec<Option<usize>> = self
            .steps
            .iter()
            .map(|step| match step {
                LineStep::Keep(line) => Some(*line),
                LineStep::Add(_) => None,
            })
            .collect();
        let old: Vec<LineEnding> = lines.clone().map(|line| map.ending(line)).collect();
        let mut endings = endings_for(&aligned, &old, fallback);
        for (ending, step) in endings.iter_mut().zip(&self.steps) {
            if let LineStep::Add(NewLine { ending: Some(given), .. }) = step {
                *ending = *given;
            }
        }
        let at_end = lines.end == map.len();
        let last = endings.len().saturating_sub(1);
        for (at, ending) in endings.iter_mut().enumerate() {
            let open = at_end && at == last;
            if *ending == LineEnding::None && !open {
                *ending = fallback;
            }
            // An empty line without an ending would be no line.
            let may_be_open = match self.steps[at] {
                LineStep::Add(new) => {
                    new.ending.is_none() && !indented(new.content, place).is_empty()
                }
                LineStep::Keep(_) => false,
            };
            if open && may_be_open && self.keep_open && map.ends_open() {
                *ending = LineEnding::None;
            }
        }
        endings
    }
}

/// A new line with the indentation that it has in the file.
fn indented(content: &[u8], place: &EditPlace) -> Vec<u8> {
    if place.reindent.is_same() {
        return content.to_vec();
    }
    if content.trim_ascii().is_empty() {
        return Vec::new();
    }
    let (indentation, rest) = content.split_at(indentation_len(content));
    // A place is only found when every new indentation has its counterpart.
    let indentation = place.reindent.apply(indentation).unwrap_or_default();
    [indentation.as_ref(), rest].concat()
}
