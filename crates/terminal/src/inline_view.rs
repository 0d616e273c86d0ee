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
    /// The end of the finished text, as far as it stands below what another program has written.
    kept: VecDeque<KeptLine>,
    /// Another program has written to the terminal.
    is_shared: bool,
}

/// A finished line, and the rows that it had when it was written last.
#[derive(Debug)]
struct KeptLine {
    text: String,
    rows: usize,
}

impl KeptLine {
    /// The rows of the line on a screen of so many columns.
    fn rows_at(&self, width: usize) -> usize {
        columns(&unpainted(&self.text)).div_ceil(width.max(1)).max(1)
    }
}

impl<W: Write> InlineView<W> {
    /// Begins at the start of a line of the terminal.
    pub fn new(out: W, size: ScreenSize) -> Self {
        let (drawn, kept) = (LiveLines::default(), VecDeque::new());
        Self { out, size, drawn, row: 0, kept, is_shared: false }
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

    /// Goes on below what another program has written meanwhile. The cursor stands at the start of a line, and the
    /// living part was cleared before.
    pub fn go_on(&mut self, size: ScreenSize) {
        self.size = size;
        self.drawn = LiveLines::default();
        self.row = 0;
        self.kept.clear();
        self.is_shared = true;
    }

    /// Whether lines of another program may be visible, which could not be written again.
    fn shows_others(&self, size: ScreenSize) -> bool {
        let own: usize = self.kept.iter().map(|line| line.rows_at(size.columns)).sum();
        self.is_shared && own < size.rows
    }

    /// Draws everything that is visible again, after the terminal has changed its size.
    pub fn redraw(&mut self, size: ScreenSize, live: &LiveLines) -> io::Result<usize> {
        if self.shows_others(size) {
            return self.redraw_below(size, live);
        }
        // The terminal may have wrapped the old rows anew, so where they are is not known. If it has not, this much of
        // them is visible, also in part, and lost if it is not written again.
        let is_lower = size.rows < self.size.rows;
        // Terminals that become lower drop rows below the cursor first.
        let living = if is_lower { self.row + 1 } else { self.drawn.lines.len() };
        let stood = size.rows.saturating_sub(living);
        let first_cleared = self.first_cleared(stood);
        self.size = size;
        let live = self.fitting(live);
        let mut out = format!("{BEGIN_UPDATE}{HIDE_CURSOR}{HOME}{CLEAR_BELOW}");
        let room = size.rows.saturating_sub(live.lines.len());
        let first = self.first_fitting(room).min(first_cleared);
        for line in self.kept.iter_mut().skip(first) {
            write_line(&line.text, &mut out);
            line.rows = line.rows_at(size.columns);
        }
        self.row = 0;
        self.write_rows(&live, &mut out);
        self.end(live, out)
    }

    /// Draws the living part again where it stands. Where the terminal has wrapped it anew, some of its old rows stay
    /// above it: whatever takes them away could take more than them.
    fn redraw_below(&mut self, size: ScreenSize, live: &LiveLines) -> io::Result<usize> {
        self.size = size;
        let live = self.fitting(live);
        let mut out = format!("{BEGIN_UPDATE}{HIDE_CURSOR}");
        self.row = self.row.min(size.rows.saturating_sub(1));
        self.go_to_row(0, &mut out);
        out.push_str(CLEAR_BELOW);
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
        self.is_shared = false;
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
            let _ = write!(out, "\r{CLEAR_LINE}{line}{}", end_of_inks(line));
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
            let _ = write!(out, "{end}{CLEAR_LINE}{line}{}", end_of_inks(line));
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
        let text = if line.len() > LONGEST_KEPT { self.cut(&line) } else { line };
        let mut kept = KeptLine { text, rows: 1 };
        kept.rows = kept.rows_at(self.size.columns);
        self.kept.push_back(kept);
    }

    /// The first kept line of those that fit into so many rows.
    fn first_fitting(&self, room: usize) -> usize {
        let mut left = room;
        let fits = |line: &&KeptLine| {
            let rest = left.checked_sub(line.rows_at(self.size.columns));
            left = rest.unwrap_or_default();
            rest.is_some()
        };
        self.kept.len() - self.kept.iter().rev().take_while(fits).count()
    }

    /// The first kept line that is in the last so many rows, at least in part, if they are as they were written.
    fn first_cleared(&self, rows: usize) -> usize {
        let mut below = 0;
        let is_seen = |line: &&KeptLine| {
            let is_seen = below < rows;
            below += line.rows;
            is_seen
        };
        self.kept.len() - self.kept.iter().rev().take_while(is_seen).count()
    }
}

/// Whatever the line holds, the terminal obeys nothing in it but our own attributes.
fn harmless_line(line: &str) -> String {
    harmless_but(line, &mut None, Ink::length_at_start)
}

/// A finished line; what is longer than the screen wraps, as the terminal does it.
fn write_line(line: &str, out: &mut String) {
    out.push_str(line);
    out.push_str(end_of_inks(line));
    out.push_str("\r\n");
}

/// Ends the attributes of a line. Where it has none, as without colours, none are written.
fn end_of_inks(line: &str) -> &'static str {
    if line.contains('\x1b') { PLAIN } else { "" }
}
