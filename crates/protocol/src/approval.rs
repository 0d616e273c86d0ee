//! The question that the user is asked before an effect, and the answer.

use std::collections::BTreeMap;
use std::fmt;

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
    /// Why the user is asked.
    pub reason: String,
    /// Whether `reason` says no more than that no rule allows it, so that a short question can leave it
    /// out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_routine: bool,
    /// Exactly what would happen.
    pub proposal: Proposal,
    /// The hash of `proposal`; an answer holds for this and nothing else.
    pub proposal_hash: ContentHash,
    /// What the changes look like, made from `proposal` and the files as they are.
    pub diffs: Vec<FileDiff>,
    /// What "always" would let pass from now on, in words; absent if no rule can say exactly that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembers: Option<String>,
    /// How long the question stands, in milliseconds; after that the answer is no.
    pub expires_in_ms: u64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The user's answer to an [`ApprovalRequest`].
///
/// An approval is made by [`ApprovalRequest::approve`] and carries the hash of the proposal in that
/// request. One that was read from JSON may lack it; it then approves nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResponse {
    approved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proposal_hash: Option<ContentHash>,
    /// Other arguments to run the tool with instead; they make a new proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_args: Option<Map<String, Value>>,
    /// Other bytes for some of the files, by path; they make a new proposal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modified_files: BTreeMap<String, FileBytes>,
    /// For some of the files, by path, the only parts that are wanted, as [`FileDiff::parts`] counts
    /// them; they make a new proposal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accepted_hunks: BTreeMap<String, Vec<usize>>,
    /// Whether the rule that the request offered is to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<Remember>,
    /// What the user wants the model to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the user wants the model to know about single lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<LineComment>,
    /// The user of a team that has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A remark of the user about a line of a proposed change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineComment {
    /// The file.
    pub path: String,
    /// The line as it would be after the change, from 1.
    pub line: usize,
    /// What is said about it.
    pub text: String,
}

impl fmt::Display for LineComment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// How far a remembered yes goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// What [`ApprovalRequest::remembers`] says, until the session is left.
    Session,
    /// What it says, for good: kept in the user's own state for this project. Logs of earlier
    /// versions call it otherwise.
    #[serde(alias = "files", alias = "directories", alias = "as_offered")]
    Project,
}

impl ApprovalRequest {
    /// A yes to exactly this proposal.
    pub fn approve(&self) -> ApprovalResponse {
        let proposal_hash = Some(self.proposal_hash);
        ApprovalResponse { approved: true, proposal_hash, ..ApprovalResponse::default() }
    }

    /// A yes, after which the same need not be asked again, ever.
    pub fn approve_always(&self) -> ApprovalResponse {
        self.approve_and_remember(Remember::Project)
    }

    /// A yes, after which the same need not be asked again for so long.
    pub fn approve_and_remember(&self, scope: Remember) -> ApprovalResponse {
        ApprovalResponse { remember: Some(scope), ..self.approve() }
    }

    /// Whether a yes to this request that is remembered answers `other` too: the same rule would let
    /// both pass.
    pub fn remembers_the_same_as(&self, other: &Self) -> bool {
        self.remembers.is_some() && self.remembers == other.remembers
    }

    /// A yes to another call of the same tool, which is shown before anything is done.
    pub fn with_arguments(&self, arguments: Map<String, Value>) -> ApprovalResponse {
        ApprovalResponse { modified_args: Some(arguments), ..self.approve() }
    }

    /// A yes to other bytes for these files, which are shown before anything is done.
    pub fn with_files(&self, files: BTreeMap<String, FileBytes>) -> ApprovalResponse {
        ApprovalResponse { modified_files: files, ..self.approve() }
    }

    /// A yes to these parts of these files, which are shown before anything is done.
    pub fn with_hunks(&self, hunks: BTreeMap<String, Vec<usize>>) -> ApprovalResponse {
        ApprovalResponse { accepted_hunks: hunks, ..self.approve() }
    }
}

impl ApprovalResponse {
    /// A no, with a reason for the model if there is one.
    pub fn no(reason: Option<String>) -> Self {
        Self { reason, ..Self::default() }
    }

    /// Adds what the user wants the model to know.
    #[must_use]
    pub fn saying(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Adds what the user says about a line.
    #[must_use]
    pub fn commenting(mut self, comment: LineComment) -> Self {
        self.comments.push(comment);
        self
    }

    /// All that the user wants the model to know: the reason, then a line for each comment.
    pub fn said(&self) -> Option<String> {
        let comments = self.comments.iter().map(ToString::to_string);
        let said: Vec<String> = self.reason.iter().cloned().chain(comments).collect();
        (!said.is_empty()).then(|| said.join("\n"))
    }

    /// Whether the user said yes to something.
    pub fn is_approved(&self) -> bool {
        self.approved
    }

    /// Whether it is a yes to exactly the proposal with this hash.
    pub fn approves(&self, proposal: ContentHash) -> bool {
        self.approved && self.proposal_hash == Some(proposal)
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
            is_routine: false,
            proposal_hash: proposal.hash(),
            proposal,
            diffs: Vec::new(),
            remembers: None,
            expires_in_ms: 600_000,
        };
        let json = serde_json::to_value(&request).unwrap();
        let keys: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        let specified = ["stepId", "tool", "args", "reason"];
        assert_eq!(keys[..4], specified);
        assert_eq!(keys[4..], ["proposal", "proposalHash", "diffs", "expiresInMs"]);
        let edited = request.with_arguments(Map::new());
        assert_eq!(
            serde_json::to_string(&edited).unwrap(),
            format!(
                r#"{{"approved":true,"proposalHash":"{}","modifiedArgs":{{}}}}"#,
                request.proposal_hash
            )
        );
    }

    #[test]
    fn a_yes_is_bound_to_what_was_shown_and_one_without_it_approves_nothing() {
        let hash = ContentHash::of(b"shown");
        let unbound: ApprovalResponse = serde_json::from_str(r#"{"approved":true}"#).unwrap();
        assert!(unbound.is_approved() && !unbound.approves(hash));
        let text = format!(r#"{{"approved":false,"proposalHash":"{hash}"}}"#);
        let no: ApprovalResponse = serde_json::from_str(&text).unwrap();
        assert!(!no.approves(hash));
    }

    #[test]
    fn answers_in_logs_of_earlier_versions_can_be_read() {
        for scope in ["files", "directories", "as_offered", "project"] {
            let text = format!(r#"{{"approved":true,"remember":"{scope}"}}"#);
            let answer: ApprovalResponse = serde_json::from_str(&text).unwrap();
            assert_eq!(answer.remember, Some(Remember::Project));
        }
    }

    #[test]
    fn the_model_is_told_the_reason_and_every_comment_with_its_line() {
        let comment =
            |line, text: &str| LineComment { path: "a.rs".into(), line, text: text.into() };
        let no = ApprovalResponse::no(None);
        assert_eq!(no.said(), None);
        let no = no.commenting(comment(3, "use cents")).commenting(comment(9, "why?"));
        assert_eq!(no.said().as_deref(), Some("a.rs:3: use cents\na.rs:9: why?"));
        assert_eq!(no.saying("Not yet.").said().unwrap().lines().next(), Some("Not yet."));
    }
}
