//! Decides whether an effect is allowed, denied or needs approval, and explains why.
//!
//! A [`Policy`] is a mode and a list of rules. It judges the [`Effect`]s of a proposal, never the
//! words of a model, and says which rule decided and why. Everything here is a pure function of
//! its arguments: the time is handed in, nothing is read.

pub mod command;
mod effect;
mod expiry;
mod host;
mod judgement;
mod mode;
mod pattern;
mod protected;
mod rule;
mod self_test;
mod suggestion;
mod table;

pub use command::CommandPattern;
pub(crate) use effect::effects_of;
pub use effect::{Effect, EffectKind};
pub use host::{HostPattern, InvalidHost, WebTarget};
pub(crate) use judgement::PolicyAction;
pub use judgement::PolicyVerdict;
pub use mode::{ApprovalMode, CommandMode, Decision};
pub use pattern::{InvalidPattern, PathPattern, ToolPattern};
pub(crate) use protected::protection;
pub use rule::{Rule, RuleSource};
pub use self_test::FailedExample;
pub(crate) use suggestion::{in_words, suggest_rule};
pub use table::{PolicyTable, ProjectPolicyTable};

use rule::CompiledRule;

/// A mode and the rules that refine it.
#[derive(Clone, Debug)]
pub struct Policy {
    mode: ApprovalMode,
    commands: CommandMode,
    asks_unnamed: bool,
    rules: Vec<CompiledRule>,
}

impl Policy {
    /// A policy of these rules. The order of rules means nothing: a denial beats a question, which
    /// beats a permission.
    ///
    /// An `allow` of a project is dropped. Its file cannot say so in the first place, and
    /// opening a project must not widen rights in any other way.
    pub fn new(mode: ApprovalMode, rules: impl IntoIterator<Item = Rule>) -> Self {
        let widens =
            |rule: &Rule| rule.decision == Decision::Allow && rule.source == RuleSource::Project;
        let rules = rules.into_iter().filter(|rule| !widens(rule)).map(CompiledRule::new);
        let (commands, rules) = (CommandMode::default(), rules.collect());
        Self { mode, commands, asks_unnamed: false, rules }
    }

    /// The same policy with another answer to commands that can reach nothing.
    #[must_use]
    pub fn with_commands(mut self, commands: CommandMode) -> Self {
        self.commands = commands;
        self
    }

    /// The same policy, but no rule lets a request pass whose address the model has made up.
    #[must_use]
    pub fn asking_about_unnamed(mut self, asks: bool) -> Self {
        self.asks_unnamed = asks;
        self
    }

    /// The same policy with those of its rules that `counts` accepts.
    #[must_use]
    pub(crate) fn with_rules_that(&self, counts: impl Fn(&Rule) -> bool) -> Self {
        let mut policy = self.clone();
        policy.rules.retain(|compiled| counts(&compiled.rule));
        policy
    }

    /// The same policy with one more rule.
    #[must_use]
    pub(crate) fn with_rule(mut self, rule: Rule) -> Self {
        self.rules.push(CompiledRule::new(rule));
        self
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
