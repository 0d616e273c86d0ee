//! Replaces what differs from run to run: times, the pictures of a spinner, ports.

use super::picture::Glyph;

/// What stands for every time of a kind. The number is kept short, so that it fits where a longer one was.
const CLOCK: &str = "0:07";
const SECONDS: &str = "1.2 s";
const MILLISECONDS: &str = "8 ms";
const PORT: &str = "127.0.0.1:8080";
const SPINNER: &str = "⠹";
/// The characters of Braille, of which spinners are made.
const BRAILLE: std::ops::RangeInclusive<char> = '\u{2800}'..='\u{28ff}';
const LOCAL: &str = "127.0.0.1:";

/// The row with every such part replaced. A part of another length moves the blanks beside it, so that
/// what stands in columns stays there.
pub(crate) fn steady(mut row: Vec<Glyph>) -> Vec<Glyph> {
    let mut at = 0;
    while at < row.len() {
        match changing(&row, at) {
            Some((end, instead)) => at = replace(&mut row, at, end, instead),
            None => at += 1,
        }
    }
    row
}

/// The end of what changes and begins here, and what stands for it.
fn changing(row: &[Glyph], start: usize) -> Option<(usize, &'static str)> {
    let is = |at: usize, wanted: fn(char) -> bool| {
        row.get(at).is_some_and(|glyph| glyph.text.chars().all(wanted))
    };
    let is_text = |at: usize, text: &str| {
        text.chars().enumerate().all(|(i, c)| {
            row.get(at + i).is_some_and(|glyph| glyph.text.chars().eq(std::iter::once(c)))
        })
    };
    let digits = |mut at: usize| {
        while is(at, |c| c.is_ascii_digit()) {
            at += 1;
        }
        at
    };
    if is(start, |c| BRAILLE.contains(&c)) {
        return Some((start + 1, SPINNER));
    }
    let is_inside = start > 0 && is(start - 1, |c| c.is_alphanumeric() || ".:_".contains(c));
    let whole = digits(start);
    if is_inside || whole == start {
        return None;
    }
    if is_text(start, LOCAL) {
        return Some((digits(start + LOCAL.len()), PORT));
    }
    if is_text(whole, ":") && digits(whole + 1) == whole + 3 {
        return Some((whole + 3, CLOCK));
    }
    let end = if is_text(whole, ".") { digits(whole + 1) } else { whole };
    let ends_word = |at: usize| !is(at, char::is_alphanumeric) || at >= row.len();
    if is_text(end, " ms") && ends_word(end + 3) {
        return Some((end + 3, MILLISECONDS));
    }
    (is_text(end, " s") && ends_word(end + 2)).then_some((end + 2, SECONDS))
}

/// Answers with the end of what was put in.
fn replace(row: &mut Vec<Glyph>, start: usize, end: usize, instead: &str) -> usize {
    let columns = row.len();
    let look = row[start].look;
    let glyph = |c: char| Glyph { text: c.to_string(), columns: 1, look };
    row.splice(start..end, instead.chars().map(glyph));
    let mut after = start + instead.chars().count();
    while row.len() > columns {
        let Some((gap, _)) = gap_beside(row, start, after) else { break };
        row.remove(gap);
        after -= usize::from(gap < after);
    }
    while row.len() < columns {
        let (gap, blank) = gap_beside(row, start, after).unwrap_or((row.len(), glyph(' ')));
        row.insert(gap, blank);
        after += usize::from(gap < after);
    }
    after
}

/// A blank of the nearest two or more, on the left if there are some: results stand at the right edge.
fn gap_beside(row: &[Glyph], start: usize, after: usize) -> Option<(usize, Glyph)> {
    let is_gap =
        |at: &usize| row[*at].text == " " && row.get(at + 1).is_some_and(|next| next.text == " ");
    let start = start.min(row.len());
    let left = (0..start.saturating_sub(1)).rev().find(is_gap).filter(|at| {
        // The margin of the row is not a gap between columns.
        row[..*at].iter().any(|glyph| glyph.text != " ")
    });
    let gap = left.or_else(|| (after..row.len()).find(is_gap))?;
    Some((gap, row[gap].clone()))
}

#[cfg(test)]
mod tests {
    use super::super::picture::Look;
    use super::*;

    fn steady_text(text: &str) -> String {
        let glyph = |c: char| Glyph { text: c.to_string(), columns: 1, look: Look::default() };
        steady(text.chars().map(glyph).collect()).into_iter().map(|glyph| glyph.text).collect()
    }

    #[test]
    fn what_changes_is_replaced_and_columns_stay() {
        let table = [
            ("  Ran  npm test      failed · 12.25 s", "  Ran  npm test        failed · 1.2 s"),
            ("  Ran  npm test        failed · 2.1 s", "  Ran  npm test        failed · 1.2 s"),
            ("  Ran  npm test          failed · 1 s", "  Ran  npm test        failed · 1.2 s"),
            ("  Read  a.rs                   431 ms", "  Read  a.rs                     8 ms"),
            ("  waiting · 12:14 · 18k       esc", "  waiting · 0:07 · 18k        esc"),
            ("  ⠋ thinking · 0:00", "  ⠹ thinking · 0:07"),
            ("at 127.0.0.1:45671/v1  ", "at 127.0.0.1:8080/v1   "),
        ];
        for (text, expected) in table {
            assert_eq!(steady_text(text), expected);
        }
    }

    #[test]
    fn what_does_not_change_stays() {
        for text in ["1 of 23 failed", "a.rs:12:30", "v1.2 style", "3 spaces", "x1:23", "$0.21", ""]
        {
            assert_eq!(steady_text(text), text);
        }
    }
}
