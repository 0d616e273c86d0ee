//! What a tool is.

use async_trait::async_trait;
use protocol::{ChangeSet, CommandSpec, Proposal, ToolError, ToolResult, WebRequest};
use serde_json::Value;
use workspace::{EntryId, EntryRole, Workspace};

use crate::{ToolArguments, ToolContext, ToolDefinition, preview};

/// One thing a model can do.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Name, schemas, category, permissions: everything that is known without running.
    fn definition(&self) -> ToolDefinition;

    /// Whether the tool can do anything in this project. One that cannot is not shown to models in
    /// conversations, since each of their requests carries the list; it can be called all the same.
    fn is_useful(&self, project: &Workspace) -> bool {
        let _ = project;
        true
    }

    /// Answers, or proposes an effect. It has no effect itself.
    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError>;

    /// Turns the report on a command or web request that this tool proposed into the tool's answer.
    /// It has no effect.
    fn report(&self, args: &ToolArguments, ran: Value) -> ToolResult {
        let _ = args;
        Ok(ran)
    }

    /// What a call does, for the user: `Read src/main.rs, lines 10 to 20`. The arguments may
    /// not fit the schema: a title is made before they are checked.
    fn title(&self, args: &ToolArguments) -> Option<String> {
        let _ = args;
        None
    }

    /// What a call did, for the user: `Edited 2 files, +12 −3`. If absent, its title is shown.
    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let _ = (args, result);
        None
    }

    /// The result as a model reads it: the content first and unescaped, then what is left out and
    /// which call reads on. The result's JSON if absent.
    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let _ = (args, result);
        None
    }

    /// The result in a few lines for the user, at most `max_lines`.
    fn preview(&self, result: &Value, max_lines: usize) -> Vec<String> {
        preview::of(result, max_lines)
    }
}

/// What running a tool gives.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time, for a moment")]
pub enum Outcome {
    /// The answer; nothing is to be done.
    Answer(Value),
    /// An effect, to be judged and performed by the executor.
    Proposal(Proposed),
}

/// A proposal with what the executor needs to know beyond it.
#[derive(Debug)]
pub struct Proposed {
    /// Exactly what would happen.
    pub proposal: Proposal,
    /// What the model says it is for. It is shown as the model's words, beside the policy's.
    pub purpose: Option<String>,
    /// The answer once it is done; what performing it reports, if absent.
    pub answer: Option<Value>,
    /// Set if this takes entries of the journal back.
    pub takes_back: Option<TakesBack>,
    /// A command wrote the content: the model has not seen it.
    pub unseen: bool,
}

/// Which entries of the journal a proposal takes back.
#[derive(Clone, Debug)]
pub struct TakesBack {
    /// The entries, newest first.
    pub entries: Vec<EntryId>,
    /// Whether that is an undo or a redo.
    pub role: EntryRole,
}

impl Proposed {
    /// File changes, with the answer for when they are made.
    pub fn changes(set: ChangeSet, answer: Value) -> Proposed {
        let (proposal, answer) = (Proposal::Changes(set), Some(answer));
        Proposed { proposal, purpose: None, answer, takes_back: None, unseen: false }
    }

    /// A program to run; [`Tool::report`] makes the answer of what becomes of it.
    pub fn command(command: CommandSpec) -> Proposed {
        let proposal = Proposal::Command(command);
        Proposed { proposal, purpose: None, answer: None, takes_back: None, unseen: false }
    }

    /// A request to a web server; [`Tool::report`] makes the answer of what becomes of it.
    pub fn web(request: WebRequest) -> Proposed {
        let proposal = Proposal::Web(request);
        Proposed { proposal, purpose: None, answer: None, takes_back: None, unseen: false }
    }
}

impl Outcome {
    /// An answer made from any serialisable value.
    pub fn answer(value: impl serde::Serialize) -> Result<Outcome, ToolError> {
        json_of(value).map(Outcome::Answer)
    }

    /// Adds to a proposal what the model says it is for.
    #[must_use]
    pub fn for_purpose(mut self, purpose: Option<String>) -> Self {
        if let Outcome::Proposal(proposed) = &mut self {
            proposed.purpose = purpose;
        }
        self
    }
}

pub(crate) fn json_of(value: impl serde::Serialize) -> Result<Value, ToolError> {
    serde_json::to_value(value).map_err(|error| {
        ToolError::new(protocol::ErrorCode::Internal, format!("result is not JSON: {error}"))
    })
}

/// Makes the tool of this file known to the registry. Every file under `extensions/` says this
/// exactly once; the build script gathers what it declares.
#[macro_export]
macro_rules! auto_register_tool {
    ($tool:expr) => {
        /// The tool that this file registers.
        pub fn registered_tool() -> std::sync::Arc<dyn $crate::Tool> {
            std::sync::Arc::new($tool)
        }
    };
}
