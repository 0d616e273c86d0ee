//! What the user makes of a proposal: some parts of it, or other bytes.

use std::collections::BTreeSet;

use protocol::{
    ApprovalRequest, ApprovalResponse, Change, DiffKind, ErrorCode, FileDiff, Proposal, ToolError,
    apply_selected,
};
use serde_json::{Map, Value};

use super::{ApprovalGate, before};
use crate::proposing::{AnswerDiff, answer_diff};
use crate::{Proposed, ToolContext};

impl ApprovalGate<'_> {
    /// The proposal with the parts and the bytes that the user wants instead.
    pub(super) async fn revised(
        &self,
        proposed: &Proposed,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> Result<Proposed, ToolError> {
        let Proposal::Changes(set) = &proposed.proposal else {
            return Err(invalid("only file changes can be edited".into()));
        };
        let changes: Vec<(Change, FileDiff)> =
            set.changes.iter().cloned().zip(request.diffs.iter().cloned()).collect();
        let (answer, purpose, unseen) =
            (proposed.answer.clone(), proposed.purpose.clone(), proposed.unseen);
        self.cx
            .blocking(move |cx| {
                let Revision { changes, remark } = Revision::of(cx, changes, &response)?;
                let answer = Some(told(cx, answer, &changes, &remark)?);
                let proposal = Proposal::Changes(protocol::ChangeSet { changes });
                // A part of an undo leaves the rest of it to be undone.
                Ok(Proposed { proposal, purpose, answer, takes_back: None, unseen })
            })
            .await
    }
}

/// What is left of the changes, and what the user has done to them.
struct Revision {
    changes: Vec<Change>,
    remark: String,
}

impl Revision {
    fn of(
        cx: &ToolContext,
        changes: Vec<(Change, FileDiff)>,
        response: &ApprovalResponse,
    ) -> Result<Self, ToolError> {
        let is_part = |diff: &FileDiff| diff.kind != DiffKind::MakeDir;
        let named: BTreeSet<&str> = changes
            .iter()
            .filter(|(_, diff)| is_part(diff))
            .map(|(_, diff)| diff.path.as_str())
            .collect();
        let mut wanted = response.modified_files.keys().chain(response.accepted_hunks.keys());
        if let Some(path) = wanted.find(|path| !named.contains(path.as_str())) {
            return Err(invalid(format!("the proposal does not change {path}")));
        }
        let parts: usize =
            changes.iter().map(|(_, diff)| diff).filter(|d| is_part(d)).map(FileDiff::parts).sum();
        let before: Vec<Change> = changes.iter().map(|(change, _)| change.clone()).collect();
        let (mut left_out, mut edited) = (0, Vec::new());
        let mut kept = Vec::new();
        for (mut change, diff) in changes {
            if let Some(accepted) =
                response.accepted_hunks.get(&diff.path).filter(|_| is_part(&diff))
            {
                let accepted: BTreeSet<usize> = accepted.iter().copied().collect();
                if let Some(number) = accepted.iter().find(|number| **number >= diff.parts()) {
                    return Err(invalid(format!("{} has no part {number}", diff.path)));
                }
                left_out += diff.parts() - accepted.len();
                if accepted.is_empty() {
                    continue;
                }
                select(cx, &mut change, &diff, &Vec::from_iter(accepted))?;
            }
            if let (Some(bytes), Change::Write { content, path, .. }) =
                (response.modified_files.get(&diff.path), &mut change)
            {
                content.clone_from(bytes);
                edited.push(path.clone());
            }
            kept.push(change);
        }
        let changes = without_empty_directories(&before, kept);
        if changes.is_empty() {
            let message = "the user left out every part of the proposal; nothing was changed";
            return Err(ToolError::new(ErrorCode::Rejected, message));
        }
        let mut remark = String::new();
        if left_out > 0 {
            remark.push_str(&format!("The user left out {left_out} of {parts} hunks. "));
        }
        if !edited.is_empty() {
            remark.push_str(&format!("The user edited {}. ", edited.join(", ")));
        }
        Ok(Self { changes, remark })
    }
}

