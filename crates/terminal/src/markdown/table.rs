//! Tables: columns side by side, with cells over several lines where they would be too wide.

use super::flow::wrapped;
use super::inline::pieces;
use crate::columns::{StyledText, columns, width_of};
use crate::ink::Ink;

const GAP: &str = " │ ";
/// Columns are not made narrower; a table of too many of them has one line a cell.
const NARROWEST_COLUMN: usize = 4;

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

    /// Its lines, without what stands before them, in `width` columns.
    pub(super) fn draw(&self, width: usize, links: bool) -> Vec<Vec<StyledText>> {
        let read = |row: &Vec<String>, ink| -> DrawnRow {
            row.iter().map(|cell| pieces(cell, ink, links)).collect()
        };
        let head = read(&self.head, Ink::BOLD);
        let rows: Vec<DrawnRow> = self.rows.iter().map(|row| read(row, Ink::PLAIN)).collect();
        let natural = natural_widths(&head, &rows);
        let gaps = columns(GAP) * natural.len().saturating_sub(1);
        match shrunk(&natural, width.saturating_sub(gaps)) {
            Some(widths) => self.columns(&head, &rows, &widths),
            None => records(&head, &rows, width),
        }
    }

    fn columns(
        &self,
        head: &DrawnRow,
        rows: &[DrawnRow],
        widths: &[usize],
    ) -> Vec<Vec<StyledText>> {
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let rule = vec![StyledText::new(Ink::DIM, rule.join("─┼─"))];
        let rows: Vec<_> = rows.iter().map(|row| self.row(row, widths)).collect();
        // Without a rule it is not seen which lines of cells belong together.
        let has_tall_rows = rows.iter().any(|lines| lines.len() > 1);
        let mut lines = self.row(head, widths);
        for (index, row) in rows.into_iter().enumerate() {
            if index == 0 || has_tall_rows {
                lines.push(rule.clone());
            }
            lines.extend(row);
        }
        if self.rows.is_empty() {
            lines.push(rule);
        }
        lines
    }

    fn row(&self, row: &DrawnRow, widths: &[usize]) -> Vec<Vec<StyledText>> {
        let cell = |(at, width): (usize, &usize)| {
            row.get(at).map(|cell| wrapped(cell, *width)).unwrap_or_default()
        };
        let cells: Vec<_> = widths.iter().enumerate().map(cell).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let line = |index: usize| {
            let mut line = Vec::new();
            for (at, width) in widths.iter().enumerate() {
                if at > 0 {
                    line.push(StyledText::new(Ink::DIM, GAP));
                }
                let content = cells[at].get(index).map(Vec::as_slice).unwrap_or_default();
                let align = self.aligns.get(at).copied().unwrap_or(Align::Left);
                let is_last = at + 1 == widths.len();
                line.extend(padded(content, *width, align, is_last));
            }
            without_trailing_space(line)
        };
        (0..height).map(line).collect()
    }
}

/// The cells of a row with their emphasis.
type DrawnRow = Vec<Vec<StyledText>>;

fn natural_widths(head: &DrawnRow, rows: &[DrawnRow]) -> Vec<usize> {
    let all = || std::iter::once(head).chain(rows);
    let count = all().map(Vec::len).max().unwrap_or(0);
    let widest = |at: usize| {
        let cells = all().filter_map(|row| row.get(at));
        cells.map(|cell| width_of(cell)).max().unwrap_or(0)
    };
    (0..count).map(widest).collect()
}

/// Widths that add up to at most `room`: the widest columns become narrower, all to the same width.
/// `None` if a column would be too narrow to be read.
fn shrunk(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    if natural.iter().sum::<usize>() <= room {
        return Some(natural.to_vec());
    }
    let total = |most: usize| natural.iter().map(|width| (*width).min(most)).sum::<usize>();
    let most = (NARROWEST_COLUMN..=room).take_while(|most| total(*most) <= room).last()?;
    let mut left = room - total(most);
    let widths = natural.iter().map(|width| {
        let more = usize::from(*width > most && left > 0);
        left -= more;
        (*width).min(most) + more
    });
    Some(widths.collect())
}

/// A block for each row, with the heading of its column before each cell.
fn records(head: &DrawnRow, rows: &[DrawnRow], width: usize) -> Vec<Vec<StyledText>> {
    if rows.is_empty() {
        return head.iter().flat_map(|name| wrapped(name, width)).collect();
    }
    let mut lines = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            lines.push(Vec::new());
        }
        for at in 0..row.len().max(head.len()) {
            let mut content = head.get(at).cloned().unwrap_or_default();
            if !content.is_empty() {
                content.push(StyledText::new(Ink::DIM, ": "));
            }
            content.extend(row.get(at).cloned().unwrap_or_default());
            lines.extend(wrapped(&content, width));
        }
    }
    lines
}

fn without_trailing_space(mut line: Vec<StyledText>) -> Vec<StyledText> {
    while let Some(last) = line.last_mut() {
        last.text.truncate(last.text.trim_end().len());
        if !last.text.is_empty() {
            break;
        }
        line.pop();
    }
    line
}

fn padded(content: &[StyledText], width: usize, align: Align, is_last: bool) -> Vec<StyledText> {
    let free = width.saturating_sub(width_of(content));
    let left = match align {
        Align::Left => 0,
        Align::Centre => free / 2,
        Align::Right => free,
    };
    let right = if is_last { 0 } else { free - left };
    let space = |count: usize| (count > 0).then(|| StyledText::new(Ink::PLAIN, " ".repeat(count)));
    space(left).into_iter().chain(content.iter().cloned()).chain(space(right)).collect()
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
    fn the_widest_columns_become_narrower() {
        let table = [
            (vec![3, 5], 8, Some(vec![3, 5])),
            (vec![3, 50], 20, Some(vec![3, 17])),
            (vec![30, 50, 2], 21, Some(vec![10, 9, 2])),
            (vec![9, 9, 9], 11, None),
            (vec![], 0, Some(vec![])),
        ];
        for (natural, room, expected) in table {
            assert_eq!(shrunk(&natural, room), expected, "{natural:?} in {room}");
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
