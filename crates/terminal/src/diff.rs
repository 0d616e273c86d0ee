//! Changes of files as they are read: a list of the files, and their lines with numbers, colours and the
//! words that differ. Every line of the view can be traced back to its file, hunk and line.

mod line_text;
mod rows;
#[cfg(test)]
mod tests;
mod unified_text;

use std::ops::Range;

use protocol::FileDiff;

pub(crate) use unified_text::read_unified;

use crate::columns::{StyledText, painted};
use crate::ink::Ink;
use crate::output_style::OutputStyle;
use rows::{DiffRow, Layout};

/// From this width on both sides stand beside each other.
const SPLIT_WIDTH: usize = 160;
/// Narrower screens are drawn as if they had this many columns.
pub(crate) const NARROWEST_DIFF: usize = 14;

/// A line of a file that a diff shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The index of the file in the diff.
    pub file: usize,
    /// The index of the hunk in its file.
    pub hunk: usize,
    /// The index of the line in its hunk. Where two lines stand beside each other it is the new one.
    pub line: usize,
    /// Its number before the change, from 1; none if it comes.
    pub old: Option<usize>,
    /// Its number after the change, from 1; none if it goes.
    pub new: Option<usize>,
}

/// The lines of a diff on a screen of some width. Long lines take several of them, so nothing is hidden.
#[derive(Debug)]
pub struct DiffView {
    style: OutputStyle,
    rows: Vec<DiffRow>,
}

impl DiffView {
    /// Lays out all of `diffs`; a view is made anew when the width has changed.
    pub fn new(diffs: &[FileDiff], style: OutputStyle) -> DiffView {
        let style = OutputStyle { width: style.width.max(NARROWEST_DIFF), ..style };
        let layout = Layout { width: style.width, is_split: style.width >= SPLIT_WIDTH };
        DiffView { style, rows: layout.rows(diffs) }
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is nothing to see.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Some of the lines, each without its end. A range that is not there has none.
    pub fn lines(&self, range: Range<usize>) -> Vec<String> {
        let end = range.end.min(self.rows.len());
        let rows = self.rows.get(range.start.min(end)..end).unwrap_or_default();
        rows.iter().map(|row| painted(&row.pieces, self.style)).collect()
    }

    /// The index of the file that a line belongs to. In the list of files it is the first on the line.
    pub fn file_at(&self, line: usize) -> Option<usize> {
        self.rows.get(line)?.file
    }

    /// The index of the hunk, within its file, that a line belongs to.
    pub fn hunk_at(&self, line: usize) -> Option<usize> {
        self.rows.get(line)?.hunk
    }

    /// The line of a file that a line shows, so that a comment can be about it.
    pub fn source_line_at(&self, line: usize) -> Option<SourceLine> {
        self.rows.get(line)?.source
    }

    /// The first line below the list of files.
    pub fn first_change(&self) -> usize {
        self.rows.iter().take_while(|row| row.is_list).count()
    }

    /// The lines from `from` on, or the first `most` of them and how many more there are.
    pub fn cut(&self, from: usize, most: usize) -> Vec<String> {
        let left = self.rows.len().saturating_sub(from);
        // A line that says "1 more line" takes as much room as the line.
        let shown = if left <= most + 1 { left } else { most };
        let mut lines = self.lines(from..from + shown);
        if shown < left {
            let more = format!("… {} more lines", left - shown);
            lines.push(painted(&[StyledText::new(Ink::DIM, more)], self.style));
        }
        lines
    }
}
