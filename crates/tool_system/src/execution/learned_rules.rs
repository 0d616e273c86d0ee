//! The rules that the user's answers have made, and those that were taken back, since the policy was
//! read.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::Revocation;
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
    /// The last revocation by another process that was taken into account, by the id of the rule.
    elsewhere: HashMap<String, i64>,
    changes: usize,
}

impl Learned {
    fn revoke(&mut self, id: &str) {
        self.rules.retain(|rule| rule.id() != id);
        self.revoked.push(id.to_owned());
        self.changes += 1;
    }
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
        locked(&self.0).revoke(id);
    }

    /// The same for rules that were taken back by other processes. Each revocation is taken into account once, so that
    /// a rule that is made again counts again.
    pub(crate) fn take_back(&self, revocations: Vec<Revocation>) {
        let mut learned = locked(&self.0);
        for Revocation { rule, number } in revocations {
            if learned.elsewhere.get(&rule) != Some(&number) {
                learned.revoke(&rule);
                learned.elsewhere.insert(rule, number);
            }
        }
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

    #[test]
    fn each_revocation_elsewhere_counts_once() {
        let remembered = Rule::new(Decision::Allow, RuleSource::Remembered);
        let policy = Policy::new(ApprovalMode::default(), [remembered.clone()]);
        let learned = LearnedRules::default();
        let count = || learned.added_to(&policy).rules().count();
        let revoked = |number| vec![Revocation { rule: remembered.id(), number }];
        learned.take_back(revoked(1));
        assert_eq!(count(), 0);
        // It is made again here, and is taken back again elsewhere.
        learned.add(remembered.clone());
        let changes = learned.changes();
        learned.take_back(revoked(1));
        assert_eq!((count(), learned.changes()), (2, changes));
        learned.take_back(revoked(2));
        assert_eq!(count(), 0);
    }
}
