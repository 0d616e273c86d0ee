//! Proposing that changes be taken back.

use protocol::{Change, ErrorCode, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use workspace::{EntryId, Inverse, UndoTarget};

use crate::outcome_text::{
    OutcomeText, change_id, failed_checks, one_or_many, shown_changes, text_at, texts,
};
use crate::tool::json_of;
use crate::{Outcome, Proposed, TakesBack, ToolContext};

/// What was taken back or made again.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Undone {
    /// The changes concerned, by their `change_id`.
    changes: Vec<String>,
    /// The files that are as they were.
    paths: Vec<String>,
}

/// The change that a `change_id` names.
pub(crate) fn entry_id(id: &str) -> Result<EntryId, ToolError> {
    id.parse().map_err(|_| {
        ToolError::new(ErrorCode::InvalidArguments, format!("`{id}` is not a change_id"))
            .suggest("Use the change_id that the change was answered with.")
    })
}

/// Proposes the inverse of what `target` names. What the user may not see is not there.
pub(crate) async fn propose_inverse(
    cx: &ToolContext,
    target: UndoTarget,
) -> Result<Outcome, ToolError> {
    let Some(sight) = cx.history()?.sight() else {
        return cx.blocking(move |cx| proposed(&target, cx.history()?.inverse(&target)?)).await;
    };
    let sessions = cx.blocking(|cx| cx.history()?.sessions()).await?;
    let seen = sight.seen(sessions).await?;
    cx.blocking(move |cx| proposed(&target, cx.history()?.inverse_among(&target, &seen)?)).await
}

fn proposed(target: &UndoTarget, inverse: Inverse) -> Result<Outcome, ToolError> {
    let Inverse { set, undoes, role, .. } = inverse;
    if undoes.is_empty() {
        let message = match target {
            UndoTarget::LastUndo | UndoTarget::UndoOf(_) => "there is nothing to redo",
            _ => "there is nothing to undo",
        };
        return Err(ToolError::new(ErrorCode::FileNotFound, message));
    }
    let mut paths: Vec<String> =
        set.changes.iter().flat_map(Change::paths).map(str::to_owned).collect();
    paths.sort_unstable();
    paths.dedup();
    let answer = Undone { changes: undoes.iter().map(ToString::to_string).collect(), paths };
    let mut proposed = Proposed::changes(set, json_of(answer)?);
    proposed.takes_back = Some(TakesBack { entries: undoes, role });
    Ok(Outcome::Proposal(proposed))
}

/// What was taken back or made again, for a model.
pub(crate) fn undone_text(verb: &str, result: &Value) -> Option<String> {
    let (changes, paths) = (texts(result, "changes")?, texts(result, "paths")?);
    let noun = if changes.len() == 1 { "change" } else { "changes" };
    let (changes, paths) = (changes.join(", "), paths.join(", "));
    let done = change_id(result);
    let mut text = OutcomeText::new(format!("{verb} {noun} {changes}: {paths}{done}"));
    if text_at(result, "edited_by_user").is_some() {
        text.block(&shown_changes(text_at(result, "diff").unwrap_or_default()));
    }
    text.add_outcome(result);
    Some(text.finish())
}

/// The summary for the user.
pub(crate) fn undone_summary(verb: &str, result: &Value) -> Option<String> {
    let (changes, paths) = (texts(result, "changes")?, texts(result, "paths")?);
    let changes = match changes.as_slice() {
        [only] => format!("change {only}"),
        all => format!("{} changes", all.len()),
    };
    Some(format!("{verb} {changes}: {}{}", one_or_many(&paths), failed_checks(result)))
}
