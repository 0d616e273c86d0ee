//! `write_file`: a file with exactly this content, new or not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use protocol::Base;
use tool_system::outcome_text::{argument, written_summary, written_text};
use tool_system::prelude::*;
use tool_system::proposing::{Target, WrittenFile, missing_parents, propose_write};
use tool_system::transfer::TransferEncoding;

/// Create or overwrite a file with exactly this content.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFileArgs {
    path: String,
    content: String,
    encoding: Option<TransferEncoding>,
    create_dirs: Option<bool>,
}

#[derive(Debug)]
struct WriteFileTool;

#[async_trait]
impl Tool for WriteFileTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<WriteFileArgs, WrittenFile>("write_file", Category::Writing)
            .permissions([ToolPermission::WriteFiles, ToolPermission::CreateFiles])
            .approval(Approval::PerCall)
            .termination(
                "Use terminate=true after the last file of a task. Use terminate=false if more \
                 changes or a check follow.",
            )
            .prompt(
                "Text: {\"path\": \"notes/a.md\", \"content\": \"# Notes\\n\", \"create_dirs\": true}. \
                 Bytes: {\"path\": \"dot.gif\", \"content\": \"R0lGODlhAQABAAAAACw=\", \"encoding\": \"base64\"}.",
            )
            .example(json!({"path": "notes/a.md", "content": "# Notes\n", "create_dirs": true}))
            .face(
                Face::new(Vocabulary::Workspace, "write_file")
                    .rename("create_dirs", "createDirs")
                    .camel_case_result(),
            )
            .face(
                Face::new(Vocabulary::Ally, "write")
                    .rename("path", "file_path")
                    .hide(&["encoding"])
                    .preset("create_dirs", true),
            )
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: WriteFileArgs = args.parse()?;
        cx.blocking(move |cx| {
            let target = Target::look(cx, &args.path)?;
            check(cx, &target, args.create_dirs.unwrap_or(false))?;
            let content = match args.encoding.unwrap_or_default() {
                TransferEncoding::Utf8 => {
                    target.refuse_placeholders(&args.content)?;
                    args.content.into_bytes()
                }
                TransferEncoding::Base64 => {
                    STANDARD.decode(args.content.trim()).map_err(|error| {
                        let message = format!("`content` is not Base64: {error}");
                        ToolError::new(ErrorCode::InvalidArguments, message)
                    })?
                }
            };
            propose_write(cx, &target, content)
        })
        .await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Write {}", argument(args, "path")?))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        written_summary("Wrote", result)
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        written_text("Wrote", result)
    }
}

/// That the file may be there or not, but is a file, is known if it is there, and has a directory.
fn check(cx: &ToolContext, target: &Target, create_dirs: bool) -> Result<(), ToolError> {
    match &target.base {
        Base::File { hash, .. } => cx.check_known(&target.path, *hash),
        Base::Absent if create_dirs || missing_parents(cx, &target.path).is_empty() => Ok(()),
        Base::Absent => {
            let message = format!("the directory of {} does not exist", target.path);
            Err(ToolError::new(ErrorCode::FileNotFound, message)
                .suggest("Set create_dirs to true to make it."))
        }
        Base::Directory { .. } | Base::Link { .. } => {
            let message = format!("{} is not a file", target.path);
            Err(ToolError::new(ErrorCode::NotAFile, message).suggest("Choose another path."))
        }
    }
}

auto_register_tool!(WriteFileTool);
