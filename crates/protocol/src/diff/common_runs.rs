//! What two sequences have in common. This is the one place that compiles the library for it, which is much code for
//! each kind of element: so elements are numbered, and numbers are compared.

use std::collections::HashMap;
use std::hash::Hash;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Elements that stand in both sequences, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonRun {
    /// Where they begin in the first sequence.
    pub old: usize,
    /// Where they begin in the second.
    pub new: usize,
    /// How many there are.
    pub len: usize,
}

/// What stays when `old` becomes `new`, in order. The work grows with the product of length and difference, so
/// callers bound the length.
pub fn common_runs<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<CommonRun> {
    let mut numbers = HashMap::new();
    let mut numbered = |element| {
        let next = numbers.len();
        *numbers.entry(element).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(&mut numbered).collect();
    let new: Vec<usize> = new.iter().map(&mut numbered).collect();
    runs_of_numbers(&old, &new)
}

pub(super) fn runs_of_numbers(old: &[usize], new: &[usize]) -> Vec<CommonRun> {
    let run = |change| match change {
        DiffOp::Equal { old_index, new_index, len } => {
            Some(CommonRun { old: old_index, new: new_index, len })
        }
        _ => None,
    };
    capture_diff_slices(Algorithm::Myers, old, new).into_iter().filter_map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_found_in_order() {
        let run = |old, new, len| CommonRun { old, new, len };
        let table: [(&str, &str, Vec<CommonRun>); 5] = [
            ("", "", vec![]),
            ("a b", "", vec![]),
            ("a b", "a b", vec![run(0, 0, 2)]),
            ("a b c", "a x c", vec![run(0, 0, 1), run(2, 2, 1)]),
            ("b c", "a b c d", vec![run(0, 1, 2)]),
        ];
        for (old, new, expected) in table {
            let (old, new): (Vec<&str>, Vec<&str>) =
                (old.split_whitespace().collect(), new.split_whitespace().collect());
            assert_eq!(common_runs(&old, &new), expected, "{old:?} {new:?}");
        }
    }
}
