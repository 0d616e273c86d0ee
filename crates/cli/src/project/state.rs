//! A project's own state: the journal of its changes and the rules that were remembered for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use protocol::{ErrorCode, ToolError};
use tool_system::policy::Rule;
use tool_system::{OnDemand, RuleKeeper};
use workspace::{Journal, JournalOptions, RecoveryReport, StateDir, Workspace};

use super::remembered::Remembered;
use crate::output;

/// One directory per project, outside of it.
pub(crate) struct ProjectState {
    workspace: Arc<Workspace>,
    path: PathBuf,
    /// Opened when something is about to be changed, not before. There is one for the whole process,
    /// since two would wait for each other's lock.
    pub(crate) journal: Arc<OnDemand<Arc<Journal>>>,
}

impl ProjectState {
    pub(super) fn new(workspace: &Arc<Workspace>, path: PathBuf) -> Self {
        let (of, at) = (Arc::clone(workspace), path.clone());
        let journal = OnDemand::new(move || opened_journal(&of, &at).map_err(unusable));
        Self { workspace: Arc::clone(workspace), path, journal: Arc::new(journal) }
    }

    /// The journal of the project's changes. Opening it finishes what a crash interrupted.
    pub(crate) fn open_journal(&self) -> anyhow::Result<Arc<Journal>> {
        opened_journal(&self.workspace, &self.path)
    }

    /// The rules that were remembered for the project.
    pub(crate) fn remembered(&self) -> anyhow::Result<Remembered> {
        Ok(Remembered::new(Arc::clone(&self.workspace), self.directory()?))
    }

    /// The directory as a place to keep things in.
    pub(crate) fn directory(&self) -> anyhow::Result<StateDir> {
        Ok(StateDir::open(&self.workspace, &self.path)?)
    }

    /// The remembered rules; looking for them makes no state where there is none.
    pub(super) fn rules(&self) -> anyhow::Result<Vec<Rule>> {
        if self.exists() { self.remembered()?.rules() } else { Ok(Vec::new()) }
    }

    /// Forgets a remembered rule. Answers whether there was one.
    pub(crate) fn revoke(&self, id: &str) -> anyhow::Result<bool> {
        if self.exists() { self.remembered()?.revoke(id) } else { Ok(false) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether anything was ever kept for the project.
    pub(crate) fn exists(&self) -> bool {
        Workspace::open(&self.path).is_ok()
    }

    /// A project that has been changed before may have been interrupted. One that has not has no
    /// state yet, and looking at it must not make any.
    pub(super) fn finish_interrupted(&self) -> anyhow::Result<()> {
        if self.exists() {
            tell_recovery(self.journal.get()?.recovery());
        }
        Ok(())
    }
}

#[async_trait]
impl RuleKeeper for ProjectState {
    async fn keep(&self, rule: &Rule) -> Result<(), ToolError> {
        self.remembered().and_then(|kept| kept.keep(rule)).map_err(unusable)
    }
}

fn opened_journal(workspace: &Arc<Workspace>, path: &Path) -> anyhow::Result<Arc<Journal>> {
    let journal = Journal::open(Arc::clone(workspace), path, JournalOptions::default());
    Ok(Arc::new(journal.context("the journal of changes cannot be opened")?))
}

/// Says what a crash had left behind and what became of it.
fn tell_recovery(report: &RecoveryReport) {
    for entry in &report.rolled_back {
        output::to_user(&format!(
            "toolkiln: change {entry} had been interrupted and was taken back"
        ));
    }
    for path in &report.conflicts {
        output::to_user(&format!(
            "toolkiln: {path} belongs to an interrupted change but was written since; it is left as it is"
        ));
    }
    for (entry, why) in &report.failed {
        output::to_user(&format!(
            "toolkiln: the interrupted change {entry} cannot be taken back: {why}"
        ));
    }
}

pub(super) fn unusable(error: anyhow::Error) -> ToolError {
    ToolError::new(ErrorCode::ExecutionError, format!("{error:#}"))
        .suggest("Ask the user to run `toolkiln doctor`.")
}
