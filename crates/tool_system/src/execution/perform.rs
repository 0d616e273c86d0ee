//! Performs approved proposals: file changes go through the workspace's journal.

use std::sync::Arc;

use async_trait::async_trait;
use protocol::{Change, ChangeSet, ContentHash, ErrorCode, Proposal, ToolError, ToolResult};
use serde_json::json;
use workspace::{EntryRole, Inverse, Journal, Label};

use crate::editor_writes::EditorWrites;
use crate::{Approved, Asker, CommandRunner, OnDemand, TakesBack, ToolContext, WebAccess};

const NO_COMMANDS: &str = "commands cannot be run in this session";
const NO_WEB: &str = "the web cannot be reached in this session";

/// Performs proposals that have passed the approval gate, which alone calls it.
#[async_trait]
pub trait Performer: Send + Sync {
    /// Carries out the proposal and reports what was done. Once begun it is not interrupted; what has to ask the user
    /// in the middle of it has an asker.
    async fn perform(
        &self,
        approved: &Approved<'_>,
        cx: &ToolContext,
        asker: &Asker<'_>,
    ) -> ToolResult;

    /// What runs commands, if commands can be run.
    fn runner(&self) -> Result<Arc<CommandRunner>, ToolError> {
        Err(ToolError::new(ErrorCode::PermissionDenied, NO_COMMANDS))
    }

    /// What asks web servers, if the web can be reached.
    fn web(&self) -> Result<Arc<WebAccess>, ToolError> {
        Err(ToolError::new(ErrorCode::PermissionDenied, NO_WEB))
    }
}

/// Applies change sets to the project, all of each or nothing, so that each can be undone.
pub struct JournalPerformer {
    journal: Arc<OnDemand<Arc<Journal>>>,
    commands: Option<Arc<OnDemand<Arc<CommandRunner>>>>,
    foreign: Option<Arc<dyn Performer>>,
    web: Option<Arc<WebAccess>>,
}

impl JournalPerformer {
    /// A performer that writes through `journal`.
    pub fn new(journal: Arc<OnDemand<Arc<Journal>>>) -> Self {
        Self { journal, commands: None, foreign: None, web: None }
    }

    /// Runs commands as well.
    #[must_use]
    pub fn with_commands(mut self, commands: Arc<OnDemand<Arc<CommandRunner>>>) -> Self {
        self.commands = Some(commands);
        self
    }

    /// Calls tools of foreign servers as well, which `foreign` does.
    #[must_use]
    pub fn with_foreign(mut self, foreign: Arc<dyn Performer>) -> Self {
        self.foreign = Some(foreign);
        self
    }

    /// Asks web servers as well.
    #[must_use]
    pub fn with_web(mut self, web: Arc<WebAccess>) -> Self {
        self.web = Some(web);
        self
    }
}

#[async_trait]
impl Performer for JournalPerformer {
    async fn perform(
        &self,
        approved: &Approved<'_>,
        cx: &ToolContext,
        asker: &Asker<'_>,
    ) -> ToolResult {
        let set = match &approved.proposal {
            Proposal::Changes(set) => set,
            Proposal::Web(request) => return self.web()?.perform(request, cx).await,
            Proposal::Command(_) => {
                let message = "a command is run, not performed";
                return Err(ToolError::new(ErrorCode::Internal, message));
            }
            Proposal::Foreign(_) => {
                let message = "no MCP servers are used in this session";
                let unused = || ToolError::new(ErrorCode::PermissionDenied, message);
                let foreign = self.foreign.as_ref().ok_or_else(unused)?;
                return foreign.perform(approved, cx, asker).await;
            }
        };
        let journal = Arc::clone(self.journal.get()?);
        let set = set.clone();
        let (takes_back, unseen) = (approved.takes_back.clone(), approved.unseen);
        let label = Label {
            session: cx.session().to_owned(),
            call: cx.call_id.to_string(),
            tool: cx.tool.to_string(),
            summary: summary(&set, takes_back.as_ref()),
        };
        // What is taken back is taken back on the disk, and only if the editor has nothing else.
        if let (Some(documents), None) = (cx.state.options.documents.clone(), &takes_back) {
            let (changes, asked) = (set.clone(), Arc::clone(&documents));
            let find = move |cx: &ToolContext| EditorWrites::among(cx, &changes, &*asked);
            if let Some(writes) = cx.blocking(find).await? {
                return writes.perform(cx, (journal, label), &*documents).await;
            }
        }
        cx.blocking(move |cx| {
            let applied = match takes_back {
                None => journal.apply(&set, &label)?,
                Some(TakesBack { entries, role }) => {
                    let inverse =
                        Inverse { set: set.clone(), undoes: entries, role, summaries: Vec::new() };
                    journal.apply_undo(&inverse, &label)?
                }
            };
            if !unseen {
                note_written(cx, &set)?;
            }
            let mut report = json!({"change_id": applied.entry.to_string()});
            if !applied.notes.is_empty() {
                report["notes"] = json!(applied.notes);
            }
            Ok(report)
        })
        .await
    }

    fn runner(&self) -> Result<Arc<CommandRunner>, ToolError> {
        let none = || ToolError::new(ErrorCode::PermissionDenied, NO_COMMANDS);
        Ok(Arc::clone(self.commands.as_ref().ok_or_else(none)?.get()?))
    }

    fn web(&self) -> Result<Arc<WebAccess>, ToolError> {
        self.web.clone().ok_or_else(|| ToolError::new(ErrorCode::PermissionDenied, NO_WEB))
    }
}

/// What the model has written, it knows.
fn note_written(cx: &ToolContext, set: &ChangeSet) -> Result<(), ToolError> {
    for change in &set.changes {
        match change {
            Change::Write { path, content, .. } => {
                let path = cx.workspace().resolve(path)?;
                cx.note_read(&path, ContentHash::of(&content.0));
            }
            Change::Delete { path, .. } | Change::Move { from: path, .. } => {
                cx.state.files.forget(&cx.workspace().resolve(path)?);
            }
            Change::Link { .. } | Change::MakeDir { .. } | Change::RemoveDir { .. } => {}
        }
    }
    Ok(())
}

/// One line for the history.
fn summary(set: &ChangeSet, takes_back: Option<&TakesBack>) -> String {
    let what = match takes_back.map(|takes_back| takes_back.role) {
        None | Some(EntryRole::Change) => "",
        Some(EntryRole::Undo) => "undo: ",
        Some(EntryRole::Redo) => "redo: ",
    };
    let describe = |change: &Change| match change {
        Change::Write { path, base: protocol::Base::Absent, .. } => format!("create {path}"),
        Change::Write { path, .. } => format!("edit {path}"),
        Change::Delete { path, .. } => format!("delete {path}"),
        Change::Move { from, to, .. } => format!("move {from} to {to}"),
        Change::Link { path, .. } => format!("link {path}"),
        Change::MakeDir { path, .. } => format!("make {path}/"),
        Change::RemoveDir { path, .. } => format!("remove {path}/"),
    };
    match set.changes.as_slice() {
        [] => format!("{what}nothing"),
        [only] => format!("{what}{}", describe(only)),
        [first, rest @ ..] => format!("{what}{} and {} more", describe(first), rest.len()),
    }
}
