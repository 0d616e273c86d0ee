//! The input box as it looks.

use super::text_layout::{TextLayout, wrapped};
use super::{Draft, EditUnit, InputBox, SubmissionKind};
use crate::live_lines::InkLine;
use crate::{Ink, LiveLines, LiveStyle, columns};

/// Rows of text that the box shows; longer texts scroll inside.
const MOST_ROWS: usize = 10;
/// Rows of a note below the box.
const MOST_NOTE_ROWS: usize = 4;
/// Border, blank and prompt on the left; blank and border on the right.
const LEFT: usize = 4;
const RIGHT: usize = 2;
/// Narrower than this, there is no room for borders.
const NARROWEST_BOX: usize = 12;

/// The columns for text in a box of `width`. One is left for a cursor behind the last of them.
pub(super) fn text_width(width: usize) -> usize {
    let around = if width < NARROWEST_BOX { 0 } else { LEFT + RIGHT };
    width.saturating_sub(around + 1).max(1)
}

impl InputBox {
    /// Draws the messages that wait, the box, and below it the list of completions or a note. The cursor is always
    /// in the box.
    pub fn draw(&mut self, style: LiveStyle) -> LiveLines {
        self.text_width = text_width(style.width);
        let mut lines = self.queue().draw(style);
        let has_border = style.width >= NARROWEST_BOX;
        if has_border {
            lines.push(self.top(style));
        }
        let found = self.search.as_ref().and_then(|search| search.found(&self.history));
        let shown = found.map(Draft::of);
        let draft = shown.as_ref().unwrap_or(self.buffer.draft());
        let layout = TextLayout::new(&draft.units, self.text_width);
        let cursor_row = layout.row_of(draft.cursor);
        let last_first = layout.rows.len().saturating_sub(MOST_ROWS);
        let lowest = (cursor_row + 1).saturating_sub(MOST_ROWS);
        self.first_row = self.first_row.clamp(lowest, cursor_row).min(last_first);
        let mut cursor = None;
        for (at, row) in layout.rows.iter().enumerate().skip(self.first_row).take(MOST_ROWS) {
            let left = if has_border { LEFT } else { 0 };
            if at == cursor_row {
                let column = left + layout.column_of(&draft.units, draft.cursor);
                cursor = Some((lines.len(), column.min(style.width.saturating_sub(1))));
            }
            let mut line = InkLine::new();
            if has_border {
                line.push(Ink::DIM, "│ ");
                line.push(Ink::CYAN, if at == 0 { "› " } else { "  " });
            }
            for unit in &draft.units[row.clone()] {
                let ink = match unit {
                    EditUnit::Chip(_) => Ink::CYAN,
                    EditUnit::Grapheme(_) => Ink::PLAIN,
                };
                line.push(ink, &layout.shown(unit));
            }
            if at + 1 == layout.rows.len() {
                let end = style.width.saturating_sub(if has_border { RIGHT } else { 0 });
                line.push_fit(Ink::DIM, &self.argument_hint(), end);
            }
            if has_border {
                line.fill(Ink::PLAIN, " ", style.width - RIGHT).push(Ink::DIM, " │");
            }
            lines.push(line.paint(style));
        }
        if has_border {
            lines.push(self.bottom(style, layout.rows.len()));
        }
        lines.extend(self.below(style));
        LiveLines { lines, cursor }
    }

    fn top(&self, style: LiveStyle) -> String {
        let title = match (&self.search, self.kind()) {
            (Some(search), _) => Some((Ink::CYAN, format!(" history: {} ", search.query))),
            (None, SubmissionKind::Shell) => Some((Ink::YELLOW, " runs as a command ".into())),
            (None, SubmissionKind::Command) => Some((Ink::DIM, " command ".into())),
            (None, SubmissionKind::Message) => None,
        };
        let mut line = InkLine::new();
        line.push(Ink::DIM, "╭");
        if let Some((ink, title)) = title {
            line.push_fit(ink, &title, style.width - 1);
        }
        line.fill(Ink::DIM, "─", style.width - 1).push(Ink::DIM, "╮");
        line.paint(style)
    }

    /// The lower border tells of rows that are not shown.
    fn bottom(&self, style: LiveStyle, rows: usize) -> String {
        let below = rows.saturating_sub(self.first_row + MOST_ROWS);
        let hidden = match (self.first_row, below) {
            (0, 0) => String::new(),
            (above, 0) => format!(" ↑ {above} lines "),
            (0, below) => format!(" ↓ {below} lines "),
            (above, below) => format!(" ↑ {above} ↓ {below} lines "),
        };
        let mut line = InkLine::new();
        line.push(Ink::DIM, "╰").push_fit(Ink::DIM, &hidden, style.width - 1);
        line.fill(Ink::DIM, "─", style.width - 1).push(Ink::DIM, "╯");
        line.paint(style)
    }

    fn below(&self, style: LiveStyle) -> Vec<String> {
        let message = |ink: Ink, text: &str| {
            let rows = wrapped(text, style.width.saturating_sub(3));
            let line = |row: &String| InkLine::new().push(ink, "  ").push(ink, row).paint(style);
            rows.iter().take(MOST_NOTE_ROWS).map(line).collect()
        };
        match (&self.note, &self.search, &self.popup) {
            (Some(note), ..) => message(Ink::YELLOW, note),
            (None, Some(search), _) => match search.found(&self.history) {
                None if !search.query.is_empty() => message(Ink::YELLOW, "not found in history"),
                _ => message(Ink::DIM, "ctrl-r older · enter takes · esc leaves"),
            },
            (None, None, Some(popup)) => popup.draw(style),
            (None, None, None) if self.is_taken_back => {
                message(Ink::DIM, "enter queues it again · esc withdraws it")
            }
            (None, None, None) => Vec::new(),
        }
    }

    /// What may follow the command that is typed, as long as nothing does.
    fn argument_hint(&self) -> String {
        let text = match self.search {
            None if self.buffer.cursor() == self.buffer.units().len() => self.text(),
            _ => return String::new(),
        };
        let Some(typed) = text.strip_prefix('/') else { return String::new() };
        let command = self.commands.iter().find(|command| typed.trim_end() == command.name);
        let Some(command) = command.filter(|command| !command.arguments.is_empty()) else {
            return String::new();
        };
        let gap = if columns(typed) > columns(&command.name) { "" } else { " " };
        format!("{gap}{}", command.arguments)
    }
}
