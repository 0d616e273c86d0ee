//! `update_file`: a whole new text for a file.

use tool_system::outcome_text::{argument, written_summary, written_text};
use tool_system::prelude::*;
use tool_system::proposing::{Target, WrittenFile, propose_write};

/// Replace the whole content of an existing file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateFileArgs {
    path: String,
    /// All of it
    content: String,
    description: Option<String>,
}

#[derive(Debug)]
struct UpdateFileTool;

#[async_trait]
impl Tool for UpdateFileTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<UpdateFileArgs, WrittenFile>("update_file", Category::Writing)
            .on_demand()
            .permissions([ToolPermission::ReadFiles, ToolPermission::WriteFiles])
            .approval(Approval::Always)
            .termination(
                "Use terminate=true after the last change of a task. Use terminate=false if \
                 verification or more changes follow.",
            )
            .prompt(
                "{\"path\": \"VERSION\", \"content\": \"2.0\\n\"}. Read the file first; the content \
                 replaces everything.",
            )
            .example(json!({"path": "VERSION", "content": "2.0\n", "description": "Next release"}))
            .face(
                Face::new(Vocabulary::Explorer, "edit_file")
                    .describe("Propose the complete new content of a file. Shows a diff and needs approval.")
                    .require("description"),
            )
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: UpdateFileArgs = args.parse()?;
        cx.blocking(move |cx| {
            let target = Target::file(cx, &args.path)?;
            target.refuse_placeholders(&args.content)?;
            Ok(propose_write(cx, &target, target.encoded(&args.content)?)?
                .for_purpose(args.description))
        })
        .await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Rewrite {}", argument(args, "path")?))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        written_summary("Rewrote", result)
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        written_text("Rewrote", result)
    }
}

auto_register_tool!(UpdateFileTool);
