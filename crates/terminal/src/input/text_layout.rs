//! Where the units of a text stand when it is wrapped.

use std::borrow::Cow;
use std::ops::Range;

use timeline::safe_text::harmless;

use super::edit_buffer::{EditBuffer, EditUnit, units_of};
use crate::columns;
use crate::columns::fit;

/// What a tab looks like.
const TAB: &str = "    ";

/// A text in rows of at most `width` columns.
pub(crate) struct TextLayout {
    /// The units of each row. A line break belongs to the row that it ends.
    pub(crate) rows: Vec<Range<usize>>,
    width: usize,
}

impl TextLayout {
    pub(crate) fn new(units: &[EditUnit], width: usize) -> Self {
        let width = width.max(1);
        let mut rows = Vec::new();
        let (mut start, mut used) = (0, 0);
        let mut after_blank = None;
        let mut at = 0;
        while at < units.len() {
            let unit = &units[at];
            if unit.is_newline() {
                rows.push(start..at + 1);
                (start, used, after_blank) = (at + 1, 0, None);
                at += 1;
                continue;
            }
            let needed = columns(&shown(unit, width));
            // A blank between words may stand where the cursor has its place behind the text.
            let room = if unit.is_blank() && needed == 1 { width + 1 } else { width };
            if used + needed > room && at > start {
                // Words stay whole where a row holds more than one of them.
                let end = after_blank.filter(|_| !unit.is_blank()).unwrap_or(at);
                rows.push(start..end);
                (start, used, after_blank) = (end, 0, None);
                at = end;
                continue;
            }
            used += needed;
            at += 1;
            if unit.is_blank() {
                after_blank = Some(at);
            }
        }
        rows.push(start..units.len());
        Self { rows, width }
    }

    /// The row that the cursor stands in.
    pub(crate) fn row_of(&self, cursor: usize) -> usize {
        self.rows.iter().rposition(|row| row.start <= cursor).unwrap_or(0)
    }

    /// The column that the cursor stands in.
    pub(crate) fn column_of(&self, units: &[EditUnit], cursor: usize) -> usize {
        let row = &self.rows[self.row_of(cursor)];
        units[row.start..cursor].iter().map(|unit| columns(&shown(unit, self.width))).sum()
    }

    /// The place in `row` that is nearest to `column` and not behind it.
    pub(crate) fn at_column(&self, units: &[EditUnit], row: usize, column: usize) -> usize {
        let range = self.rows[row].clone();
        let is_last = row + 1 == self.rows.len();
        // The end of a wrapped row is the beginning of the next.
        let last = if is_last { range.end } else { range.end.saturating_sub(1).max(range.start) };
        let mut used = 0;
        for (at, unit) in units.iter().enumerate().take(last).skip(range.start) {
            used += columns(&shown(unit, self.width));
            if used > column {
                return at;
            }
        }
        last
    }

    pub(crate) fn shown<'a>(&self, unit: &'a EditUnit) -> Cow<'a, str> {
        shown(unit, self.width)
    }
}

/// A unit as it is drawn.
fn shown(unit: &EditUnit, width: usize) -> Cow<'_, str> {
    match unit {
        EditUnit::Grapheme(text) if text == "\n" => "".into(),
        // Most units are these, and a long text is laid out at every key.
        EditUnit::Grapheme(text) if matches!(text.as_bytes(), [b' '..=b'~']) => text.into(),
        EditUnit::Grapheme(text) if text == "\t" => fit(TAB, width).into(),
        EditUnit::Grapheme(text) => fit(&harmless(text), width).into(),
        EditUnit::Chip(chip) => fit(&harmless(&chip.label), width).into(),
    }
}

/// A text in lines of at most `width` columns, with nothing left out.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let units = units_of(text);
    let layout = TextLayout::new(&units, width);
    let row = |row: &Range<usize>| {
        let line: String = units[row.clone()].iter().map(|unit| layout.shown(unit)).collect();
        line.trim_end().to_owned()
    };
    layout.rows.iter().map(row).collect()
}

impl EditBuffer {
    /// The part of a text on one line that is shown in `width` columns, and the column of the cursor in it.
    pub(crate) fn window(&self, width: usize) -> (String, usize) {
        let drawn: Vec<Cow<'_, str>> = self.units().iter().map(|unit| shown(unit, width)).collect();
        let width_of = |range: Range<usize>| drawn[range].iter().map(|text| columns(text)).sum();
        let mut start = 0;
        while width_of(start..self.cursor()) > width {
            start += 1;
        }
        let mut end = self.cursor();
        while end < drawn.len() && width_of(start..end + 1) <= width {
            end += 1;
        }
        (drawn[start..end].concat(), width_of(start..self.cursor()))
    }
}
