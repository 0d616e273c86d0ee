//! What the protocol cannot know by itself, because it lies in configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use protocol::ToolError;
use session::{Model, Session, SessionParts};
use tool_system::policy::{ApprovalMode, Policy};
use tool_system::{OnDemand, ProjectTools};

/// Opens projects for an editor.
#[async_trait]
pub trait EditorHost: Send + Sync {
    /// Whether no model is set up, so that only the built-in guide can answer. Uses no network.
    fn needs_setup(&self) -> bool;

    /// The options that make this program set up a model, behind those it was started with.
    fn setup_arguments(&self) -> Vec<String>;

    /// The project whose sessions are meant where an editor names none.
    fn usual_root(&self) -> Option<PathBuf>;

    /// Opens the project in this directory.
    async fn open(&self, root: &Path) -> Result<Arc<dyn EditorProject>, NotOpened>;
}

/// Why a project cannot be opened.
#[derive(Debug)]
pub enum NotOpened {
    /// The model that is configured cannot be used, which setting one up solves.
    NoModel(String),
    /// Anything else.
    Refused(String),
}

/// A project that an editor has open.
#[async_trait]
pub trait EditorProject: Send + Sync {
    /// What its sessions are made of. There is no approver: the editor is asked.
    fn parts(&self) -> &SessionParts;

    /// What needs approval where no rule decides, unless the user chooses otherwise.
    fn approval_mode(&self) -> ApprovalMode;

    /// The policy in this mode.
    fn policy(&self, mode: ApprovalMode) -> Result<OnDemand<Policy>, ToolError>;

    /// Whether every text is written by the editor, also where it has no unsaved text.
    fn editor_writes_all(&self) -> bool;

    /// The models that are known without asking a provider, the usual one first.
    fn models(&self) -> Vec<String>;

    /// The model that a user means by this name.
    async fn model(&self, name: &str) -> Result<Model, ToolError>;

    /// The commands that the user has written.
    fn own_commands(&self) -> Vec<OwnCommand>;

    /// The message that a command of the user sends; none if there is no such command. An error says why it
    /// cannot be used.
    fn own_message(&self, name: &str, arguments: &str) -> Option<Result<String, String>>;

    /// Adds the tools of the MCP servers that the editor names for a session. Answers also with what the user should
    /// know about it, one line each.
    fn connect(&self, tools: ProjectTools, servers: &[GivenServer]) -> (ProjectTools, Vec<String>);

    /// What a command of the chat tells about a session.
    async fn report(&self, report: SessionReport, session: &Session) -> Result<String, ToolError>;
}

/// A command that the user has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommand {
    /// Without the slash.
    pub name: String,
    /// What it does, in a few words.
    pub about: String,
    /// What is typed after the name; empty if nothing is.
    pub argument: String,
}

/// An MCP server that the editor names for a session, to be started as a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenServer {
    /// As the user knows it.
    pub name: String,
    /// The program.
    pub command: PathBuf,
    /// What it is started with.
    pub arguments: Vec<String>,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
}

/// What can be told about a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionReport {
    /// What fills the model's window.
    Context,
    /// What was used and what it cost.
    Cost,
    /// What runs in the background.
    Jobs,
}
