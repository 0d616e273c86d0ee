//! The screen of a conversation: finished text above, which the terminal keeps and scrolls like any other
//! output, and a few living lines below it, which are drawn again as they change.
//!
//! Every frame is one write between the marks of a synchronised update, moves the cursor only by rows
//! relative to where it was left, and writes only rows that differ. So nothing flickers, no answer of the
//! terminal has to be waited for, and a slow connection gets few bytes.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Write};

use timeline::safe_text::harmless_but;

use crate::columns::columns;
use crate::ink::Ink;
use crate::live_lines::{LiveLines, cut_painted, unpainted};

/// Finished lines that can be drawn again after a resize: more than a tall screen shows.
const KEPT_LINES: usize = 300;
/// Longer finished lines are not kept: they would fill the screen alone.
const LONGEST_KEPT: usize = 16 * 1024;

/// The terminal shows what follows at once, not piece by piece. Others ignore it.
const BEGIN_UPDATE: &str = "\x1b[?2026h";
const END_UPDATE: &str = "\x1b[?2026l";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const CLEAR_BELOW: &str = "\x1b[J";
/// The screen, and what has scrolled out of it.
const CLEAR_ALL: &str = "\x1b[2J\x1b[3J";
const CLEAR_LINE: &str = "\x1b[K";
const HOME: &str = "\x1b[H";
const PLAIN: &str = "\x1b[0m";

/// The columns and rows of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenSize {
    /// Characters on a line.
    pub columns: usize,
    /// Lines that are visible.
    pub rows: usize,
}

/// Writes both parts.
#[derive(Debug)]
pub struct InlineView<W> {
    out: W,
    size: ScreenSize,
    /// The living lines as they stand on the screen.
    drawn: LiveLines,
    /// The row of the living part that the cursor is in.
    row: usize,
    /// The end of the finished text.
    kept: VecDeque<String>,
}

impl<W: Write> InlineView<W> {
    /// Begins at the start of a line of the terminal.
    pub fn new(out: W, size: ScreenSize) -> Self {
        Self { out, size, drawn: LiveLines::default(), row: 0, kept: VecDeque::new() }
    }

    /// The size that is drawn for.
    pub fn size(&self) -> ScreenSize {
        self.size
    }

    /// Adds whole lines to the finished text, and shows `live` below them. Answers with the bytes
    /// that were written.
    pub fn frame(&mut self, finished: &str, live: &LiveLines) -> io::Result<usize> {
        let live = self.fitting(live);
        if finished.is_empty() && live == self.drawn {
            return Ok(0);
        }
        let mut out = String::from(BEGIN_UPDATE);
        out.push_str(HIDE_CURSOR);
        if finished.is_empty() {
            self.change_rows(&live, &mut out);
        } else {
            self.go_to_row(0, &mut out);
            out.push_str(CLEAR_BELOW);
            for line in finished.lines() {
                let line = harmless_line(line);
                write_line(&line, &mut out);
                self.keep(line);
            }
            self.write_rows(&live, &mut out);
        }
        self.end(live, out)
    }

    /// Draws everything that is visible again, after the terminal has changed its size or was used by
    /// another program.
    pub fn redraw(&mut self, size: ScreenSize, live: &LiveLines) -> io::Result<usize> {
        self.size = size;
        let live = self.fitting(live);
        let mut out = format!("{BEGIN_UPDATE}{HIDE_CURSOR}{HOME}{CLEAR_BELOW}");
        // The terminal may have wrapped the old rows anew, so where they are is not known.
        let room = size.rows.saturating_sub(live.lines.len());
        for line in self.kept.iter().skip(self.first_visible(room)) {
            write_line(line, &mut out);
        }
        self.row = 0;
        self.write_rows(&live, &mut out);
        self.end(live, out)
    }

    /// Takes the living part away, so that something else can be written below the finished text.
    pub fn clear(&mut self) -> io::Result<()> {
        let mut out = String::new();
        self.go_to_row(0, &mut out);
        out.push_str(CLEAR_BELOW);
        out.push_str(SHOW_CURSOR);
        self.drawn = LiveLines::default();
        self.out.write_all(out.as_bytes())?;
        self.out.flush()
    }

    /// Empties the screen and its memory.
    pub fn erase(&mut self) -> io::Result<()> {
        self.drawn = LiveLines::default();
        self.row = 0;
        self.kept.clear();
        self.out.write_all(format!("{HOME}{CLEAR_ALL}").as_bytes())?;
        self.out.flush()
    }

