//! A question to the user about a call, and the answer, in words.

use protocol::{ApprovalRequest, ApprovalResponse, Proposal, QuestionText};
use serde::Serialize;

use crate::safe_text::one_line;

/// What the user was asked about a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CardQuestion {
    /// When: milliseconds since 1970, UTC.
    pub at: i64,
    /// Why, on one line.
    pub reason: String,
    /// What a careful reader should know first, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The command or the web request. Changes of files are the card's diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// What "always" would mean, on one line; absent where it is not offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
    /// The answer; absent while the question stands, or if the call ended without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reply {
    /// When: milliseconds since 1970, UTC.
    pub at: i64,
    /// Whether it was a yes.
    pub approved: bool,
    /// Whether it was a yes to other arguments, to other content or to a part of the changes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub revised: bool,
    /// The answer on one line: `approved in part`, `refused: not this file`.
    pub words: String,
}

impl CardQuestion {
    pub(crate) fn of(request: &ApprovalRequest, at: i64) -> Self {
        // The diff is not taken from the text.
        let QuestionText { reason, warnings, what, always, .. } = QuestionText::of(request, 0);
        let what = match request.proposal {
            Proposal::Changes(_) => None,
            Proposal::Command(_) | Proposal::Web(_) => Some(what),
        };
        Self { at, reason, warnings, what, always, reply: None }
    }
}

impl Reply {
    pub(crate) fn of(response: &ApprovalResponse, at: i64) -> Self {
        let approved = response.is_approved();
        let said = response.reason.as_deref().map(one_line).filter(|said| !said.is_empty());
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        let revised = approved
            && (response.modified_args.is_some()
                || !response.modified_files.is_empty()
                || !response.accepted_hunks.is_empty());
        Self { at, approved, revised, words: format!("{}{said}", decision(response)) }
    }
}

fn decision(response: &ApprovalResponse) -> &'static str {
    if !response.is_approved() {
        "refused"
    } else if response.modified_args.is_some() {
        "approved with other arguments"
    } else if !response.modified_files.is_empty() {
        "approved with other content"
    } else if !response.accepted_hunks.is_empty() {
        "approved in part"
    } else if response.remember.is_some() {
        "approved, and always from now on"
    } else {
        "approved"
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use protocol::{ChangeSet, FileBytes};
    use serde_json::Map;

    use super::*;

    #[test]
    fn every_answer_has_its_words() {
        let proposal = Proposal::Changes(ChangeSet::default());
        let request = ApprovalRequest {
            step_id: "c".into(),
            tool: "edit_file".into(),
            args: Map::new(),
            reason: "needs approval".into(),
            proposal_hash: proposal.hash(),
            proposal,
            diffs: Vec::new(),
            remembers: None,
            expires_in_ms: 1,
        };
        let files = BTreeMap::from([("a".to_owned(), FileBytes(b"x".to_vec()))]);
        let hunks = BTreeMap::from([("a".to_owned(), vec![0])]);
        let table = [
            (request.approve(), "approved"),
            (request.approve_always(), "approved, and always from now on"),
            (request.with_arguments(Map::new()), "approved with other arguments"),
            (request.with_files(files), "approved with other content"),
            (request.with_hunks(hunks).saying("only\nthis"), "approved in part: only this"),
            (ApprovalResponse::no(None), "refused"),
            (ApprovalResponse::no(Some("no\u{1b}[2J".into())), "refused: no\\x1B[2J"),
        ];
        for (response, words) in table {
            assert_eq!(Reply::of(&response, 7).words, words);
        }
        assert_eq!(CardQuestion::of(&request, 7).what, None);
    }
}
