//! A list to pick from, with a search that narrows it: sessions, models, earlier messages.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::fuzzy::{FuzzyHit, rank};
use crate::input::{EditBuffer, cleaned, first_visible};
use crate::live_lines::InkLine;
use crate::{Ink, LiveLines, LiveStyle, columns};

/// Rows that are visible at once.
const MOST_ROWS: usize = 12;
/// Title and footer.
const AROUND: usize = 2;
/// Blanks between two columns.
const BETWEEN: usize = 2;

/// What came of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickerOutcome {
    /// The list stays open.
    Open,
    /// The row with this index, in the order in which rows were given.
    Chosen(usize),
    /// The user wants none.
    Closed,
}

/// The list.
#[derive(Debug)]
pub struct Picker {
    title: String,
    rows: Vec<Vec<String>>,
    /// What is searched in each row.
    texts: Vec<String>,
    query: EditBuffer,
    hits: Vec<FuzzyHit>,
    selected: usize,
}

impl Picker {
    /// A list of rows. The first column is the one that is cut last when the screen is narrow.
    pub fn new(title: &str, rows: Vec<Vec<String>>) -> Self {
        let texts: Vec<String> = rows.iter().map(|row| row.join(" ")).collect();
        let hits = rank("", texts.iter().map(String::as_str));
        let title = title.to_owned();
        Self { title, rows, texts, query: EditBuffer::default(), hits, selected: 0 }
    }

    /// Selects the row with this index, if it is listed.
    pub fn select(&mut self, index: usize) {
        let at = self.hits.iter().position(|hit| hit.index == index);
        self.selected = at.unwrap_or(self.selected);
    }

    /// Adds pasted text to the search.
    pub fn paste(&mut self, text: &str) {
        self.query.insert(&cleaned(text).replace('\n', " "));
        self.search();
    }

    /// Takes a key.
    pub fn key(&mut self, event: KeyEvent) -> PickerOutcome {
        if event.kind == KeyEventKind::Release {
            return PickerOutcome::Open;
        }
        let last = self.hits.len().saturating_sub(1);
        let is_ctrl = event.modifiers == KeyModifiers::CONTROL;
        self.selected = match event.code {
            KeyCode::Esc => return PickerOutcome::Closed,
            KeyCode::Char('c' | 'd') if is_ctrl => return PickerOutcome::Closed,
            KeyCode::Enter => {
                let hit = self.hits.get(self.selected);
                return hit.map_or(PickerOutcome::Open, |hit| PickerOutcome::Chosen(hit.index));
            }
            KeyCode::Up => self.selected.saturating_sub(1),
            KeyCode::Char('p') if is_ctrl => self.selected.saturating_sub(1),
            KeyCode::Down => self.selected + 1,
            KeyCode::Char('n') if is_ctrl => self.selected + 1,
            KeyCode::PageUp => self.selected.saturating_sub(MOST_ROWS),
            KeyCode::PageDown => self.selected + MOST_ROWS,
            _ => {
                if self.query.key(event) {
                    self.search();
                }
                return PickerOutcome::Open;
            }
        }
        .min(last);
        PickerOutcome::Open
    }

    fn search(&mut self) {
        let query = self.query.draft().expanded();
        let chosen = self.hits.get(self.selected).map(|hit| hit.index);
        self.hits = rank(&query, self.texts.iter().map(String::as_str));
        // A search shows its best hit; without one, the row that was chosen stays.
        self.selected = 0;
        if let Some(chosen) = chosen.filter(|_| query.is_empty()) {
            self.select(chosen);
        }
    }

    /// Draws title, search and rows, in at most `max_rows` rows of the screen if these are three or more.
    pub fn draw(&self, style: LiveStyle, max_rows: usize) -> LiveLines {
        let most = max_rows.saturating_sub(AROUND).clamp(1, MOST_ROWS);
        let mut head = InkLine::new();
        head.push_fit(Ink::BOLD, &self.title, style.width / 2).push(Ink::DIM, " › ");
        let (query, column) = self.query.window(style.width.saturating_sub(head.used() + 1).max(1));
        let cursor = (head.used() + column).min(style.width.saturating_sub(1));
        head.push(Ink::PLAIN, &query);
        let mut lines = vec![head.paint(style)];
        let first = first_visible(self.selected, self.hits.len(), most);
        let shown: Vec<&FuzzyHit> = self.hits.iter().skip(first).take(most).collect();
        let widths = self.column_widths(&shown, style.width.saturating_sub(BETWEEN));
        for (at, hit) in shown.iter().enumerate() {
            lines.push(self.row(hit, first + at == self.selected, &widths, style));
        }
        let mut foot = InkLine::new();
        match self.hits.len() {
            0 => foot.push(Ink::YELLOW, "  nothing matches · esc closes"),
            count => {
                let place = format!("  {} of {count}", self.selected + 1);
                foot.push(Ink::DIM, &place).push(Ink::DIM, " · enter takes · esc closes")
            }
        };
        lines.push(foot.paint(style));
        LiveLines { lines, cursor: Some((0, cursor)) }
    }

