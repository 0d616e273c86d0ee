//! `move_file`: another name for a file or directory.

use protocol::{Base, Change, ChangeSet};
use tool_system::file_view::explained;
use tool_system::outcome_text::{OutcomeText, argument, change_id, failed_checks, text_at};
use tool_system::prelude::*;
use tool_system::proposing::{Target, missing_parents};

/// Move or rename a file or directory.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MoveFileArgs {
    from: String,
    to: String,
    overwrite: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MoveFileOutput {
    from: String,
    to: String,
}

#[derive(Debug)]
struct MoveFileTool;

#[async_trait]
impl Tool for MoveFileTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<MoveFileArgs, MoveFileOutput>("move_file", Category::Management)
            .on_demand()
            .permissions([ToolPermission::CreateFiles, ToolPermission::DeleteFiles])
            .approval(Approval::PerCall)
            .termination(
                "Use terminate=false if what refers to the old name has to be changed, which is \
                 usual. Use terminate=true otherwise.",
            )
            .prompt(
                "{\"from\": \"src/oven.rs\", \"to\": \"src/kiln.rs\"}. References are not updated.",
            )
            .example(json!({"from": "src/oven.rs", "to": "src/kiln.rs"}))
            .face(Face::new(Vocabulary::Workspace, "move_file").camel_case_result())
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: MoveFileArgs = args.parse()?;
        cx.blocking(move |cx| propose(cx, &args)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Move {} to {}", argument(args, "from")?, argument(args, "to")?))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let (from, to) = (text_at(result, "from")?, text_at(result, "to")?);
        Some(format!("Moved {from} to {to}{}", failed_checks(result)))
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        text_at(result, "to")?;
        let mut text = OutcomeText::new(format!("Moved{}", change_id(result)));
        text.add_outcome(result);
        Some(text.finish())
    }
}

fn propose(cx: &ToolContext, args: &MoveFileArgs) -> Result<Outcome, ToolError> {
    let moved = Target::entry(cx, &args.from)?;
    let goal = Target::entry(cx, &args.to)?;
    let (from, to) = (&moved.path, &goal.path);
    if moved.base == Base::Absent {
        let error = workspace::Error::NotFound { path: from.to_text() };
        return Err(explained(cx, from, error));
    }
    if from.is_root() || to.is_root() || to.starts_with(from) {
        let message = format!("{from} cannot be moved to {to}");
        return Err(ToolError::new(ErrorCode::InvalidPath, message).suggest(
            "Choose a path that is not the project itself and not inside what is moved.",
        ));
    }
    match goal.base {
        Base::Absent => {}
        Base::Directory { .. } => {
            let message = format!("{to} is a directory");
            return Err(ToolError::new(ErrorCode::Conflict, message)
                .suggest(format!("Give the whole new path, such as {to}/{}.", args.from)));
        }
        _ if args.overwrite.unwrap_or(false) => {}
        _ => {
            let message = format!("{to} already exists");
            return Err(ToolError::new(ErrorCode::Conflict, message)
                .suggest("Set overwrite to true to replace it, or choose another path."));
        }
    }
    let answer = MoveFileOutput { from: from.to_text(), to: to.to_text() };
    let mut changes = missing_parents(cx, to);
    let (base, target) = (moved.base.clone(), goal.base.clone());
    changes.push(Change::Move { from: from.to_text(), to: to.to_text(), base, target });
    Ok(Outcome::Proposal(Proposed::changes(ChangeSet { changes }, moved.answer(answer)?)))
}

auto_register_tool!(MoveFileTool);
