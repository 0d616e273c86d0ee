//! The rules that the user's answers have made, and those that were taken back, since the policy was
//! read.

use std::sync::Mutex;

use crate::locked::locked;
use crate::policy::{Policy, Rule, RuleSource};

/// Rules that were made while executors run. Those of one session share them, its sub-agents included,
/// so that an answer to one holds for all.
#[derive(Debug, Default)]
pub struct LearnedRules(Mutex<Learned>);

#[derive(Debug, Default)]
struct Learned {
    rules: Vec<Rule>,
    /// The ids of kept rules that do not count any more.
    revoked: Vec<String>,
    changes: usize,
}

impl LearnedRules {
    /// Adds a rule that counts from now on.
    pub(crate) fn add(&self, rule: Rule) {
        let mut learned = locked(&self.0);
        let id = rule.id();
        learned.revoked.retain(|revoked| *revoked != id);
        learned.rules.retain(|known| known.id() != id);
        learned.rules.push(rule);
        learned.changes += 1;
    }

    /// Takes a rule back that was learned or remembered. It does not count from now on.
    pub(crate) fn revoke(&self, id: &str) {
        let mut learned = locked(&self.0);
        learned.rules.retain(|rule| rule.id() != id);
        learned.revoked.push(id.to_owned());
        learned.changes += 1;
    }

    /// Grows with every change.
    pub(crate) fn changes(&self) -> usize {
        locked(&self.0).changes
    }

    /// The policy with all that was learned.
    pub(crate) fn added_to(&self, policy: &Policy) -> Policy {
        let learned = locked(&self.0);
        // What stands in a configuration file is taken back there.
        let counts = |rule: &Rule| match rule.source {
            RuleSource::User | RuleSource::Project => true,
            RuleSource::CommandLine | RuleSource::Remembered => {
                !learned.revoked.contains(&rule.id())
            }
        };
        let policy = policy.with_rules_that(counts);
        learned.rules.iter().cloned().fold(policy, Policy::with_rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{ApprovalMode, Decision};

    #[test]
    fn a_rule_counts_until_it_is_taken_back_and_again_when_it_is_made_again() {
        let rule = |decision, source| Rule::new(decision, source);
        let remembered = rule(Decision::Allow, RuleSource::Remembered);
        let configured = rule(Decision::Deny, RuleSource::User);
        let policy = Policy::new(ApprovalMode::default(), [remembered.clone(), configured.clone()]);
        let learned = LearnedRules::default();
        let ids = || -> Vec<String> { learned.added_to(&policy).rules().map(Rule::id).collect() };
        let (kept, fixed) = (remembered.id(), configured.id());
        assert_eq!(ids(), [kept.clone(), fixed.clone()]);
        let before = learned.changes();
        learned.revoke(&kept);
        learned.revoke(&fixed);
        assert_eq!(ids(), [fixed.as_str()]);
        assert_ne!(learned.changes(), before);
        learned.add(remembered.clone());
        learned.add(remembered);
        assert_eq!(ids(), [kept.clone(), fixed.clone(), kept.clone()]);
        learned.revoke(&kept);
        assert_eq!(ids(), [fixed]);
    }
}
