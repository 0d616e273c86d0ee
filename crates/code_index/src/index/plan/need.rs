//! A boolean condition on the trigrams of a file, kept simple while it is put together.

/// A condition with more trigrams than this asks for fewer of them.
const MAX_TRIGRAMS: usize = 1024;
/// Looking for branches that others make superfluous takes time with the square of their number.
const MAX_COMPARED: usize = 64;

/// All of some trigrams and, of each of some groups, at least one branch.
///
/// The empty condition holds for each file. A group without branches never holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Need {
    /// Ascending and distinct.
    pub(in super::super) all: Vec<u32>,
    pub(in super::super) any: Vec<Vec<Need>>,
}

impl Need {
    /// Each of `trigrams`, or of as many as a condition may have.
    pub(in super::super) fn every(trigrams: impl IntoIterator<Item = u32>) -> Need {
        let mut all: Vec<u32> = trigrams.into_iter().take(MAX_TRIGRAMS).collect();
        all.sort_unstable();
        all.dedup();
        Need { all, any: Vec::new() }
    }

    /// Holds for no file.
    fn never() -> Need {
        Need { all: Vec::new(), any: vec![Vec::new()] }
    }

    /// Whether it holds for each file.
    pub(in super::super) fn is_free(&self) -> bool {
        self.all.is_empty() && self.any.is_empty()
    }

    fn is_never(&self) -> bool {
        self.any.iter().any(Vec::is_empty)
    }

    /// Whether it holds for a file whose trigrams `has` knows.
    pub(in super::super) fn holds(&self, has: &impl Fn(u32) -> bool) -> bool {
        self.all.iter().all(|&trigram| has(trigram))
            && self.any.iter().all(|group| group.iter().any(|branch| branch.holds(has)))
    }

    /// Both conditions. What would make it too large is left out of `other`.
    pub(in super::super) fn and(mut self, other: Need) -> Need {
        if self.is_never() || other.is_never() {
            return Need::never();
        }
        if self.size() + other.size() > MAX_TRIGRAMS {
            return self;
        }
        self.require(other.all);
        let groups = std::mem::take(&mut self.any).into_iter().chain(other.any);
        for mut group in groups {
            for branch in &mut group {
                branch.all.retain(|trigram| self.all.binary_search(trigram).is_err());
            }
            let group = Need::either(group);
            self.require(group.all);
            self.any.extend(group.any);
        }
        self.any.sort_unstable();
        self.any.dedup();
        self
    }

    /// At least one of the conditions.
    pub(in super::super) fn either(mut branches: Vec<Need>) -> Need {
        branches.retain(|branch| !branch.is_never());
        branches.sort_unstable();
        branches.dedup();
        let Some(first) = branches.first() else { return Need::never() };
        let mut shared = first.all.clone();
        for branch in &branches {
            shared.retain(|trigram| branch.all.binary_search(trigram).is_ok());
        }
        for branch in &mut branches {
            branch.all.retain(|trigram| shared.binary_search(trigram).is_err());
        }
        let shared = Need { all: shared, any: Vec::new() };
        if branches.iter().any(Need::is_free)
            || branches.iter().map(Need::size).sum::<usize>() > MAX_TRIGRAMS
        {
            return shared;
        }
        if branches.len() <= MAX_COMPARED {
            branches = without_superfluous(branches);
        }
        match <[Need; 1]>::try_from(branches) {
            Ok([only]) => {
                let mut both = only;
                both.require(shared.all);
                both
            }
            Err(branches) => Need { all: shared.all, any: vec![branches] },
        }
    }

    fn require(&mut self, trigrams: Vec<u32>) {
        self.all.extend(trigrams);
        self.all.sort_unstable();
        self.all.dedup();
    }

    /// The number of trigrams named in it.
    fn size(&self) -> usize {
        self.all.len() + self.any.iter().flatten().map(Need::size).sum::<usize>()
    }

