//! The three answers of a policy and the three modes it can be in.

use protocol::UnknownName;
use serde::{Deserialize, Serialize};

/// What a policy says about an action. The order is from narrow to wide, so that the smaller of two
/// decisions is the safer one.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownName, parse_err_fn = Decision::unknown)]
pub enum Decision {
    /// It does not happen.
    Deny,
    /// The approver decides.
    Ask,
    /// It happens.
    Allow,
}

protocol::names_of!(Decision, "decision");

/// What happens where no rule decides. The order is from narrow to wide.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(
    serialize_all = "kebab-case",
    parse_err_ty = UnknownName,
    parse_err_fn = ApprovalMode::unknown
)]
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
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
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
        self.into()
    }
}

protocol::names_of!(ApprovalMode, "approval mode");

impl ApprovalMode {
    /// This mode, or the one that a project asks for if that is narrower.
    #[must_use]
    pub fn narrowed_by(self, project: Option<ApprovalMode>) -> ApprovalMode {
        project.map_or(self, |project| project.min(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_the_same_in_text_and_in_configuration() {
        for mode in ApprovalMode::ALL {
            assert_eq!(mode.as_str().parse::<ApprovalMode>().unwrap(), *mode);
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
        }
        for decision in Decision::ALL {
            assert_eq!(decision.as_str().parse::<Decision>().unwrap(), *decision);
            assert_eq!(serde_json::to_value(decision).unwrap(), decision.as_str());
        }
        let error = "yolo".parse::<ApprovalMode>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown approval mode `yolo`; there are read-only, strict and workspace"
        );
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
