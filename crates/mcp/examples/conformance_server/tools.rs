//! Tools of the suite that are tools like ours: the executor runs them, and what they propose is asked about.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use protocol::{Base, Change, ChangeSet, FileBytes};
use tool_system::handed_image;
use tool_system::prelude::*;

use crate::material::{PIXEL, rich_schema};

/// How long the suite wants the tool with progress to wait between two of its steps.
const STEP: Duration = Duration::from_millis(50);

/// A tool that the suite calls.
#[derive(Clone, Copy)]
pub(crate) enum SuiteTool {
    Text,
    Failure,
    Image,
    Progress,
    /// Prints, which is no log message.
    Talk,
    /// Has arguments with a schema that has to be listed as it is.
    Schema,
    /// Proposes a change, so that the user is asked by our form. The suite knows it by several names.
    Propose(&'static str),
}

pub(crate) const ALL: [SuiteTool; 10] = [
    SuiteTool::Text,
    SuiteTool::Failure,
    SuiteTool::Image,
    SuiteTool::Progress,
    SuiteTool::Talk,
    SuiteTool::Schema,
    SuiteTool::Propose("test_elicitation"),
    SuiteTool::Propose("test_streaming_elicitation"),
    SuiteTool::Propose("test_input_required_result_request_state"),
    SuiteTool::Propose("test_input_required_result_tampered_state"),
];

#[async_trait]
impl Tool for SuiteTool {
    fn definition(&self) -> ToolDefinition {
        let name = match self {
            Self::Text => "test_simple_text",
            Self::Failure => "test_error_handling",
            Self::Image => "test_image_content",
            Self::Progress => "test_tool_with_progress",
            Self::Talk => "test_logging_tool",
            Self::Schema => "json_schema_2020_12_tool",
            Self::Propose(name) => name,
        };
        let parameters = match self {
            Self::Schema => rich_schema(),
            _ => json!({"type": "object"}),
        };
        let about = "A tool of the conformance suite".to_owned();
        let output = json!({"type": "object"});
        ToolDefinition::described(name, Category::Search, about, parameters, output)
    }

    async fn execute(&self, _: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        match self {
            Self::Text | Self::Schema => {}
            Self::Failure => {
                let message = "This tool intentionally returns an error for testing";
                return Err(ToolError::new(ErrorCode::ExecutionError, message));
            }
            Self::Image => {
                let bytes = STANDARD.decode(PIXEL).unwrap_or_default();
                let (image, _) = handed_image("pixel.png", &bytes, cx.limits())?;
                cx.show(image);
            }
            Self::Progress => {
                for step in ["0", "50", "100"] {
                    cx.output(step);
                    tokio::time::sleep(STEP).await;
                }
            }
            Self::Talk => cx.output("this is output"),
            Self::Propose(_) => {
                let write = Change::Write {
                    path: "proposed.txt".into(),
                    base: Base::Absent,
                    content: FileBytes(b"proposed\n".to_vec()),
                    mode: None,
                };
                let set = ChangeSet { changes: vec![write] };
                return Ok(Outcome::Proposal(Proposed::changes(set, json!({}))));
            }
        }
        Outcome::answer(json!({}))
    }

    fn text(&self, _: &ToolArguments, _: &Value) -> Option<String> {
        Some("This is a simple text response for testing.".to_owned())
    }
}