    /// Whether it surely holds wherever `other` does.
    fn follows_from(&self, other: &Need) -> bool {
        self.any.is_empty()
            && self.all.iter().all(|trigram| other.all.binary_search(trigram).is_ok())
    }
}

/// Without the branches that hold only where another one does.
fn without_superfluous(branches: Vec<Need>) -> Vec<Need> {
    let is_superfluous = |at: usize| {
        let others = branches.iter().enumerate();
        // Branches are distinct, so no two of them can make each other superfluous.
        others.filter(|&(other, _)| other != at).any(|(_, other)| other.follows_from(&branches[at]))
    };
    let kept: Vec<bool> = (0..branches.len()).map(|at| !is_superfluous(at)).collect();
    branches.into_iter().zip(kept).filter_map(|(branch, kept)| kept.then_some(branch)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn every(trigrams: &[u32]) -> Need {
        Need::every(trigrams.iter().copied())
    }

    #[test]
    fn conditions_are_simplified() {
        let either =
            |branches: &[&[u32]]| Need::either(branches.iter().map(|b| every(b)).collect());
        // What all branches ask for is asked for once.
        let factored = either(&[&[1, 2, 3], &[1, 4]]);
        assert_eq!(factored, Need { all: vec![1], any: vec![vec![every(&[2, 3]), every(&[4])]] });
        // A branch that is part of another one makes that one superfluous.
        assert_eq!(either(&[&[1], &[1, 2]]), every(&[1]));
        assert_eq!(either(&[&[1], &[2, 3], &[2, 3, 4]]), either(&[&[1], &[2, 3]]));
        // One alternative holds anyway, so the choice adds no condition.
        assert_eq!(every(&[1]).and(either(&[&[1], &[2]])), every(&[1]));
        assert_eq!(every(&[1]).and(either(&[&[1, 3], &[1, 3, 4]])), every(&[1, 3]));
        assert_eq!(either(&[&[1], &[]]), Need::default());
        assert_eq!(either(&[]), Need::never());
        assert_eq!(every(&[1]).and(Need::never()), Need::never());
        assert_eq!(Need::either(vec![Need::never(), every(&[1])]), every(&[1]));
    }

    #[test]
    fn a_condition_that_would_be_too_large_asks_for_less() {
        let many = every(&(0..600).collect::<Vec<_>>());
        let others = every(&(1000..1600).collect::<Vec<_>>());
        assert_eq!(many.clone().and(others.clone()), many);
        assert!(Need::either(vec![many, others]).is_free());
    }

    /// A condition as it was put together, to compare with the simplified one.
    #[derive(Debug, Clone)]
    enum Plain {
        Has(u32),
        And(Vec<Plain>),
        Or(Vec<Plain>),
    }

    impl Plain {
        fn simplified(&self) -> Need {
            match self {
                Plain::Has(trigram) => every(&[*trigram]),
                Plain::And(parts) => {
                    parts.iter().fold(Need::default(), |all, part| all.and(part.simplified()))
                }
                Plain::Or(parts) => Need::either(parts.iter().map(Plain::simplified).collect()),
            }
        }

        fn holds(&self, file: u32) -> bool {
            match self {
                Plain::Has(trigram) => file >> trigram & 1 == 1,
                Plain::And(parts) => parts.iter().all(|part| part.holds(file)),
                Plain::Or(parts) => parts.iter().any(|part| part.holds(file)),
            }
        }
    }

    fn plain() -> impl Strategy<Value = Plain> {
        (0..6u32).prop_map(Plain::Has).prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Plain::And),
                proptest::collection::vec(inner, 0..4).prop_map(Plain::Or),
            ]
        })
    }

    proptest! {
        #[test]
        fn simplifying_changes_nothing(plain in plain()) {
            let need = plain.simplified();
            for file in 0..1 << 6 {
                prop_assert_eq!(need.holds(&|trigram| file >> trigram & 1 == 1), plain.holds(file));
            }
        }
    }
}
