//! `redo`: makes changes again that were undone.

use tool_system::prelude::*;
use tool_system::undoing::{Undone, propose_inverse, undone_summary, undone_text};
use workspace::UndoTarget;

/// Redo what the last undo took back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RedoArgs {}

#[derive(Debug)]
struct RedoTool;

#[async_trait]
impl Tool for RedoTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<RedoArgs, Undone>("redo", Category::Management)
            .on_demand()
            .permissions([
                ToolPermission::WriteFiles,
                ToolPermission::CreateFiles,
                ToolPermission::DeleteFiles,
            ])
            .approval(Approval::Always)
            .termination("Use terminate=true when the user asked to redo.")
            .prompt("It takes no arguments: {}.")
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let RedoArgs {} = args.parse()?;
        cx.blocking(|cx| propose_inverse(cx, &UndoTarget::LastUndo)).await
    }

    fn title(&self, _: &ToolArguments) -> Option<String> {
        Some("Redo the last undo".to_owned())
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        undone_summary("Redid", result)
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        undone_text("Redid", result)
    }
}

auto_register_tool!(RedoTool);