    fn row(&self, hit: &FuzzyHit, chosen: bool, widths: &[usize], style: LiveStyle) -> String {
        let mut line = InkLine::new();
        let ink = if chosen { Ink::CYAN.and(Ink::BOLD) } else { Ink::PLAIN };
        line.push(ink, if chosen { "› " } else { "  " });
        let mut end = BETWEEN;
        for (at, (text, width)) in self.rows[hit.index].iter().zip(widths).enumerate() {
            if *width == 0 {
                continue;
            }
            line.fill(Ink::PLAIN, " ", end);
            let ink = if at == 0 || chosen { ink } else { Ink::DIM };
            line.push_fit(ink, text, end + width);
            end += width + BETWEEN;
        }
        line.paint(style)
    }

    /// The columns of the visible rows. Where they do not fit, the last ones go first, and the first one takes
    /// what is left.
    fn column_widths(&self, shown: &[&FuzzyHit], room: usize) -> Vec<usize> {
        let count = shown.iter().map(|hit| self.rows[hit.index].len()).max().unwrap_or(0);
        let widest = |at: usize| {
            let cells = shown.iter().filter_map(|hit| self.rows[hit.index].get(at));
            cells.map(|cell| columns(cell)).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..count).map(widest).collect();
        let others = |widths: &[usize]| -> usize {
            widths.iter().skip(1).filter(|width| **width > 0).map(|width| width + BETWEEN).sum()
        };
        // At least half of the line is for the first column.
        for at in (1..count).rev() {
            let first = widths[0].min(room / 2);
            if others(&widths) + first > room {
                widths[at] = 0;
            }
        }
        let left = room.saturating_sub(others(&widths));
        if let Some(first) = widths.first_mut() {
            *first = (*first).min(left);
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker() -> Picker {
        let row = |title: &str, when: &str, id: &str| vec![title.into(), when.into(), id.into()];
        let rows = vec![
            row("Round cart totals once", "today 14:02", "7k2"),
            row("Why does the login page flicker on slow networks?", "yesterday", "7jx"),
            row("漢字 in file names", "Mon 9:15", "6ab"),
        ];
        Picker::new("Resume", rows)
    }

    fn key(picker: &mut Picker, code: KeyCode) -> PickerOutcome {
        picker.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn drawn(picker: &Picker, width: usize) -> String {
        let lines = picker.draw(LiveStyle { width, colour: false }, usize::MAX);
        assert!(lines.lines.iter().all(|line| columns(line) <= width), "{lines:?}");
        lines.lines.join("\n")
    }

    #[test]
    fn letters_narrow_the_list_and_enter_takes_a_row() {
        let mut picker = picker();
        for c in "login".chars() {
            assert_eq!(key(&mut picker, KeyCode::Char(c)), PickerOutcome::Open);
        }
        assert_eq!(key(&mut picker, KeyCode::Enter), PickerOutcome::Chosen(1));
        key(&mut picker, KeyCode::Char('z'));
        assert_eq!(key(&mut picker, KeyCode::Enter), PickerOutcome::Open);
        picker.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        key(&mut picker, KeyCode::PageDown);
        assert_eq!(key(&mut picker, KeyCode::Enter), PickerOutcome::Chosen(2));
        assert_eq!(key(&mut picker, KeyCode::Esc), PickerOutcome::Closed);
    }

    #[test]
    fn an_empty_list_can_only_be_closed() {
        let mut picker = Picker::new("Models", Vec::new());
        for code in [KeyCode::Down, KeyCode::PageUp, KeyCode::Enter] {
            assert_eq!(key(&mut picker, code), PickerOutcome::Open);
        }
        assert_eq!(key(&mut picker, KeyCode::Esc), PickerOutcome::Closed);
    }

    #[test]
    fn only_a_dozen_rows_are_visible_and_the_chosen_one_is_among_them() {
        let rows = (0..40).map(|n| vec![format!("row {n}")]).collect();
        let mut picker = Picker::new("Many", rows);
        for _ in 0..30 {
            key(&mut picker, KeyCode::Down);
        }
        let drawn = drawn(&picker, 60);
        assert_eq!(drawn.lines().count(), MOST_ROWS + 2);
        assert!(drawn.contains("› row 30"), "{drawn}");
        let low = picker.draw(LiveStyle { width: 60, colour: false }, 4);
        assert_eq!(low.lines.len(), 4);
        assert!(low.lines.contains(&"› row 30".to_owned()), "{low:?}");
    }

    #[test]
    fn columns_shrink_from_the_right() {
        insta::assert_snapshot!(drawn(&picker(), 100), @"
        Resume › 
        › Round cart totals once                             today 14:02  7k2
          Why does the login page flicker on slow networks?  yesterday    7jx
          漢字 in file names                                 Mon 9:15     6ab
          1 of 3 · enter takes · esc closes
        ");
        insta::assert_snapshot!(drawn(&picker(), 60), @"
        Resume › 
        › Round cart totals once                    today 14:02  7k2
          Why does the login page flicker on slow…  yesterday    7jx
          漢字 in file names                        Mon 9:15     6ab
          1 of 3 · enter takes · esc closes
        ");
        insta::assert_snapshot!(drawn(&picker(), 20), @"
        Resume › 
        › Round cart totals…
          Why does the logi…
          漢字 in file names
          1 of 3 · enter ta…
        ");
    }
}
