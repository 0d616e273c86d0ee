//! Numbers as lengths and heights.

/// Parts of a character cell, from one eighth to the whole.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// Heights in a character cell.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar as long as `part` is of `whole`, of at most `width` columns. What is not zero is seen.
pub(crate) fn bar(part: u64, whole: u64, width: usize) -> String {
    if part == 0 || whole == 0 || width == 0 {
        return String::new();
    }
    let steps = u128::from(part.min(whole)) * (width as u128 * 8) / u128::from(whole);
    let steps = usize::try_from(steps).unwrap_or(0).max(1);
    let mut bar = EIGHTHS[7].to_string().repeat(steps / 8);
    bar.extend((steps % 8).checked_sub(1).map(|rest| EIGHTHS[rest]));
    bar
}

/// One column for each number; a zero is a blank, so that a day without work is seen as one.
pub(crate) fn sparkline(numbers: &[u64]) -> String {
    let most = numbers.iter().copied().max().unwrap_or(0);
    let height = |number: u64| match number {
        0 => ' ',
        _ => {
            let step = u128::from(number) * 7 / u128::from(most);
            HEIGHTS[usize::try_from(step).unwrap_or(7)]
        }
    };
    numbers.iter().map(|number| height(*number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_in_proportion_and_nothing_is_lost() {
        let table = [
            (0, 10, ""),
            (1, 0, ""),
            (10, 10, "████"),
            (20, 10, "████"),
            (5, 10, "██"),
            (3, 8, "█▌"),
            (1, 1_000_000, "▏"),
            (u64::MAX, u64::MAX, "████"),
        ];
        for (part, whole, expected) in table {
            assert_eq!(bar(part, whole, 4), expected, "{part} of {whole}");
        }
        assert_eq!(bar(1, 1, 0), "");
    }

    #[test]
    fn a_line_of_days_has_a_column_for_each() {
        assert_eq!(sparkline(&[0, 1, 4, 8]), " ▁▄█");
        assert_eq!(sparkline(&[0, 0]), "  ");
        assert_eq!(sparkline(&[u64::MAX]), "█");
        assert_eq!(sparkline(&[]), "");
    }
}
