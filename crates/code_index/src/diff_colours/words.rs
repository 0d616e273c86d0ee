//! The words that differ between two lines.

use std::ops::Range;

use similar::{ChangeTag, TextDiff};

/// Longer lines are compared as a whole.
const LONGEST_LINE: usize = 1000;
/// Lines that have less in common were not made from each other.
const LEAST_IN_COMMON: f32 = 0.4;

/// The parts of the old and of the new line that the other has not; none if they have too little in common.
pub(super) fn changed_words(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    if old.len().max(new.len()) > LONGEST_LINE {
        return (gone, come);
    }
    let diff = TextDiff::from_words(old, new);
    if diff.ratio() < LEAST_IN_COMMON {
        return (gone, come);
    }
    let (mut old_at, mut new_at) = (0, 0);
    for change in diff.iter_all_changes() {
        let length = change.value().len();
        match change.tag() {
            ChangeTag::Equal => (old_at, new_at) = (old_at + length, new_at + length),
            ChangeTag::Delete => {
                extend(&mut gone, old_at..old_at + length);
                old_at += length;
            }
            ChangeTag::Insert => {
                extend(&mut come, new_at..new_at + length);
                new_at += length;
            }
        }
    }
    (gone, come)
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
