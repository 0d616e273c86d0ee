//! Lines in a part of the screen, page by page, with a search: a whole diff, a whole output.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::input::EditBuffer;
use crate::live_lines::{InkLine, unpainted, wrap_painted};
use crate::{Ink, LiveStyle};

/// Rows of a page before the pager was drawn.
const FIRST_PAGE: usize = 10;

/// What came of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PagerStep {
    Stay,
    Close,
}

/// A row of the screen; a long line has several.
#[derive(Debug)]
struct PagerRow {
    line: usize,
    drawn: String,
}

/// Which lines are shown, and what is searched for.
#[derive(Debug, Default)]
pub(crate) struct LinePager {
    /// The first row that is shown.
    top: usize,
    /// Rows at the last drawing.
    page: Option<usize>,
    rows: Vec<PagerRow>,
    width: usize,
    query: String,
    typing: Option<EditBuffer>,
    not_found: bool,
}

impl LinePager {
    pub(crate) fn is_typing(&self) -> bool {
        self.typing.is_some()
    }

    pub(crate) fn key(&mut self, event: KeyEvent, lines: &[impl AsRef<str>]) -> PagerStep {
        if self.typing.is_some() {
            self.search_key(event, lines);
            return PagerStep::Stay;
        }
        self.not_found = false;
        let page = self.page.unwrap_or(FIRST_PAGE);
        let step = page.saturating_sub(1).max(1);
        let last = self.rows.len().saturating_sub(page);
        let is_ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        self.top = match event.code {
            KeyCode::Char('q') | KeyCode::Esc => return PagerStep::Close,
            KeyCode::Up | KeyCode::Char('k') => self.top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.top + 1,
            KeyCode::PageUp => self.top.saturating_sub(step),
            KeyCode::Char('b') if is_ctrl => self.top.saturating_sub(step),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top + step,
            KeyCode::Char('g') | KeyCode::Home => 0,
            KeyCode::Char('G') | KeyCode::End => last,
            KeyCode::Char('/') => {
                self.typing = Some(EditBuffer::default());
                self.top
            }
            KeyCode::Char('n') => self.find(lines, Some(self.line() + 1), true),
            KeyCode::Char('N') => self.find(lines, self.line().checked_sub(1), false),
            _ => self.top,
        }
        .min(last);
        PagerStep::Stay
    }

    fn search_key(&mut self, event: KeyEvent, lines: &[impl AsRef<str>]) {
        let Some(field) = &mut self.typing else { return };
        match event.code {
            KeyCode::Esc => self.typing = None,
            KeyCode::Enter => {
                self.query = field.draft().expanded();
                self.typing = None;
                let last = self.rows.len().saturating_sub(self.page.unwrap_or(FIRST_PAGE));
                self.top = self.find(lines, Some(self.line()), true).min(last);
            }
            _ => {
                field.key(event);
            }
        }
    }

    /// The line that the first row belongs to.
    fn line(&self) -> usize {
        self.rows.get(self.top).map_or(0, |row| row.line)
    }

    /// Wraps the lines anew if the width is another. The line at the top stays there.
    fn wrap(&mut self, lines: &[impl AsRef<str>], width: usize) {
        if self.width == width {
            return;
        }
        let line_at_top = self.line();
        let rows = lines.iter().enumerate().flat_map(|(line, text)| {
            let rows = wrap_painted(text.as_ref(), width);
            rows.into_iter().map(move |drawn| PagerRow { line, drawn })
        });
        self.rows = rows.collect();
        self.width = width;
        self.top = self.rows.iter().position(|row| row.line == line_at_top).unwrap_or(0);
    }

    /// The row of the next line from `from` on that holds the query, around the ends.
    fn find(&mut self, lines: &[impl AsRef<str>], from: Option<usize>, forward: bool) -> usize {
        let query = self.query.to_lowercase();
        let holds = |at: &usize| unpainted(lines[*at].as_ref()).to_lowercase().contains(&query);
        let count = lines.len();
        let from = from.unwrap_or(count.saturating_sub(1));
        let found = match forward {
            true => (from..count).chain(0..from.min(count)).find(holds),
            false => (0..=from).rev().chain((from + 1..count).rev()).find(holds),
        };
        let found = found.filter(|_| !query.is_empty());
        self.not_found = found.is_none();
        let row = found.and_then(|line| self.rows.iter().position(|row| row.line == line));
        row.unwrap_or(self.top)
    }

    /// At most `rows` lines, the last of which tells where this is.
    pub(crate) fn draw(
        &mut self,
        lines: &[impl AsRef<str>],
        style: LiveStyle,
        rows: usize,
    ) -> (Vec<String>, Option<(usize, usize)>) {
        let page = rows.saturating_sub(1).max(1);
        self.page = Some(page);
        self.wrap(lines, style.width);
        self.top = self.top.min(self.rows.len().saturating_sub(page));
        let end = (self.top + page).min(self.rows.len());
        let mut drawn: Vec<String> =
            self.rows[self.top..end].iter().map(|row| row.drawn.clone()).collect();
        let mut footer = InkLine::new();
        let mut cursor = None;
        if let Some(field) = &self.typing {
            let (text, column) = field.window(style.width.saturating_sub(2).max(1));
            footer.push(Ink::CYAN, "/").push(Ink::PLAIN, &text);
            cursor = Some((drawn.len(), (column + 1).min(style.width.saturating_sub(1))));
        } else if self.not_found {
            footer.push(Ink::YELLOW, &format!("not found: {}", self.query));
        } else {
            let last = self.rows[..end].last().map_or(0, |row| row.line + 1);
            let place = format!("{}–{last} of {}", self.line() + 1, lines.len());
            footer.push(Ink::DIM, &place);
            footer.push(Ink::DIM, "   space page   g G ends   / search   q back");
        }
        drawn.push(footer.paint(style));
        (drawn, cursor)
    }
}
