//! `edit_lines`: lines by their numbers.

use tool_system::edit::{LineEdit, edit_lines, refuse_placeholder};
use tool_system::outcome_text::{EditText, EditedFiles, argument, edit_summary};
use tool_system::prelude::*;
use tool_system::proposing::{AnswerDiff, Target, answer_diff};

/// Other modules name the tool by this.
pub const NAME: &str = "edit_lines";

/// Insert after, delete or replace lines by number.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditLinesArgs {
    path: String,
    operation: Operation,
    /// 0: insert at the top
    start_line: Whole<0>,
    end_line: Option<Whole<1>>,
    #[schemars(length(min = 0))]
    content: Option<String>,
    /// The lines as they are
    #[schemars(length(min = 0))]
    expected: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Insert,
    Delete,
    Replace,
}

#[derive(Debug, Serialize, JsonSchema)]
struct EditLinesOutput {
    total_lines: usize,
    line_delta: isize,
    diff: String,
    /// Lines that came.
    added: usize,
    /// Lines that went.
    removed: usize,
}

#[derive(Debug)]
struct EditLinesTool;

#[async_trait]
impl Tool for EditLinesTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<EditLinesArgs, EditLinesOutput>(NAME, Category::Writing)
            .permissions([ToolPermission::ReadFiles, ToolPermission::WriteFiles])
            .approval(Approval::Always)
            .termination(
                "Line numbers shift with every edit: read the file again if unsure, and consider \
                 the preview mode of replace_in_file first where a text is easier to name than a \
                 line. Use terminate=true after a successful edit. Use terminate=false if \
                 verification is needed.",
            )
            .prompt(
                "After line 42: {\"path\": \"src/main.rs\", \"operation\": \"insert\", \"start_line\": 42, \
                 \"content\": \"let kiln = Kiln::new();\"}. Drop lines 5 to 8: {\"path\": \"src/main.rs\", \
                 \"operation\": \"delete\", \"start_line\": 5, \"end_line\": 8}. Give expected to be sure \
                 that the lines are the ones you mean.",
            )
            .example(json!({
                "path": "src/main.rs", "operation": "insert", "start_line": 42, "content": "let kiln = Kiln::new();",
            }))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: EditLinesArgs = args.parse()?;
        cx.blocking(move |cx| propose(cx, &args)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Edit {}", argument(args, "path")?))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        Some(edit_summary("Edited", argument(args, "path")?, result))
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let call = EditedFiles::One;
        let mut text = EditText { verb: "Edited", differs: &|_| false, call }.of(result)?;
        text.add_outcome(result);
        Some(text.finish())
    }
}

fn propose(cx: &ToolContext, args: &EditLinesArgs) -> Result<Outcome, ToolError> {
    let target = Target::file(cx, &args.path)?;
    let text = target.text();
    if let Some(content) = &args.content {
        refuse_placeholder(content, text.body())?;
    }
    let edited = edit_lines(text.body(), line_edit(args)?, args.expected.as_deref())?;
    let write = target.write(text.encode_body(&edited.body)?);
    let AnswerDiff { diff, added, removed } = answer_diff(&[(&write, Some(target.bytes()))]);
    let answer = EditLinesOutput {
        total_lines: edited.total_lines,
        line_delta: edited.delta,
        diff,
        added,
        removed,
    };
    let set = protocol::ChangeSet { changes: vec![write] };
    Ok(Outcome::Proposal(Proposed::changes(set, target.answer(answer)?)))
}

fn line_edit(args: &EditLinesArgs) -> Result<LineEdit<'_>, ToolError> {
    let start = args.start_line.as_usize();
    let end = args.end_line.map_or(start, Whole::as_usize);
    let content = || {
        args.content.as_deref().ok_or_else(|| {
            ToolError::new(
                ErrorCode::InvalidArguments,
                "`content` is required to insert or replace",
            )
            .suggest("Use operation=\"delete\" to remove lines.")
        })
    };
    Ok(match args.operation {
        Operation::Insert => LineEdit::Insert { after: start, content: content()? },
        Operation::Delete => LineEdit::Delete { start, end },
        Operation::Replace => LineEdit::Replace { start, end, content: content()? },
    })
}

auto_register_tool!(EditLinesTool);
