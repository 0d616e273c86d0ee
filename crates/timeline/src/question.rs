//! A question to the user about a call, and the answer, in words.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{
    ApprovalRequest, ApprovalResponse, DiffKind, FileDiff, Proposal, QuestionText, Remember,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::safe_text::one_line;

/// What the user was asked about a call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CardQuestion {
    /// When: milliseconds since 1970, UTC.
    pub at: i64,
    /// Why, on one line.
    pub reason: String,
    /// What a careful reader should know first, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The command, the web request or the call of a foreign tool. Changes of files are the card's diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// What "always" would mean, on one line; absent where it is not offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
    /// The answer; absent while the question stands, or if the call ended without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// How many parts can be accepted one by one in each file.
    #[serde(skip)]
    parts: BTreeMap<String, usize>,
    /// What the user has made of the proposal in the questions before this one.
    #[serde(skip)]
    revision: Option<String>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reply {
    /// When: milliseconds since 1970, UTC.
    pub at: i64,
    /// Whether it was a yes.
    pub approved: bool,
    /// Whether it was a yes to other arguments, to other content or to a part of the changes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub revised: bool,
    /// The answer on one line: `approved 2 of 5 hunks`, `refused: not this file`.
    pub words: String,
    /// The same without what the user has said.
    #[serde(skip)]
    decision: String,
}

impl CardQuestion {
    /// The question about a call, after `before` if that was asked about the same one.
    pub(crate) fn of(request: &ApprovalRequest, at: i64, before: Option<&Self>) -> Self {
        // The diff is not taken from the text.
        let QuestionText { reason, warnings, what, always, .. } = QuestionText::of(request, 0);
        let what = match request.proposal {
            Proposal::Changes(_) => None,
            Proposal::Command(_) | Proposal::Web(_) | Proposal::Foreign(_) => Some(what),
        };
        let is_part = |diff: &&FileDiff| diff.kind != DiffKind::MakeDir;
        let files = request.diffs.iter().filter(is_part);
        let parts = files.map(|diff| (diff.path.clone(), diff.parts())).collect();
        // What a command leaves behind is another proposal than the command.
        let before = before.filter(|before| before.what.is_some() == what.is_some());
        let revised = before.and_then(|before| before.reply.as_ref()).filter(|reply| reply.revised);
        let revision = revised.map(|reply| reply.decision.clone());
        Self { at, reason, warnings, what, always, reply: None, parts, revision }
    }

    /// The user has answered.
    pub(crate) fn answered(&mut self, response: &ApprovalResponse, at: i64) {
        let decision = self.decision(response);
        let said =
            response.said().map(|said| one_line(said.trim())).filter(|said| !said.is_empty());
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        let approved = response.is_approved();
        let revised = approved && (self.revision.is_some() || is_revision(response));
        let words = format!("{decision}{said}");
        self.reply = Some(Reply { at, approved, revised, words, decision });
    }

    /// What the user has decided about the proposal as the model made it.
    fn decision(&self, response: &ApprovalResponse) -> String {
        if !response.is_approved() {
            return "refused".to_owned();
        }
        let decided = if response.modified_args.is_some() {
            Some("approved with other arguments".to_owned())
        } else if !response.modified_files.is_empty() {
            Some("approved with other content".to_owned())
        } else if !response.accepted_hunks.is_empty() {
            Some(self.part(&response.accepted_hunks))
        } else {
            None
        };
        let decided = decided.or_else(|| self.revision.clone());
        let decided = decided.unwrap_or_else(|| "approved".to_owned());
        match response.remember {
            None => decided,
            Some(Remember::Session) => format!("{decided}, and always in this session"),
            Some(Remember::Project) => format!("{decided}, and always from now on"),
        }
    }

    /// How much of the proposal is accepted.
    fn part(&self, accepted: &BTreeMap<String, Vec<usize>>) -> String {
        let all: usize = self.parts.values().sum();
        let kept = self.parts.iter().map(|(path, count)| match accepted.get(path) {
            Some(numbers) => numbers.iter().collect::<BTreeSet<_>>().len().min(*count),
            None => *count,
        });
        match kept.sum::<usize>() {
            0 => "approved nothing of it".to_owned(),
            kept => format!("approved {kept} of {all} hunks"),
        }
    }
}

fn is_revision(response: &ApprovalResponse) -> bool {
    response.modified_args.is_some()
        || !response.modified_files.is_empty()
        || !response.accepted_hunks.is_empty()
}

#[cfg(test)]
mod tests {
    use protocol::{Base, Change, ChangeSet, FileBytes, LineComment};
    use serde_json::Map;

    use super::*;

    fn request() -> ApprovalRequest {
        let write = |path: &str| Change::Write {
            path: path.into(),
            base: Base::Absent,
            content: FileBytes(b"x\n".to_vec()),
            mode: None,
        };
        let changes = vec![write("a"), write("b")];
        let diffs = changes.iter().map(|change| FileDiff::of(change, None)).collect();
        let proposal = Proposal::Changes(ChangeSet { changes });
        ApprovalRequest {
            step_id: "c".into(),
            tool: "edit_file".into(),
            args: Map::new(),
            reason: "needs approval".into(),
            is_routine: false,
            proposal_hash: proposal.hash(),
            proposal,
            diffs,
            remembers: None,
            expires_in_ms: 1,
        }
    }

    fn reply(question: &mut CardQuestion, response: &ApprovalResponse) -> Reply {
        question.answered(response, 7);
        question.reply.clone().unwrap()
    }

    #[test]
    fn every_answer_has_its_words() {
        let request = request();
        let files = BTreeMap::from([("a".to_owned(), FileBytes(b"x".to_vec()))]);
        let without_a = BTreeMap::from([("a".to_owned(), Vec::new())]);
        let comment = LineComment { path: "a".into(), line: 3, text: "cents".into() };
        let table = [
            (request.approve(), "approved"),
            (request.approve_always(), "approved, and always from now on"),
            (
                request.approve_and_remember(Remember::Session),
                "approved, and always in this session",
            ),
            (request.with_arguments(Map::new()), "approved with other arguments"),
            (request.with_files(files), "approved with other content"),
            (request.with_hunks(without_a).saying("only\nb"), "approved 1 of 2 hunks: only b"),
            (ApprovalResponse::no(None), "refused"),
            (ApprovalResponse::no(None).commenting(comment), "refused: a:3: cents"),
            (ApprovalResponse::no(Some("no\u{1b}[2J".into())), "refused: no\\x1B[2J"),
        ];
        for (response, words) in table {
            let mut question = CardQuestion::of(&request, 7, None);
            assert_eq!(reply(&mut question, &response).words, words);
        }
        assert_eq!(CardQuestion::of(&request, 7, None).what, None);
    }

    #[test]
    fn a_yes_to_what_is_left_of_a_proposal_is_not_a_yes_to_all_of_it() {
        let request = request();
        let mut first = CardQuestion::of(&request, 1, None);
        let hunks = BTreeMap::from([("b".to_owned(), Vec::new())]);
        reply(&mut first, &request.with_hunks(hunks).saying("not b"));
        let mut second = CardQuestion::of(&request, 2, Some(&first));
        let yes = reply(&mut second, &request.approve());
        assert_eq!((yes.words.as_str(), yes.revised), ("approved 1 of 2 hunks", true));
        let mut third = CardQuestion::of(&request, 3, Some(&second));
        assert_eq!(reply(&mut third, &ApprovalResponse::no(None)).words, "refused");
    }
}
