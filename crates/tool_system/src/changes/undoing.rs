//! Proposing that changes be taken back.

use protocol::{Change, ErrorCode, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use workspace::{Inverse, UndoTarget};

use crate::{Outcome, Proposed, TakesBack, ToolContext};

/// What was taken back or made again.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Undone {
    /// The changes concerned, by their `change_id`.
    changes: Vec<String>,
    /// The files that are as they were.
    paths: Vec<String>,
}

/// Proposes the inverse of what `target` names.
pub(crate) fn propose_inverse(cx: &ToolContext, target: &UndoTarget) -> Result<Outcome, ToolError> {
    let Inverse { set, undoes, role, .. } = cx.history()?.inverse(target)?;
    if undoes.is_empty() {
        let message = match target {
            UndoTarget::LastUndo => "there is nothing to redo",
            _ => "there is nothing to undo",
        };
        return Err(ToolError::new(ErrorCode::FileNotFound, message));
    }
    let mut paths: Vec<String> =
        set.changes.iter().flat_map(Change::paths).map(str::to_owned).collect();
    paths.sort_unstable();
    paths.dedup();
    let answer = Undone { changes: undoes.iter().map(ToString::to_string).collect(), paths };
    let mut proposed = Proposed::changes(set, answer)?;
    proposed.takes_back = Some(TakesBack { entries: undoes, role });
    Ok(Outcome::Proposal(proposed))
}
