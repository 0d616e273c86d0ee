//! `redo`: makes changes again that were undone.

use tool_system::outcome_text::argument;
use tool_system::prelude::*;
use tool_system::undoing::{Undone, entry_id, propose_inverse, undone_summary, undone_text};
use workspace::UndoTarget;

/// Other modules name the tool by this.
pub const NAME: &str = "redo";

/// Redo the last undo, or one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RedoArgs {
    change_id: Option<String>,
}

#[derive(Debug)]
struct RedoTool;

#[async_trait]
impl Tool for RedoTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<RedoArgs, Undone>(NAME, Category::Management)
            .on_demand()
            .permissions([
                ToolPermission::WriteFiles,
                ToolPermission::CreateFiles,
                ToolPermission::DeleteFiles,
            ])
            .approval(Approval::Always)
            .termination("Use terminate=true when the user asked to redo.")
            .prompt("The last undo: {}. A certain change: {\"change_id\": \"12\"}.")
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let RedoArgs { change_id } = args.parse()?;
        let target = match change_id {
            Some(id) => UndoTarget::UndoOf(entry_id(&id)?),
            None => UndoTarget::LastUndo,
        };
        propose_inverse(&cx, target).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(match argument(args, "change_id") {
            Some(id) => format!("Redo change {id}"),
            None => "Redo the last undo".to_owned(),
        })
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        undone_summary("Redid", result)
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        undone_text("Redid", result)
    }
}

auto_register_tool!(RedoTool);
