//! Rules that check themselves against the examples written beside them.

use std::fmt;

use serde::Serialize;

use super::rule::CompiledRule;
use super::{Decision, Policy, protection};

/// An example that contradicts its rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedExample {
    /// The id of the rule.
    pub rule: String,
    /// The rule in words.
    pub description: String,
    /// The example: a path or a command.
    pub example: String,
    /// What is wrong.
    pub problem: &'static str,
}

impl fmt::Display for FailedExample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FailedExample { rule, description, example, problem } = self;
        write!(f, "rule {rule} ({description}): `{example}` {problem}")
    }
}

impl Policy {
    /// Checks every rule, also expired ones, against its own examples.
    pub fn self_test(&self) -> Vec<FailedExample> {
        self.rules.iter().flat_map(CompiledRule::failures).collect()
    }
}

impl CompiledRule {
    fn failures(&self) -> Vec<FailedExample> {
        let missing = self.rule.matches.iter().filter_map(|example| {
            let problem = if !self.matches_example(example) {
                "should match and does not"
            } else if self.rule.decision == Decision::Allow
                && self.rule.command.is_empty()
                && protection(example, false).is_some()
            {
                "matches, but is protected: no rule can allow it"
            } else {
                return None;
            };
            Some((example, problem))
        });
        let forbidden = self.rule.never.iter().filter(|example| self.matches_example(example));
        let forbidden = forbidden.map(|example| (example, "must never match and does"));
        let failure = |(example, problem): (&String, &'static str)| FailedExample {
            rule: self.id.clone(),
            description: self.rule.to_string(),
            example: example.clone(),
            problem,
        };
        missing.chain(forbidden).map(failure).collect()
    }
}
