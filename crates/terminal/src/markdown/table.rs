//! Tables: columns side by side if they fit, else one line a cell.

use super::flow::{LinePrefix, TextFlow};
use super::inline::{StyledText, pieces};
use crate::output_style::{Ink, columns};

const GAP: &str = " │ ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Centre,
    Right,
}

/// A table whose lines are all known.
#[derive(Debug)]
pub(super) struct Table {
    aligns: Vec<Align>,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads the lines; `None` if the second does not say that they are a table.
    pub(super) fn read(lines: &[String]) -> Option<Table> {
        let [head, rule, rows @ ..] = lines else { return None };
        let aligns: Option<Vec<Align>> = cells(rule).iter().map(|cell| align(cell)).collect();
        let (aligns, head) = (aligns?, cells(head));
        let rows = rows.iter().map(|row| cells(row)).collect();
        (aligns.len() == head.len()).then_some(Table { aligns, head, rows })
    }

    pub(super) fn draw(&self, prefix: &LinePrefix, width: usize, out: &mut String) {
        let widths = self.widths();
        let gaps = columns(GAP) * widths.len().saturating_sub(1);
        if prefix.columns + widths.iter().sum::<usize>() + gaps <= width {
            self.draw_columns(prefix, &widths, out);
        } else {
            self.draw_records(prefix, width, out);
        }
    }

    fn widths(&self) -> Vec<usize> {
        let rows = || std::iter::once(&self.head).chain(&self.rows);
        let count = rows().map(Vec::len).max().unwrap_or(0);
        let width = |cell: &String| pieces(cell, Ink::PLAIN).iter().map(piece_width).sum();
        let widest = |at| rows().filter_map(|row| row.get(at)).map(width).max().unwrap_or(0);
        (0..count).map(widest).collect()
    }

    fn draw_columns(&self, prefix: &LinePrefix, widths: &[usize], out: &mut String) {
        self.draw_row(&self.head, Ink::BOLD, prefix, widths, out);
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        out.push_str(&prefix.then(&rule.join("─┼─"), Ink::DIM).text);
        out.push('\n');
        for row in &self.rows {
            self.draw_row(row, Ink::PLAIN, prefix, widths, out);
        }
    }

    fn draw_row(
        &self,
        row: &[String],
        ink: Ink,
        prefix: &LinePrefix,
        widths: &[usize],
        out: &mut String,
    ) {
        let cell = |(at, width): (usize, &usize)| {
            let text = row.get(at).map(String::as_str).unwrap_or_default();
            padded(&pieces(text, ink), *width, self.aligns.get(at).copied().unwrap_or(Align::Left))
        };
        let drawn: Vec<String> = widths.iter().enumerate().map(cell).collect();
        let line = format!("{}{}", prefix.text, drawn.join(&Ink::DIM.paint(GAP)));
        out.push_str(line.trim_end());
        out.push('\n');
    }

    /// A block for each row, with the heading of its column before each cell.
    fn draw_records(&self, prefix: &LinePrefix, width: usize, out: &mut String) {
        let hanging = prefix.then_space(2);
        let line = |content: &[StyledText], out: &mut String| {
            let mut flow = TextFlow::begin(width, prefix, hanging.clone(), out);
            flow.write(content, out);
            flow.finish(out);
        };
        if self.rows.is_empty() {
            self.head.iter().for_each(|name| line(&pieces(name, Ink::BOLD), out));
        }
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                line(&[], out);
            }
            for at in 0..row.len().max(self.head.len()) {
                let name = self.head.get(at).map(String::as_str).unwrap_or_default();
                let text = row.get(at).map(String::as_str).unwrap_or_default();
                let mut content = pieces(name, Ink::BOLD);
                if !name.is_empty() {
                    content.push(StyledText { ink: Ink::DIM, text: ": ".into() });
                }
                content.extend(pieces(text, Ink::PLAIN));
                line(&content, out);
            }
        }
    }
}

fn piece_width(piece: &StyledText) -> usize {
    columns(&piece.text)
}

fn padded(content: &[StyledText], width: usize, align: Align) -> String {
    let free = width.saturating_sub(content.iter().map(piece_width).sum());
    let left = match align {
        Align::Left => 0,
        Align::Centre => free / 2,
        Align::Right => free,
    };
    let painted: String = content.iter().map(|piece| piece.ink.paint(&piece.text)).collect();
    format!("{}{painted}{}", " ".repeat(left), " ".repeat(free - left))
}

fn align(cell: &str) -> Option<Align> {
    let (left, right) = (cell.starts_with(':'), cell.ends_with(':'));
    let dashes = cell.trim_matches(':');
    if dashes.is_empty() || !dashes.bytes().all(|byte| byte == b'-') {
        return None;
    }
    Some(match (left, right) {
        (true, true) => Align::Centre,
        (false, true) => Align::Right,
        _ => Align::Left,
    })
}

/// The cells of a row. A bar after a backslash or within code separates nothing.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut in_code = false;
    let mut chars = row.chars().peekable();
    while let Some(c) = chars.next() {
        let cell = cells.last_mut().expect("there is always a cell to write to");
        match c {
            '\\' if chars.next_if_eq(&'|').is_some() => cell.push('|'),
            '|' if !in_code => cells.push(String::new()),
            c => {
                in_code ^= c == '`';
                cell.push(c);
            }
        }
    }
    if in_code {
        // A backtick without a second one is a character like others.
        return row.trim_end_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    }
    cells.iter_mut().for_each(|cell| *cell = cell.trim().to_owned());
    if cells.len() > 1 && cells.last().is_some_and(String::is_empty) {
        cells.pop();
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_at_bars_that_separate() {
        let table: [(&str, &[&str]); 5] = [
            ("| a | b |", &["a", "b"]),
            ("| a || c |", &["a", "", "c"]),
            ("| `x|y` | a \\| b |", &["`x|y`", "a | b"]),
            ("| one ` tick | b |", &["one ` tick", "b"]),
            ("|", &[""]),
        ];
        for (row, expected) in table {
            assert_eq!(cells(row), expected, "{row}");
        }
    }

    #[test]
    fn only_a_second_line_of_dashes_makes_a_table() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert!(Table::read(&lines("| a |\n| - |")).is_some());
        for other in ["| a |", "| a |\n| b |", "| a | b |\n|---|", "| a |\n| : |"] {
            assert!(Table::read(&lines(other)).is_none(), "{other}");
        }
    }
}
