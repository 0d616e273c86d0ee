//! The screen model: what a terminal shows after the bytes that were written to it.

use std::num::NonZeroU16;

use vt100::{Callbacks, Parser, Screen};

/// Marks of a synchronised update.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";
const ESCAPE: u8 = 0x1b;
/// Lines that are kept when they scroll out of the screen, as terminals do it by default.
const KEPT_ROWS: usize = 10_000;
/// Bytes that are kept as they were written. A program that writes more is not looked at byte by byte.
const KEPT_BYTES: usize = 8 * 1024 * 1024;

/// A screen that shows updates when they are complete.
pub(super) struct Shown {
    parser: Parser<NotDrawn>,
    /// Bytes that are not shown yet: an update that is not complete, or what may be the first half
    /// of a mark.
    pending: Vec<u8>,
    is_in_update: bool,
    bytes: u64,
    written: Vec<u8>,
    updates: Vec<usize>,
}

/// What a program writes to a terminal without drawing.
#[derive(Default)]
struct NotDrawn {
    /// How often the program has asked for the keyboard protocol that tells more keys apart, less how often
    /// it has taken that back.
    keyboard_levels: u16,
    bells: usize,
}

impl Callbacks for NotDrawn {
    fn audible_bell(&mut self, _: &mut Screen) {
        self.bells += 1;
    }

    fn unhandled_csi(
        &mut self,
        _: &mut Screen,
        mark: Option<u8>,
        _: Option<u8>,
        parameters: &[&[u16]],
        end: char,
    ) {
        let first = parameters.first().and_then(|numbers| numbers.first()).copied();
        match (mark, end) {
            (Some(b'>'), 'u') => self.keyboard_levels = self.keyboard_levels.saturating_add(1),
            (Some(b'<'), 'u') => {
                let levels = first.unwrap_or(1).max(1);
                self.keyboard_levels = self.keyboard_levels.saturating_sub(levels);
            }
            _ => {}
        }
    }
}

impl Shown {
    pub(super) fn new(columns: u16, rows: u16) -> Self {
        let (rows, columns) = size(columns, rows);
        let parser = Parser::new_with_callbacks(rows, columns, KEPT_ROWS, NotDrawn::default());
        let (pending, written, updates) = (Vec::new(), Vec::new(), Vec::new());
        Self { parser, pending, is_in_update: false, bytes: 0, written, updates }
    }

    pub(super) fn screen(&self) -> &Screen {
        self.parser.screen()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn written(&self) -> &[u8] {
        &self.written
    }

    pub(super) fn take_written(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.written)
    }

    pub(super) fn take_updates(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.updates)
    }

    pub(super) fn keyboard_levels(&self) -> u16 {
        self.parser.callbacks().keyboard_levels
    }

    pub(super) fn bells(&self) -> usize {
        self.parser.callbacks().bells
    }

    pub(super) fn is_in_update(&self) -> bool {
        self.is_in_update
    }

    pub(super) fn resize(&mut self, columns: u16, rows: u16) {
        let (rows, columns) = size(columns, rows);
        self.parser.set_size(rows, columns);
    }

    /// Takes in what the program has written.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let room = KEPT_BYTES.saturating_sub(self.written.len());
        self.written.extend_from_slice(&bytes[..bytes.len().min(room)]);
        // An unfinished update has been searched but for what may be the first half of a mark.
        let mut from = self.pending.len().saturating_sub(END.len() - 1);
        self.pending.extend_from_slice(bytes);
        loop {
            let mark = if self.is_in_update { END } else { BEGIN };
            match (find(&self.pending[from..], mark), self.is_in_update) {
                (Some(at), true) => {
                    let length = from + at + END.len();
                    self.updates.push(length);
                    self.show(length);
                    self.is_in_update = false;
                }
                (Some(at), false) => {
                    self.show(from + at);
                    self.is_in_update = true;
                }
                (None, true) => return,
                (None, false) => {
                    let half = half_at_end(&self.pending, BEGIN);
                    self.show(self.pending.len() - half);
                    return;
                }
            }
            from = 0;
        }
    }

    /// Shows what is left when nothing more comes.
    pub(super) fn end(&mut self) {
        self.show(self.pending.len());
    }

    fn show(&mut self, count: usize) {
        self.parser.process(&self.pending[..count]);
        self.pending.drain(..count);
    }

    /// The lines that have scrolled out, and those of the screen.
    pub(super) fn text(&mut self) -> String {
        let screen = self.parser.screen_mut();
        let height = usize::from(screen.size().0.get());
        let mut lines: Vec<String> = Vec::new();
        let mut above = screen.scrollback_len();
        while above > 0 {
            screen.set_scrollback(above);
            let count = above.min(height);
            lines.extend(screen.rows(0, u16::MAX).take(count));
            above -= count;
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, u16::MAX));
        without_blank_ends(lines)
    }

    /// The screen in a frame, with the row of the cursor marked.
    pub(super) fn drawn(&self) -> String {
        let screen = self.screen();
        let (cursor_row, cursor_column) = screen.cursor_position();
        let columns = usize::from(screen.size().1.get());
        let mut text = format!(
            "Its screen, with the cursor in row {cursor_row}, column {cursor_column}{}:\n┌{}┐\n",
            if self.is_in_update { ", and an unfinished update" } else { "" },
            "─".repeat(columns),
        );
        for (row, line) in screen.rows(0, u16::MAX).enumerate() {
            let mark = if row == usize::from(cursor_row) { "◂" } else { "" };
            text += &format!("│{line}{mark}\n");
        }
        text + &format!("└{}┘\n{} rows above it", "─".repeat(columns), screen.scrollback_len())
    }
}

