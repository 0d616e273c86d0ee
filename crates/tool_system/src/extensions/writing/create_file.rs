//! `create_file`: a file that does not exist yet.

use protocol::Base;
use tool_system::outcome_text::{argument, written_summary, written_text};
use tool_system::prelude::*;
use tool_system::proposing::{Target, WrittenFile, propose_write};

/// Create a new file, with missing directories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateFileArgs {
    path: String,
    content: String,
    description: Option<String>,
}

#[derive(Debug)]
struct CreateFileTool;

#[async_trait]
impl Tool for CreateFileTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<CreateFileArgs, WrittenFile>("create_file", Category::Writing)
            .on_demand()
            .permissions([ToolPermission::CreateFiles])
            .approval(Approval::Always)
            .termination(
                "Use terminate=true after the last file of a task. Use terminate=false if more \
                 changes or a check follow.",
            )
            .prompt(
                "A new module: {\"path\": \"src/kiln.rs\", \"content\": \"pub struct Kiln;\\n\"}. \
                 End text files with a line break.",
            )
            .example(json!({"path": "src/kiln.rs", "content": "pub struct Kiln;\n", "description": "The kiln"}))
            .face(Face::new(Vocabulary::Explorer, "create_file").require("description"))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: CreateFileArgs = args.parse()?;
        cx.blocking(move |cx| {
            let target = Target::look(cx, &args.path)?;
            if target.base != Base::Absent {
                let message = format!("{} already exists", target.path);
                return Err(ToolError::new(ErrorCode::Conflict, message)
                    .suggest("Change it with replace_in_file, edit_lines or update_file, or choose another path."));
            }
            target.refuse_placeholders(&args.content)?;
            Ok(propose_write(cx, &target, args.content.into_bytes())?.for_purpose(args.description))
        })
        .await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Create {}", argument(args, "path")?))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        written_summary("Wrote", result)
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        written_text("Wrote", result)
    }
}

auto_register_tool!(CreateFileTool);
