//! `undo`: takes changes back.

use tool_system::outcome_text::argument;
use tool_system::prelude::*;
use tool_system::undoing::{Undone, entry_id, propose_inverse, undone_summary, undone_text};
use workspace::UndoTarget;

/// Other modules name the tool by this.
pub const NAME: &str = "undo";

/// Undo the last change, one, or a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoArgs {
    change_id: Option<String>,
    session: Option<bool>,
}

#[derive(Debug)]
struct UndoTool;

#[async_trait]
impl Tool for UndoTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<UndoArgs, Undone>(NAME, Category::Management)
            .on_demand()
            .permissions([
                ToolPermission::WriteFiles,
                ToolPermission::CreateFiles,
                ToolPermission::DeleteFiles,
            ])
            .approval(Approval::Always)
            .termination(
                "Use terminate=true when the user asked to undo. Use terminate=false if another \
                 attempt follows.",
            )
            .prompt("The last change: {}. A certain one: {\"change_id\": \"12\"}. Everything: {\"session\": true}.")
            .example(json!({"change_id": "12"}))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: UndoArgs = args.parse()?;
        let target = match (args.change_id, args.session.unwrap_or(false)) {
            (None, false) => UndoTarget::Last,
            (None, true) => UndoTarget::Session(cx.session().to_owned()),
            (Some(id), false) => UndoTarget::Entry(entry_id(&id)?),
            (Some(_), true) => {
                let message = "`change_id` and `session` exclude each other";
                return Err(ToolError::new(ErrorCode::InvalidArguments, message));
            }
        };
        propose_inverse(&cx, target).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let is_session = args.as_map().get("session").and_then(Value::as_bool) == Some(true);
        Some(match argument(args, "change_id") {
            Some(id) => format!("Undo change {id}"),
            None if is_session => "Undo all changes of this session".to_owned(),
            None => "Undo the last change".to_owned(),
        })
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        undone_summary("Undid", result)
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        undone_text("Undid", result)
    }
}

auto_register_tool!(UndoTool);
