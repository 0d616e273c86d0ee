use std::num::NonZeroU16;

use proptest::prelude::*;

use super::*;

/// A terminal that remembers what was written to it.
struct FakeTerminal {
    parser: vt100::Parser,
    view: InlineView<Vec<u8>>,
}

impl FakeTerminal {
    fn new(columns: usize, rows: usize) -> Self {
        let parser = vt100::Parser::new(cells(rows), cells(columns), 1000);
        Self { parser, view: InlineView::new(Vec::new(), ScreenSize { columns, rows }) }
    }

    fn frame(&mut self, finished: &str, live: &LiveLines) -> usize {
        let written = self.view.frame(finished, live).unwrap();
        self.pass_on();
        written
    }

    fn resize(&mut self, columns: usize, rows: usize, live: &LiveLines) {
        self.parser.screen_mut().set_size(cells(rows), cells(columns));
        self.view.redraw(ScreenSize { columns, rows }, live).unwrap();
        self.pass_on();
    }

    fn pass_on(&mut self) {
        self.parser.process(&std::mem::take(&mut self.view.out));
    }

    fn screen(&self) -> String {
        self.parser.screen().contents()
    }

    fn cursor(&self) -> (usize, usize) {
        let (row, column) = self.parser.screen().cursor_position();
        (row.into(), column.into())
    }
}

fn cells(count: usize) -> NonZeroU16 {
    NonZeroU16::new(count as u16).unwrap()
}

fn live(lines: &[&str], cursor: (usize, usize)) -> LiveLines {
    LiveLines { lines: lines.iter().map(|line| (*line).to_owned()).collect(), cursor: Some(cursor) }
}

#[test]
fn finished_text_stands_above_the_living_lines() {
    let mut terminal = FakeTerminal::new(20, 8);
    terminal.frame("", &live(&["> ", "idle"], (0, 2)));
    assert_eq!(terminal.screen(), "> \nidle");
    assert_eq!(terminal.cursor(), (0, 2));
    terminal.frame("one\ntwo\n", &live(&["> a", "busy"], (0, 3)));
    assert_eq!(terminal.screen(), "one\ntwo\n> a\nbusy");
    assert_eq!(terminal.cursor(), (2, 3));
    terminal.frame("", &live(&["question?", "> a", "busy"], (1, 3)));
    assert_eq!(terminal.screen(), "one\ntwo\nquestion?\n> a\nbusy");
    terminal.frame("", &live(&["> a"], (0, 3)));
    assert_eq!(terminal.screen(), "one\ntwo\n> a");
    terminal.view.clear().unwrap();
    terminal.pass_on();
    assert_eq!(terminal.screen(), "one\ntwo");
    assert_eq!(terminal.cursor(), (2, 0));
}

#[test]
fn what_does_not_fit_on_the_screen_is_in_the_scrollback() {
    let mut terminal = FakeTerminal::new(20, 4);
    let text: String = (1..=9).map(|line| format!("line {line}\n")).collect();
    terminal.frame(&text, &live(&["> ", "idle"], (0, 2)));
    assert_eq!(terminal.screen(), "line 8\nline 9\n> \nidle");
    terminal.parser.screen_mut().set_scrollback(7);
    assert_eq!(terminal.screen(), "line 1\nline 2\nline 3\nline 4");
}

#[test]
fn a_row_that_does_not_change_is_not_written_again() {
    let mut terminal = FakeTerminal::new(80, 24);
    let wide = "x".repeat(70);
    terminal.frame("", &live(&[&wide, &wide, "0:01"], (0, 0)));
    assert_eq!(terminal.frame("", &live(&[&wide, &wide, "0:01"], (0, 0))), 0);
    let written = terminal.frame("", &live(&[&wide, &wide, "0:02"], (0, 0)));
    assert!(written < 60, "{written} bytes for four characters");
}

#[test]
fn more_living_lines_than_rows_show_their_end_and_wide_ones_are_cut() {
    let mut terminal = FakeTerminal::new(10, 4);
    let lines = ["one", "two", "three", "\x1b[1ma very wide line\x1b[0m", "> "];
    terminal.frame("", &live(&lines, (4, 2)));
    assert_eq!(terminal.screen(), "three\na very wid\n> ");
    assert_eq!(terminal.cursor(), (2, 2));
}

