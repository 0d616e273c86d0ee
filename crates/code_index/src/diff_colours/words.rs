//! The words that differ between two lines.

use std::ops::Range;

use protocol::common_runs;

/// Longer lines are compared as a whole.
const LONGEST_LINE: usize = 1000;
/// Lines that have less in common were not made from each other.
const LEAST_IN_COMMON: f32 = 0.4;

/// The parts of the old and of the new line that the other has not; none if they have too little in common.
pub(super) fn changed_words(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    if old.len().max(new.len()) > LONGEST_LINE {
        return (Vec::new(), Vec::new());
    }
    let (old, new) = (words(old), words(new));
    let common = common_runs(&old, &new);
    let in_common: usize = common.iter().map(|run| run.len).sum();
    if 2.0 * (in_common as f32) < LEAST_IN_COMMON * (old.len() + new.len()) as f32 {
        return (Vec::new(), Vec::new());
    }
    let gone = outside(&old, common.iter().map(|run| run.old..run.old + run.len));
    let come = outside(&new, common.iter().map(|run| run.new..run.new + run.len));
    (gone, come)
}

/// Where the words are that stand in none of the runs.
fn outside(words: &[&str], runs: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut is_common = vec![false; words.len()];
    runs.for_each(|run| is_common[run].fill(true));
    let (mut ranges, mut at) = (Vec::new(), 0);
    for (word, is_common) in words.iter().zip(is_common) {
        let end = at + word.len();
        if !is_common {
            extend(&mut ranges, at..end);
        }
        at = end;
    }
    ranges
}

/// The words of a line, and what is between them.
fn words(line: &str) -> Vec<&str> {
    let chars: Vec<(usize, bool)> =
        line.char_indices().map(|(at, char)| (at, char.is_whitespace())).collect();
    let begins = chars.chunk_by(|a, b| a.1 == b.1).map(|word| word[0].0);
    let ends = begins.clone().skip(1).chain([line.len()]);
    begins.zip(ends).map(|(begin, end)| &line[begin..end]).collect()
}

fn extend(ranges: &mut Vec<Range<usize>>, next: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == next.start => last.end = next.end,
        _ => ranges.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_marked() {
        let words = |text: &str, ranges: &[Range<usize>]| -> Vec<String> {
            ranges.iter().map(|range| text[range.clone()].to_owned()).collect()
        };
        let (old, new) = ("let sum = total (a) ;", "let all = total (b, c) ;");
        let (gone, come) = changed_words(old, new);
        assert_eq!(words(old, &gone), ["sum", "(a)"]);
        assert_eq!(words(new, &come), ["all", "(b, c)"]);
        assert_eq!(changed_words("one two three", "quite another"), (vec![], vec![]));
        assert_eq!(changed_words("a b", "a b"), (vec![], vec![]));
        let long = "a ".repeat(LONGEST_LINE);
        assert_eq!(changed_words(&long, "a "), (vec![], vec![]));
    }
}
