//! The rules that a user's "always" and `/allow` have made, kept with the project's state.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tool_system::policy::{Rule, RuleSource};
use workspace::{StateDir, Workspace};

use super::project_file;

/// The file in the state directory.
const FILE: &str = "rules.toml";

/// The remembered rules of one project.
pub(crate) struct Remembered {
    workspace: Arc<Workspace>,
    state: StateDir,
}

#[derive(Default, Serialize, Deserialize)]
struct RememberedRules {
    /// From answers to questions; they hold for exactly what was shown.
    #[serde(default)]
    rules: Vec<Rule>,
    /// As the user typed them.
    #[serde(default)]
    typed: Vec<Rule>,
}

impl Remembered {
    pub(crate) fn new(workspace: Arc<Workspace>, state: StateDir) -> Self {
        Self { workspace, state }
    }

    /// All rules that are remembered.
    pub(crate) fn rules(&self) -> anyhow::Result<Vec<Rule>> {
        let RememberedRules { rules, typed } =
            project_file::read(&self.workspace, &self.state, FILE)?;
        let from = |source: RuleSource| move |rule: Rule| Rule { source, ..rule };
        let answers = rules.into_iter().map(from(RuleSource::Remembered));
        Ok(answers.chain(typed.into_iter().map(from(RuleSource::CommandLine))).collect())
    }

    /// Forgets the rule with this id. Answers whether there was one.
    pub(crate) fn revoke(&self, id: &str) -> anyhow::Result<bool> {
        let mut rules = self.rules()?;
        let before = rules.len();
        rules.retain(|rule| rule.id() != id);
        let found = rules.len() < before;
        if found {
            self.write(rules)?;
        }
        Ok(found)
    }

    /// Keeps a rule, once.
    pub(crate) fn keep(&self, rule: &Rule) -> anyhow::Result<()> {
        let mut rules = self.rules()?;
        if rules.iter().all(|known| known.id() != rule.id()) {
            rules.push(rule.clone());
        }
        self.write(rules)
    }

    fn write(&self, rules: Vec<Rule>) -> anyhow::Result<()> {
        let is_answer = |rule: &Rule| rule.source == RuleSource::Remembered;
        let (rules, typed) = rules.into_iter().partition(is_answer);
        project_file::write(&self.workspace, &self.state, FILE, RememberedRules { rules, typed })
    }
}