fn size(columns: u16, rows: u16) -> (NonZeroU16, NonZeroU16) {
    let positive = |number: u16| NonZeroU16::new(number).expect("a screen has rows and columns");
    (positive(rows), positive(columns))
}

fn without_blank_ends(mut lines: Vec<String>) -> String {
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n")
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == ESCAPE) {
        if bytes[from + at..].starts_with(mark) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

/// How many bytes at the end may become `mark`.
fn half_at_end(bytes: &[u8], mark: &[u8]) -> usize {
    (1..mark.len()).rev().find(|&count| bytes.ends_with(&mark[..count])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_shown_when_it_is_complete_wherever_it_is_cut() {
        let stream = b"a\x1b[?2026hbc\x1b[?2026ld\x1b[?2026h\x1b[31me\x1b[?2026l";
        for cut in 0..=stream.len() {
            let mut shown = Shown::new(10, 2);
            shown.feed(&stream[..cut]);
            let seen = shown.screen().contents();
            assert!(["", "a", "abc", "abcd", "abcde"].contains(&&*seen), "{cut}: {seen}");
            shown.feed(&stream[cut..]);
            assert_eq!(shown.screen().contents(), "abcde", "{cut}");
            assert_eq!(shown.take_updates(), [18, 22], "{cut}");
        }
        let mut shown = Shown::new(10, 2);
        stream.chunks(1).for_each(|byte| shown.feed(byte));
        assert_eq!(shown.take_updates(), [18, 22]);
        assert_eq!(shown.bytes(), stream.len() as u64);
    }

    #[test]
    fn an_update_without_an_end_is_shown_at_the_end_and_told() {
        let mut shown = Shown::new(10, 2);
        shown.feed(b"\x1b[?2026hlost");
        assert_eq!(shown.screen().contents(), "");
        assert!(shown.drawn().contains("an unfinished update"));
        shown.end();
        assert_eq!(shown.screen().contents(), "lost");
        assert!(shown.is_in_update());
    }

    #[test]
    fn lines_that_scrolled_out_are_part_of_the_text_in_their_order() {
        let mut shown = Shown::new(10, 3);
        for number in 1..=20 {
            shown.feed(format!("{number}  \r\n").as_bytes());
        }
        let expected: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
        assert_eq!(shown.text(), expected.join("\n"));
        assert_eq!(shown.screen().scrollback(), 0);
    }

    #[test]
    fn levels_of_the_keyboard_protocol_are_counted() {
        let mut shown = Shown::new(10, 2);
        shown.feed(b"\x1b[>1u\x1b[>1u");
        assert_eq!(shown.keyboard_levels(), 2);
        shown.feed(b"\x1b[<u");
        assert_eq!(shown.keyboard_levels(), 1);
        shown.feed(b"\x1b[<2u");
        assert_eq!(shown.keyboard_levels(), 0);
    }
}
