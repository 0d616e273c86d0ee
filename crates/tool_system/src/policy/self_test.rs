//! Rules that check themselves against the examples written beside them.

use std::fmt;

use serde::Serialize;

use super::rule::CompiledRule;
use super::{Decision, Policy, protection};

/// An example that a rule does not live up to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The id of the rule.
    pub rule: String,
    /// The rule in words.
    pub description: String,
    /// The example.
    pub path: String,
    /// What is wrong.
    pub problem: &'static str,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { rule, description, path, problem } = self;
        write!(f, "rule {rule} ({description}): `{path}` {problem}")
    }
}

impl Policy {
    /// Checks every rule, also expired ones, against its own examples.
    pub fn self_test(&self) -> Vec<Failure> {
        self.rules.iter().flat_map(CompiledRule::failures).collect()
    }
}

impl CompiledRule {
    fn failures(&self) -> Vec<Failure> {
        let missing = self.rule.matches.iter().filter_map(|path| {
            let problem = if !self.matches_path(path) {
                "should match and does not"
            } else if self.rule.decision == Decision::Allow && protection(path, false).is_some() {
                "matches, but is protected: no rule can allow it"
            } else {
                return None;
            };
            Some((path, problem))
        });
        let forbidden = self.rule.never.iter().filter(|path| self.matches_path(path));
        let forbidden = forbidden.map(|path| (path, "must never match and does"));
        let failure = |(path, problem): (&String, &'static str)| Failure {
            rule: self.id.clone(),
            description: self.rule.to_string(),
            path: path.clone(),
            problem,
        };
        missing.chain(forbidden).map(failure).collect()
    }
}
