//! The `[policy]` table of configuration files.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{ApprovalMode, CommandMode, Decision, Rule, RuleSource};

/// The `[policy]` table of the user's own file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyTable {
    /// The mode; strict if absent.
    pub mode: Option<ApprovalMode>,
    /// Whether commands that can reach nothing are asked about; they are not if absent.
    pub commands: Option<CommandMode>,
    /// In the order of the file.
    pub rules: Vec<Rule>,
}

/// The `[policy]` table of a project's file. It can deny and ask; it cannot allow, because whoever
/// opens a project must not get wider rights from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectPolicyTable {
    /// The mode; it counts only where it is narrower than the user's.
    pub mode: Option<ApprovalMode>,
    /// Counts only where it is narrower than the user's.
    pub commands: Option<CommandMode>,
    /// The rules, none of which allows.
    #[serde(deserialize_with = "narrowing_rules")]
    pub rules: Vec<Rule>,
}

impl PolicyTable {
    /// The rules, marked with where they come from.
    pub fn into_rules(self, source: RuleSource) -> Vec<Rule> {
        self.rules.into_iter().map(|rule| Rule { source, ..rule }).collect()
    }
}

fn narrowing_rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    let rules = Vec::<Rule>::deserialize(deserializer)?;
    if let Some(rule) = rules.iter().find(|rule| rule.decision == Decision::Allow) {
        return Err(D::Error::custom(format!(
            "a project's rules may deny or ask, not allow (`{rule}`): a project must not \
             widen what you allow; put the rule into your own configuration"
        )));
    }
    Ok(rules.into_iter().map(|rule| Rule { source: RuleSource::Project, ..rule }).collect())
}
