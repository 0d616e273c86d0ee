//! The rules that a person's "always" has made, kept with the project's state.

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use tool_system::policy::{Rule, RuleSource};
use workspace::StateDir;

/// The file in the state directory.
const FILE: &str = "rules.toml";
/// More than anybody ever answers.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The remembered rules of one project.
pub(crate) struct Remembered {
    state: StateDir,
}

#[derive(Default, Serialize, Deserialize)]
struct Rules {
    #[serde(default)]
    rules: Vec<Rule>,
}

impl Remembered {
    pub(crate) fn new(state: StateDir) -> Self {
        Self { state }
    }

    /// All rules that are remembered.
    pub(crate) fn rules(&self) -> anyhow::Result<Vec<Rule>> {
        let Some(bytes) = self.state.read(FILE, MAX_FILE_BYTES)? else { return Ok(Vec::new()) };
        let text = String::from_utf8(bytes).context("the remembered rules are not UTF-8")?;
        let file: Rules = toml::from_str(&text).context("the remembered rules are damaged")?;
        let remembered = |rule| Rule { source: RuleSource::Remembered, ..rule };
        Ok(file.rules.into_iter().map(remembered).collect())
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
        let text = toml::to_string(&Rules { rules })?;
        Ok(self.state.replace(FILE, text.as_bytes())?)
    }
}
