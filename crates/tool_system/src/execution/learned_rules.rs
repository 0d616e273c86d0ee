//! The rules that the user's answers have made since the policy was read.

use std::sync::Mutex;

use crate::locked::locked;
use crate::policy::{Policy, Rule};

/// Rules that were made while executors run. Those of one session share them, its sub-agents included,
/// so that an answer to one holds for all.
#[derive(Debug, Default)]
pub struct LearnedRules(Mutex<Vec<Rule>>);

impl LearnedRules {
    /// Adds a rule that counts from now on.
    pub(crate) fn add(&self, rule: Rule) {
        locked(&self.0).push(rule);
    }

    /// How many there are. None is ever removed.
    pub(crate) fn count(&self) -> usize {
        locked(&self.0).len()
    }

    /// The policy with all of them.
    pub(crate) fn added_to(&self, policy: &Policy) -> Policy {
        let rules = locked(&self.0).clone();
        rules.into_iter().fold(policy.clone(), Policy::with_rule)
    }
}
