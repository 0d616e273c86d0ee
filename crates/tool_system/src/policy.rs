//! Who may do what, explained.
//!
//! A [`Policy`] is a mode and a list of rules. It judges the [`Effect`]s of a proposal, never the
//! words of a model, and says which rule decided and why. Everything here is a pure function of
//! its arguments: the time is handed in, nothing is read.

pub mod command;
mod effect;
mod expiry;
mod judgement;
mod mode;
mod pattern;
mod protected;
mod rule;
mod self_test;
mod suggestion;
mod table;

pub use command::{CommandPattern, TreeFacts};
pub use effect::{Effect, EffectKind, effects_of, effects_with, needs_tree_facts};
pub use judgement::{Action, Verdict};
pub use mode::{ApprovalMode, Decision, UnknownDecision, UnknownMode};
pub use pattern::{InvalidPattern, PathPattern, ToolPattern};
pub use protected::{PROTECTED, ProtectedGroup, protection};
pub use rule::{Rule, RuleSource};
pub use self_test::Failure;
pub use suggestion::{in_words, suggest_rule};
pub use table::{PolicyTable, ProjectPolicyTable};

use rule::CompiledRule;

/// A mode and the rules that refine it.
#[derive(Clone, Debug)]
pub struct Policy {
    mode: ApprovalMode,
    rules: Vec<CompiledRule>,
}

impl Policy {
    /// A policy of these rules. The order of rules means nothing: a denial beats a question, which
    /// beats a permission.
    ///
    /// An `allow` of a project is dropped. Its file cannot say so in the first place, and whoever
    /// opens a project must not get wider rights from it on any other way.
    pub fn new(mode: ApprovalMode, rules: impl IntoIterator<Item = Rule>) -> Self {
        let widens =
            |rule: &Rule| rule.decision == Decision::Allow && rule.source == RuleSource::Project;
        let rules = rules.into_iter().filter(|rule| !widens(rule)).map(CompiledRule::new);
        Self { mode, rules: rules.collect() }
    }

    /// The mode, which decides where no rule does.
    pub fn mode(&self) -> ApprovalMode {
        self.mode
    }

    /// The rules, in the order they were given.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().map(|compiled| &compiled.rule)
    }
}

impl Default for Policy {
    /// Strict, without rules: every effect asks.
    fn default() -> Self {
        Self::new(ApprovalMode::default(), [])
    }
}

#[cfg(test)]
mod tests;
