//! `format_code`: the project's formatter; what it changes is shown and can be undone.

use tool_system::formatters::{LOOKED_FOR, command};
use tool_system::outcome_text::{Printed, argument, changed_words, text_at};
use tool_system::prelude::*;
use tool_system::project_kind::{nearest, no_option};
use tool_system::test_reports::both_ends;

/// Bytes of output that are shown.
const SHOWN_OUTPUT: usize = 4 * 1024;

/// Format code with the project's formatter.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FormatCodeArgs {
    path: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FormatCodeOutput {
    ok: bool,
    /// What became of the changes; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Value>,
    /// What the formatter said.
    #[serde(skip_serializing_if = "String::is_empty")]
    output: String,
    /// Left out if a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
}

#[derive(Debug)]
struct FormatCodeTool;

#[async_trait]
impl Tool for FormatCodeTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<FormatCodeArgs, FormatCodeOutput>("format_code", Category::Execution)
            .on_demand()
            .permissions([
                ToolPermission::ReadFiles,
                ToolPermission::WriteFiles,
                ToolPermission::ExecuteCommands,
            ])
            .approval(Approval::PerCall)
            .termination(
                "Use terminate=false if more is to be done. Use terminate=true when formatting was all \
                 that the user asked for.",
            )
            .prompt("The whole project: {}. One file: {\"path\": \"src/main.rs\"}.")
            .example(json!({"path": "src/main.rs"}))
    }

    fn is_useful(&self, project: &workspace::Workspace) -> bool {
        tool_system::project_kind::is_built(project)
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: FormatCodeArgs = args.parse()?;
        cx.blocking(move |cx| Ok(Outcome::Proposal(Proposed::command(spec(cx, &args)?)))).await
    }

    fn report(&self, _: &ToolArguments, ran: Value) -> ToolResult {
        let text = |key: &str| ran[key].as_str().unwrap_or_default().trim();
        let said = format!("{}\n{}", text("stdout"), text("stderr"));
        let exit_code = ran["exit_code"].as_i64();
        tool_system::json_of(FormatCodeOutput {
            ok: exit_code == Some(0),
            changes: ran.get("changes").cloned(),
            output: both_ends(said.trim(), SHOWN_OUTPUT),
            exit_code,
        })
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Format {}", argument(args, "path").unwrap_or("the project")))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let what = argument(args, "path").unwrap_or("the project");
        let changed = changed_words(result);
        Some(match (result["ok"].as_bool()?, changed.is_empty()) {
            (false, _) => format!("Formatting {what} failed{changed}"),
            (true, true) => format!("Formatted {what}, nothing changed"),
            (true, false) => format!("Formatted {what}{changed}"),
        })
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let said = text_at(result, "output").unwrap_or_default();
        let is_ok = result["ok"].as_bool()?;
        let is_silent = is_ok && said.is_empty() && result.get("changes").is_none();
        let printed = Printed {
            outputs: [if is_silent { "Nothing to change" } else { said }, ""],
            exit_code: result["exit_code"].as_i64(),
            message: None,
        };
        Some(printed.text(result).finish())
    }
}

fn spec(cx: &ToolContext, args: &FormatCodeArgs) -> Result<CommandSpec, ToolError> {
    let Some((place, argv)) = nearest(cx, args.path.as_deref(), command)? else {
        let path = args.path.as_deref().unwrap_or("the project");
        let message = format!("no formatter is known for {path}");
        return Err(ToolError::new(ErrorCode::FileNotFound, message)
            .suggest(format!("Looked for {LOOKED_FOR}, there and above.")));
    };
    no_option("path", &place.rest)?;
    Ok(CommandSpec {
        argv,
        working_dir: place.directory.to_text(),
        env: [("NO_COLOR".to_owned(), "1".to_owned())].into(),
        timeout_ms: cx.limits().run_code_s.saturating_mul(1000),
        ..CommandSpec::default()
    })
}

auto_register_tool!(FormatCodeTool);
