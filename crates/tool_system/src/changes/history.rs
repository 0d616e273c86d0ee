//! What was changed before, for tools to read.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
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
pub struct History {
    journal: Arc<OnDemand<Arc<Journal>>>,
    /// For whom it is read; for a user who sees everything if there is none.
    sight: Option<Arc<dyn ChangeSight>>,
}

/// Knows whose changes are there for a user. Others are not: they are found by no number, and taken back by nothing.
#[async_trait]
pub trait ChangeSight: Send + Sync {
    /// Those of these sessions whose changes the user may see at this moment.
    async fn seen(&self, sessions: BTreeSet<String>) -> Result<BTreeSet<String>, ToolError>;
}

impl History {
    /// Reads `journal`, which is opened when it is first needed.
    pub fn of(journal: Arc<OnDemand<Arc<Journal>>>) -> Self {
        Self { journal, sight: None }
    }

    /// The same for tools of a user who may not see the changes of all sessions.
    pub fn seen_by(self, sight: Arc<dyn ChangeSight>) -> Self {
        Self { sight: Some(sight), ..self }
    }

    /// The newest entries, at most `limit`.
    pub fn entries(&self, limit: usize) -> Result<Vec<EntrySummary>, ToolError> {
        Ok(self.journal()?.entries(limit)?)
    }

    /// The number of the newest entry; 0 if there is none. Whatever is changed from now on has a greater one.
    pub fn newest(&self) -> Result<u64, ToolError> {
        Ok(self.journal()?.newest()?.map_or(0, |newest| newest.0))
    }

    /// The files that a session has left changed since an entry, by their paths from the root.
    pub fn left_changed(
        &self,
        session: &str,
        since: Option<u64>,
    ) -> Result<Vec<String>, ToolError> {
        let changed = self.journal()?.left_changed(session, since.map(EntryId))?;
        Ok(changed.iter().map(RelPath::to_text).collect())
    }

    /// The changes that would take back what `session` has done since then.
    pub(crate) fn inverse_since(
        &self,
        session: &str,
        since: SystemTime,
        earlier: &[EntryId],
    ) -> Result<InverseSince, ToolError> {
        Ok(self.journal()?.inverse_since(session, since, earlier)?)
    }

    /// What a session has changed, each file as it was before against the file as it is now.
    pub fn session_diff(&self, session: &str) -> Result<SessionDiff, ToolError> {
        Ok(SessionDiff::of(self.journal()?, session)?)
    }

    /// The changes that would take back what `target` names.
    pub fn inverse(&self, target: &UndoTarget) -> Result<Inverse, ToolError> {
        Ok(self.journal()?.inverse(target)?)
    }

    /// The same as if only the changes of some sessions were there.
    pub(crate) fn inverse_among(
        &self,
        target: &UndoTarget,
        sessions: &BTreeSet<String>,
    ) -> Result<Inverse, ToolError> {
        let is_there = |session: &str| sessions.contains(session);
        Ok(self.journal()?.inverse_among(target, &is_there)?)
    }

    /// The sessions that have changed something.
    pub(crate) fn sessions(&self) -> Result<BTreeSet<String>, ToolError> {
        Ok(self.journal()?.sessions()?)
    }

    pub(crate) fn sight(&self) -> Option<&Arc<dyn ChangeSight>> {
        self.sight.as_ref()
    }

    fn journal(&self) -> Result<&Arc<Journal>, ToolError> {
        self.journal.get()
    }
}
