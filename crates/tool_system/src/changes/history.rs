//! What was changed before, for tools to read.

use std::sync::Arc;
use std::time::SystemTime;

use protocol::ToolError;
use workspace::{EntryId, EntrySummary, Inverse, InverseSince, Journal, RelPath, UndoTarget};

use super::session_diff::SessionDiff;
use crate::OnDemand;

/// The journal as tools see it: entries and their inverses. Nothing can be applied through it, so a
/// tool that undoes can only propose to.
///
/// ```
/// use tool_system::History;
/// fn may(history: &History) {
///     let _ = history.entries(1);
/// }
/// ```
///
/// ```compile_fail,E0599
/// use tool_system::History;
/// fn may_not(history: &History) {
///     let _ = history.apply_undo();
/// }
/// ```
#[derive(Clone)]
pub struct History(Arc<OnDemand<Arc<Journal>>>);

impl History {
    /// Reads `journal`, which is opened when it is first needed.
    pub fn of(journal: Arc<OnDemand<Arc<Journal>>>) -> Self {
        Self(journal)
    }

    /// The newest entries, at most `limit`.
    pub fn entries(&self, limit: usize) -> Result<Vec<EntrySummary>, ToolError> {
        Ok(self.0.get()?.entries(limit)?)
    }

    /// The number of the newest entry; 0 if there is none. Whatever is changed from now on has a greater one.
    pub fn newest(&self) -> Result<u64, ToolError> {
        Ok(self.0.get()?.newest()?.map_or(0, |newest| newest.0))
    }

    /// The files that a session has left changed since an entry, by their paths from the root.
    pub fn left_changed(
        &self,
        session: &str,
        since: Option<u64>,
    ) -> Result<Vec<String>, ToolError> {
        let changed = self.0.get()?.left_changed(session, since.map(EntryId))?;
        Ok(changed.iter().map(RelPath::to_text).collect())
    }

    /// The changes that would take back what `session` has done since then.
    pub(crate) fn inverse_since(
        &self,
        session: &str,
        since: SystemTime,
        earlier: &[EntryId],
    ) -> Result<InverseSince, ToolError> {
        Ok(self.0.get()?.inverse_since(session, since, earlier)?)
    }

    /// What a session has changed, each file as it was before against the file as it is now.
    pub fn session_diff(&self, session: &str) -> Result<SessionDiff, ToolError> {
        Ok(SessionDiff::of(self.0.get()?, session)?)
    }

    /// The changes that would take back what `target` names.
    pub fn inverse(&self, target: &UndoTarget) -> Result<Inverse, ToolError> {
        Ok(self.0.get()?.inverse(target)?)
    }
}
