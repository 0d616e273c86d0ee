//! The three answers of a policy and the three moods it can be in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a policy says about an action. The order is from narrow to wide, so that the smaller of two
/// decisions is the safer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It does not happen.
    Deny,
    /// A person decides.
    Ask,
    /// It happens.
    Allow,
}

impl Decision {
    /// All decisions, from narrow to wide.
    pub const ALL: [Decision; 3] = [Decision::Deny, Decision::Ask, Decision::Allow];

    /// The spelling in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Deny => "deny",
            Decision::Ask => "ask",
            Decision::Allow => "allow",
        }
    }
}

/// What happens where no rule decides. The order is from narrow to wide.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Nothing is written. Commands that can reach nothing run all the same.
    ReadOnly,
    /// Every change asks.
    #[default]
    Strict,
    /// New files, new directories and moves that replace nothing pass; everything else asks.
    Workspace,
}

/// What happens with commands that can reach nothing: they work on a copy, without network. The order
/// is from narrow to wide.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum CommandMode {
    /// Each is asked about before it runs, unless a rule allows it.
    Ask,
    /// They run. What they would leave behind is asked about.
    #[default]
    Run,
}

impl CommandMode {
    /// The spelling in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            CommandMode::Ask => "ask",
            CommandMode::Run => "run",
        }
    }
}

impl ApprovalMode {
    /// All modes, from narrow to wide.
    pub const ALL: [ApprovalMode; 3] =
        [ApprovalMode::ReadOnly, ApprovalMode::Strict, ApprovalMode::Workspace];

    /// The spelling in configuration and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalMode::ReadOnly => "read-only",
            ApprovalMode::Strict => "strict",
            ApprovalMode::Workspace => "workspace",
        }
    }

    /// This mode, or the one that a project asks for if that is narrower.
    #[must_use]
    pub fn narrowed_by(self, project: Option<ApprovalMode>) -> ApprovalMode {
        project.map_or(self, |project| project.min(self))
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ApprovalMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not one of the decisions.
#[derive(Debug, thiserror::Error)]
#[error("unknown decision `{0}`; there are deny, ask and allow")]
pub struct UnknownDecision(String);

/// The text is not the name of a mode.
#[derive(Debug, thiserror::Error)]
#[error("unknown approval mode `{0}`; there are strict, workspace and read-only")]
pub struct UnknownMode(String);

impl FromStr for Decision {
    type Err = UnknownDecision;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|decision| decision.as_str() == text);
        found.ok_or_else(|| UnknownDecision(text.to_owned()))
    }
}

impl FromStr for ApprovalMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        found.ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_the_same_in_text_and_in_configuration() {
        for mode in ApprovalMode::ALL {
            assert_eq!(mode.as_str().parse::<ApprovalMode>().unwrap(), mode);
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
        }
        for decision in Decision::ALL {
            assert_eq!(decision.as_str().parse::<Decision>().unwrap(), decision);
            assert_eq!(serde_json::to_value(decision).unwrap(), decision.as_str());
        }
        assert!("yolo".parse::<ApprovalMode>().is_err());
    }

    #[test]
    fn a_project_only_narrows_the_mode() {
        use ApprovalMode::*;
        assert_eq!(Workspace.narrowed_by(Some(Strict)), Strict);
        assert_eq!(Strict.narrowed_by(Some(Workspace)), Strict);
        assert_eq!(Strict.narrowed_by(Some(ReadOnly)), ReadOnly);
        assert_eq!(Workspace.narrowed_by(None), Workspace);
    }
}