/// Makes a change of text one of only these hunks.
fn select(
    cx: &ToolContext,
    change: &mut Change,
    diff: &FileDiff,
    accepted: &[usize],
) -> Result<(), ToolError> {
    if accepted.len() < diff.parts() {
        let old = before(cx, change)?.unwrap_or_default();
        if let Change::Write { content, .. } = change {
            content.0 = apply_selected(&old, &content.0, accepted);
        }
    }
    Ok(())
}

/// Directories that were only made for what is left out are not made.
fn without_empty_directories(before: &[Change], kept: Vec<Change>) -> Vec<Change> {
    let lies_in = |directory: &str, change: &Change| {
        let inside = |path: &&str| path.strip_prefix(directory).is_some_and(|p| p.starts_with('/'));
        !matches!(change, Change::MakeDir { .. }) && change.paths().iter().any(inside)
    };
    let needed = |change: &Change| match change {
        Change::MakeDir { path, .. } => {
            let had_use = before.iter().any(|other| lies_in(path, other));
            !had_use || kept.iter().any(|other| lies_in(path, other))
        }
        _ => true,
    };
    kept.iter().filter(|change| needed(change)).cloned().collect()
}

/// The answer for when the revision is made: exactly what is applied, and nothing of what was
/// proposed beyond it.
fn told(
    cx: &ToolContext,
    answer: Option<Value>,
    changes: &[Change],
    remark: &str,
) -> Result<Value, ToolError> {
    let old = changes.iter().map(|change| before(cx, change)).collect::<Result<Vec<_>, _>>()?;
    let pairs: Vec<_> = changes.iter().zip(old.iter().map(Option::as_deref)).collect();
    let mut answer = match answer {
        Some(Value::Object(answer)) => answer,
        // A command is reported with the paths that it changed.
        _ => {
            let paths = changes.iter().flat_map(Change::paths).collect::<Value>();
            Map::from_iter([("paths".to_owned(), paths)])
        }
    };
    let earlier = answer.get("edited_by_user").and_then(Value::as_str);
    let earlier = earlier.and_then(|text| text.split_once("`diff`")).map_or("", |(text, _)| text);
    let edited = format!("{earlier}{remark}`diff` is exactly what was applied.");
    describe(&mut answer, changes);
    let AnswerDiff { diff, added, removed } = answer_diff(&pairs);
    answer.insert("diff".into(), diff.into());
    answer.insert("added".into(), added.into());
    answer.insert("removed".into(), removed.into());
    answer.insert("edited_by_user".into(), edited.into());
    Ok(Value::Object(answer))
}

/// Corrects what tools say of a change set: sizes, names and places.
fn describe(answer: &mut Map<String, Value>, changes: &[Change]) {
    for place in ["applied", "lines", "hints"] {
        if let Some(Value::Array(places)) = answer.get_mut(place) {
            places.clear();
        }
    }
    for words in ["message", "preview"] {
        answer.shift_remove(words);
    }
    let paths: BTreeSet<&str> = changes.iter().flat_map(Change::paths).collect();
    for list in ["files", "paths", "deleted"] {
        if let Some(Value::Array(names)) = answer.get_mut(list) {
            names.retain(|name| name.as_str().is_some_and(|name| paths.contains(name)));
        }
    }
    let mut writes = changes.iter().filter_map(|change| match change {
        Change::Write { content, .. } => Some(&content.0),
        _ => None,
    });
    if let (Some(content), None) = (writes.next(), writes.next()) {
        let lines = content.iter().filter(|byte| **byte == b'\n').count()
            + usize::from(content.last().is_some_and(|byte| *byte != b'\n'));
        for (key, number) in [("size", content.len()), ("total_lines", lines)] {
            if let Some(told) = answer.get_mut(key).filter(|told| told.is_number()) {
                *told = number.into();
            }
        }
    }
}

fn invalid(message: String) -> ToolError {
    ToolError::new(ErrorCode::InvalidArguments, message)
}
