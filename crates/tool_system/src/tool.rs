//! What a tool is.

use async_trait::async_trait;
use protocol::{Proposal, ToolError};
use serde_json::Value;

use crate::{ToolArguments, ToolContext, ToolDefinition, preview};

/// One thing a model can do.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Name, schemas, category, permissions: everything that is known without running.
    fn definition(&self) -> ToolDefinition;

    /// Answers, or proposes an effect. It has no effect itself.
    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError>;

    /// A few lines for people who watch, at most `max_lines`.
    fn preview(&self, result: &Value, max_lines: usize) -> Vec<String> {
        preview::of(result, max_lines)
    }
}

/// What running a tool gives.
#[derive(Debug)]
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
    /// For tools that decide per call: why a person has to be asked, or `None` if nobody has to.
    pub ask: Option<String>,
    /// The answer once it is done; what performing it reports, if absent.
    pub answer: Option<Value>,
}

impl Outcome {
    /// An answer made from any serialisable value.
    pub fn answer(value: impl serde::Serialize) -> Result<Outcome, ToolError> {
        serde_json::to_value(value).map(Outcome::Answer).map_err(|error| {
            ToolError::new(protocol::ErrorCode::Internal, format!("result is not JSON: {error}"))
        })
    }
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
