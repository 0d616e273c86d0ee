//! The question a person is asked before an effect, and the answer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ContentHash, Proposal};

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
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResponse {
    /// Whether the proposal may be performed.
    pub approved: bool,
    /// Other arguments to run the tool with instead; they make a new proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_args: Option<Map<String, Value>>,
    /// What the person wants the model to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ApprovalResponse {
    /// A plain yes.
    pub fn yes() -> Self {
        Self { approved: true, modified_args: None, reason: None }
    }

    /// A no, with a reason for the model if there is one.
    pub fn no(reason: Option<String>) -> Self {
        Self { approved: false, modified_args: None, reason }
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
        };
        let json = serde_json::to_value(&request).unwrap();
        let keys: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["stepId", "tool", "args", "reason", "proposal", "proposalHash"]);
        let edited =
            ApprovalResponse { modified_args: Some(Map::new()), ..ApprovalResponse::yes() };
        assert_eq!(
            serde_json::to_string(&edited).unwrap(),
            r#"{"approved":true,"modifiedArgs":{}}"#
        );
    }
}