    /// Writes a sequence that moves no cursor and shows nothing, such as a bell.
    pub fn ring(&mut self, sequence: &str) -> io::Result<()> {
        self.out.write_all(sequence.as_bytes())?;
        self.out.flush()
    }

    /// The end of `live` if the screen cannot show all of it, and no line wider than the screen.
    fn fitting(&self, live: &LiveLines) -> LiveLines {
        let most = self.size.rows.saturating_sub(1).max(1);
        let hidden = live.lines.len().saturating_sub(most);
        let lines = live.lines[hidden..].iter().map(|line| self.cut(line)).collect();
        let cursor = live.cursor.and_then(|(row, column)| {
            let column = column.min(self.size.columns.saturating_sub(1));
            Some((row.checked_sub(hidden)?, column))
        });
        LiveLines { lines, cursor }
    }

    /// A line that is too wide would wrap and move everything below it.
    fn cut(&self, line: &str) -> String {
        let line = harmless_line(line);
        if columns(&unpainted(&line)) <= self.size.columns {
            return line;
        }
        cut_painted(&line, self.size.columns)
    }

    /// Writes the rows that differ from what stands on the screen.
    fn change_rows(&mut self, live: &LiveLines, out: &mut String) {
        let before = std::mem::take(&mut self.drawn.lines);
        for (row, line) in live.lines.iter().enumerate() {
            if before.get(row) == Some(line) {
                continue;
            }
            if row < before.len() || row == 0 {
                self.go_to_row(row, out);
            } else {
                self.go_to_row(row - 1, out);
                out.push_str("\r\n");
                self.row = row;
            }
            let _ = write!(out, "\r{CLEAR_LINE}{line}{PLAIN}");
        }
        if before.len() > live.lines.len() {
            if live.lines.is_empty() {
                self.go_to_row(0, out);
                out.push_str(CLEAR_BELOW);
            } else {
                // The row below exists: it was drawn before.
                self.go_to_row(live.lines.len(), out);
                out.push_str(CLEAR_BELOW);
            }
        }
    }

    /// Writes all rows from where the cursor stands, at the start of a line.
    fn write_rows(&mut self, live: &LiveLines, out: &mut String) {
        for (row, line) in live.lines.iter().enumerate() {
            let end = if row == 0 { "" } else { "\r\n" };
            let _ = write!(out, "{end}{CLEAR_LINE}{line}{PLAIN}");
            self.row = row;
        }
    }

    /// Leaves the cursor where the living part wants it, and writes the frame.
    fn end(&mut self, live: LiveLines, mut out: String) -> io::Result<usize> {
        if let Some((row, column)) = live.cursor {
            self.go_to_row(row, &mut out);
            if column > 0 {
                let _ = write!(out, "\x1b[{column}C");
            }
            out.push_str(SHOW_CURSOR);
        }
        out.push_str(END_UPDATE);
        self.drawn = live;
        self.out.write_all(out.as_bytes())?;
        self.out.flush()?;
        Ok(out.len())
    }

    /// Moves to the start of a row of the living part that is on the screen.
    fn go_to_row(&mut self, row: usize, out: &mut String) {
        out.push('\r');
        if row < self.row {
            let _ = write!(out, "\x1b[{}A", self.row - row);
        } else if row > self.row {
            let _ = write!(out, "\x1b[{}B", row - self.row);
        }
        self.row = row;
    }

    fn keep(&mut self, line: String) {
        if self.kept.len() == KEPT_LINES {
            self.kept.pop_front();
        }
        let kept = if line.len() > LONGEST_KEPT { self.cut(&line) } else { line };
        self.kept.push_back(kept);
    }

    /// The first kept line that is visible if the kept lines have so many rows.
    fn first_visible(&self, room: usize) -> usize {
        let width = self.size.columns.max(1);
        let mut left = room;
        for (index, line) in self.kept.iter().enumerate().rev() {
            let rows = columns(&unpainted(line)).div_ceil(width).max(1);
            match left.checked_sub(rows) {
                Some(rest) => left = rest,
                None => return index + 1,
            }
        }
        0
    }
}

/// Whatever the line holds, the terminal obeys nothing in it but our own attributes.
fn harmless_line(line: &str) -> String {
    harmless_but(line, &mut None, Ink::length_at_start)
}

/// A finished line; what is longer than the screen wraps, as the terminal does it.
fn write_line(line: &str, out: &mut String) {
    out.push_str(line);
    out.push_str(PLAIN);
    out.push_str("\r\n");
}