#[test]
fn a_resize_draws_the_end_of_the_text_again() {
    let mut terminal = FakeTerminal::new(20, 6);
    terminal.frame("first\na line of twenty ch.\nlast\n", &live(&["> "], (0, 2)));
    terminal.resize(10, 4, &live(&["> "], (0, 2)));
    // The terminal wraps the line and knows that it is one.
    assert_eq!(terminal.screen(), "a line of twenty ch.\nlast\n> ");
    terminal.resize(40, 8, &live(&["> ", "idle"], (0, 2)));
    assert_eq!(terminal.screen(), "first\na line of twenty ch.\nlast\n> \nidle");
}

#[test]
fn what_another_program_has_written_stays_above_the_living_lines() {
    let mut terminal = FakeTerminal::new(20, 8);
    terminal.frame("said\n", &live(&["> ", "idle"], (0, 2)));
    terminal.view.clear().unwrap();
    terminal.pass_on();
    terminal.parser.process(b"[1]+ Stopped\r\n$ fg\r\n");
    terminal.view.go_on(ScreenSize { columns: 20, rows: 8 });
    terminal.frame("more\n", &live(&["> ", "idle"], (0, 2)));
    assert_eq!(terminal.screen(), "said\n[1]+ Stopped\n$ fg\nmore\n> \nidle");
    terminal.frame("", &live(&["> a", "idle"], (0, 3)));
    assert_eq!(terminal.screen(), "said\n[1]+ Stopped\n$ fg\nmore\n> a\nidle");
}

#[test]
fn what_another_program_has_written_outlives_a_resize() {
    let mut terminal = FakeTerminal::new(20, 8);
    let idle = live(&["> ", "idle"], (0, 2));
    terminal.frame("one\n", &idle);
    terminal.view.clear().unwrap();
    terminal.pass_on();
    terminal.parser.process(b"$ date\r\nMonday\r\n$ fg\r\n");
    terminal.view.go_on(ScreenSize { columns: 20, rows: 8 });
    terminal.frame("two\n", &idle);
    for (columns, rows) in [(24, 8), (24, 10), (18, 10), (18, 7)] {
        terminal.resize(columns, rows, &idle);
        assert_eq!(terminal.screen(), "one\n$ date\nMonday\n$ fg\ntwo\n> \nidle");
        assert_eq!(terminal.cursor(), (5, 2));
    }
    // Once our own lines fill the screen, all of it is drawn again.
    let text: String = (1..=9).map(|line| format!("line {line}\n")).collect();
    terminal.frame(&text, &idle);
    terminal.resize(20, 5, &idle);
    assert_eq!(terminal.screen(), "line 7\nline 8\nline 9\n> \nidle");
}

#[test]
fn the_terminal_obeys_nothing_that_a_line_holds() {
    let mut terminal = FakeTerminal::new(40, 6);
    let hostile = "\x1b[2Jgone\x1b]0;title\x07\rover";
    terminal.frame(&format!("kept\n{hostile}\n"), &live(&[hostile, "> "], (1, 2)));
    let shown = "\\x1B[2Jgone\\x1B]0;title\\x07\\rover";
    assert_eq!(terminal.screen(), format!("kept\n{shown}\n{shown}\n> "));
}

fn any_live() -> impl Strategy<Value = LiveLines> {
    (prop::collection::vec("[a-z漢 ]{0,30}", 1..6), 0..6_usize, 0..30_usize).prop_map(
        |(lines, row, column)| {
            let cursor = Some((row.min(lines.len() - 1), column));
            LiveLines { lines, cursor }
        },
    )
}

proptest! {
    /// However frames follow each other, the screen shows the end of the finished text and below it the
    /// living part, and all of the finished text went into the scrollback once.
    #[test]
    fn the_screen_shows_what_was_said_last(
        frames in prop::collection::vec((prop::collection::vec("[a-z]{1,12}", 0..5), any_live()), 1..12),
        rows in 8..20_usize,
    ) {
        let mut terminal = FakeTerminal::new(24, rows);
        let mut finished: Vec<String> = Vec::new();
        for (lines, live) in &frames {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            terminal.frame(&text, live);
            finished.extend(lines.iter().cloned());
            let shown = terminal.view.fitting(live);
            let trimmed = |line: &str| line.trim_end().to_owned();
            let screen: Vec<String> = terminal.screen().lines().map(trimmed).collect();
            let all: Vec<String> = finished.iter().chain(&shown.lines).map(|line| trimmed(line)).collect();
            let end = all.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
            let used = screen.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
            prop_assert!(all[..end].ends_with(&screen[..used]), "{screen:?} is not the end of {all:?}");
        }
    }
}
