//! `append_file`: more text at the end of a file.

use tool_system::outcome_text::{EditText, EditedFiles, argument, written_summary, written_text};
use tool_system::prelude::*;
use tool_system::proposing::{Target, WrittenFile, propose_write};

/// Other modules name the tool by this.
pub const NAME: &str = "append_file";

/// Append text to a file, on a line of its own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AppendFileArgs {
    path: String,
    content: String,
}

#[derive(Debug)]
struct AppendFileTool;

#[async_trait]
impl Tool for AppendFileTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<AppendFileArgs, WrittenFile>(NAME, Category::Writing)
            .on_demand()
            .permissions([ToolPermission::ReadFiles, ToolPermission::WriteFiles])
            .approval(Approval::Always)
            .termination(
                "Use terminate=true after the last change of a task. Use terminate=false if \
                 verification or more changes follow.",
            )
            .prompt("{\"path\": \"CHANGELOG.md\", \"content\": \"- Kilns cool down slowly.\\n\"}.")
            .example(json!({"path": "CHANGELOG.md", "content": "- Kilns cool down slowly.\n"}))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: AppendFileArgs = args.parse()?;
        cx.blocking(move |cx| {
            let target = Target::file(cx, &args.path)?;
            let text = target.text();
            let endings = text.line_endings();
            let ending = endings.dominant().as_bytes();
            let mut body = text.body().to_vec();
            if !body.is_empty() && !endings.final_newline {
                body.extend_from_slice(ending);
            }
            if ending == b"\r\n" && !args.content.contains('\r') {
                body.extend_from_slice(args.content.replace('\n', "\r\n").as_bytes());
            } else {
                body.extend_from_slice(args.content.as_bytes());
            }
            propose_write(cx, &target, text.encode_body(&body)?)
        })
        .await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Append to {}", argument(args, "path")?))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        written_summary("Appended to", result)
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let call = EditedFiles::One;
        let appended = EditText { verb: "Appended", differs: &|_| false, call };
        let Some(mut text) = appended.of(result) else {
            return written_text("Appended", result);
        };
        text.add_outcome(result);
        Some(text.finish())
    }
}

auto_register_tool!(AppendFileTool);
