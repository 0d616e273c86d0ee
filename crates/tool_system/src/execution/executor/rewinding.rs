//! Undoing for a conversation that goes back to an earlier message.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{Change, ToolCall, ToolError};
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;
use workspace::{EntryId, Inverse, InverseSince};

use super::ToolExecutor;
use crate::approval_gate::ApprovalGate;
use crate::extensions::management::undo;
use crate::{ApproveAll, Proposed, TakesBack, ToolContext};

/// The files that are as they were, and those that stay.
type Rewound = (Vec<String>, Vec<String>);

impl ToolExecutor {
    /// Undoes what this session has changed since `at` (milliseconds since 1970, UTC), as one change
    /// that can be redone. No approver is asked, because the user has asked for it; the role and the
    /// policy count as for `undo`. Files that others have changed since stay as they are. `earlier`
    /// names changes that were made before, should the clock not tell.
    ///
    /// Answers with the files that are as they were, and with those that stay.
    pub fn undo_since<'a>(
        &'a self,
        at: i64,
        earlier: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Rewound, ToolError>> {
        let undoing = async move {
            let earlier: Vec<EntryId> = earlier.iter().filter_map(|id| id.parse().ok()).collect();
            let call = ToolCall::new("rewind", undo::NAME, Map::new());
            let listed = self.tool_of(&call)?;
            self.state.check_role(&listed)?;
            let (call_id, cancel): (Arc<str>, _) = ("rewind".into(), CancellationToken::new());
            let cx = ToolContext::new(&self.state, &call_id, &listed, &cancel);
            let since =
                SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at).unwrap_or(0));
            let found = cx
                .blocking(move |cx| cx.history()?.inverse_since(cx.session(), since, &earlier))
                .await?;
            let InverseSince { inverse: Inverse { set, undoes, role, .. }, kept } = found;
            let kept: Vec<String> = kept.iter().map(ToString::to_string).collect();
            let mut paths: Vec<String> =
                set.changes.iter().flat_map(Change::paths).map(str::to_owned).collect();
            paths.sort_unstable();
            paths.dedup();
            if set.changes.is_empty() {
                return Ok((paths, kept));
            }
            let mut proposed = Proposed::changes(set, json!({"paths": paths}));
            // A part of the changes leaves the rest of them to be undone.
            proposed.takes_back = kept.is_empty().then_some(TakesBack { entries: undoes, role });
            let gate =
                ApprovalGate { call: &call, listed: &listed, approver: &ApproveAll, cx: &cx };
            gate.pass(proposed, None).await?;
            Ok((paths, kept))
        };
        undoing.boxed()
    }
}
