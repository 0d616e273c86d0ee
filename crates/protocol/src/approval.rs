//! The question a person is asked before an effect, and the answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ContentHash, FileBytes, FileDiff, Proposal};

/// Asks whether a proposal may be performed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The id of the call that asks.
    pub step_id: String,
    /// The tool, as the caller names it.
    pub tool: String,
    /// The arguments of the call.
    pub args: Map<String, Value>,
    /// Why a person is asked.
    pub reason: String,
    /// Exactly what would happen.
    pub proposal: Proposal,
    /// The hash of `proposal`; an answer holds for this and nothing else.
    pub proposal_hash: ContentHash,
    /// What the changes look like, made from `proposal` and the files as they are.
    pub diffs: Vec<FileDiff>,
    /// How long the question stands, in milliseconds; after that the answer is no.
    pub expires_in_ms: u64,
}

/// A person's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResponse {
    /// Whether the proposal may be performed.
    pub approved: bool,
    /// Other arguments to run the tool with instead; they make a new proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_args: Option<Map<String, Value>>,
    /// Other bytes for some of the files, by path; they make a new proposal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modified_files: BTreeMap<String, FileBytes>,
    /// For some of the files, by path, the only hunks that are wanted; they make a new proposal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accepted_hunks: BTreeMap<String, Vec<usize>>,
    /// Whether the same need not be asked again, and how far that goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<Remember>,
    /// What the person wants the model to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How far a remembered yes goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// This tool on these files.
    Files,
    /// This tool in the directories of these files.
    Directories,
}

impl ApprovalResponse {
    /// A plain yes.
    pub fn yes() -> Self {
        Self { approved: true, ..Self::default() }
    }

    /// A no, with a reason for the model if there is one.
    pub fn no(reason: Option<String>) -> Self {
        Self { reason, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChangeSet;

    #[test]
    fn requests_and_responses_have_the_specified_field_names() {
        let proposal = Proposal::Changes(ChangeSet::default());
        let request = ApprovalRequest {
            step_id: "s1".into(),
            tool: "write_file".into(),
            args: Map::new(),
            reason: "overwrites a file".into(),
            proposal_hash: proposal.hash(),
            proposal,
            diffs: Vec::new(),
            expires_in_ms: 600_000,
        };
        let json = serde_json::to_value(&request).unwrap();
        let keys: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        let specified = ["stepId", "tool", "args", "reason"];
        assert_eq!(keys[..4], specified);
        assert_eq!(keys[4..], ["proposal", "proposalHash", "diffs", "expiresInMs"]);
        let edited =
            ApprovalResponse { modified_args: Some(Map::new()), ..ApprovalResponse::yes() };
        assert_eq!(
            serde_json::to_string(&edited).unwrap(),
            r#"{"approved":true,"modifiedArgs":{}}"#
        );
    }
}
