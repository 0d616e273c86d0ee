//! `bash`: a shell command.

use tool_system::command_report::{CommandReport, working_dir};
use tool_system::outcome_text::{Printed, argument, command_summary, in_one_line, text_at};
use tool_system::prelude::*;
use tool_system::test_reports;

/// Other modules name the tool by this.
pub const NAME: &str = "bash";

/// Bytes of output in which a report on tests is looked for, to name the counts in the summary.
const MAX_READ_REPORT: usize = 64 * 1024;

/// Run a shell command on a copy, offline; its changes are asked about.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BashArgs {
    command: String,
    /// In 5-10 words
    description: Option<String>,
    /// Seconds; default 120, at most 600
    timeout: Option<Whole<1>>,
    working_dir: Option<String>,
    /// Ignored paths to keep, e.g. dist
    keep: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BashOutput {
    output: String,
    error: String,
    /// 124 if the time was over, 128 and the signal if it was killed.
    return_code: i64,
    /// look: on a copy that was thrown away. copy: its changes were applied. direct: on the files.
    ran: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// What became of its changes; `private` paths are seen by later commands only.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Value>,
}

#[derive(Debug)]
struct BashTool;

#[async_trait]
impl Tool for BashTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<BashArgs, BashOutput>(NAME, Category::Execution)
            .title("Run a command")
            .permissions([ToolPermission::ReadFiles, ToolPermission::ExecuteCommands])
            .approval(Approval::PerCall)
            .termination(
                "Use terminate=false if the output has to be looked at. Use terminate=true when the \
                 command is the last step of a task.",
            )
            .prompt(
                "{\"command\": \"cargo test\", \"timeout\": 300}. For what runs longer, such as a \
                 server, use job. To read, search and edit files use the tools for that: they are \
                 quicker and exact.",
            )
            .example(json!({"command": "ls -la", "description": "List the project"}))
            .face(
                Face::new(Vocabulary::Ally, "bash")
                    .describe_argument("timeout", "Seconds; default 5, at most 60"),
            )
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: BashArgs = args.parse()?;
        let limits = cx.limits();
        let seconds = args.timeout.map_or(limits.bash_s, |timeout| timeout.0);
        let keep = args.keep.unwrap_or_default();
        let keep = keep.iter().map(|path| Ok(cx.workspace().resolve(path)?.to_text()));
        let command = CommandSpec {
            keep: keep.collect::<Result<_, ToolError>>()?,
            argv: vec!["bash".into(), "-c".into(), args.command],
            working_dir: working_dir(&cx, args.working_dir.as_deref())?,
            timeout_ms: seconds.min(limits.max_bash_s).saturating_mul(1000),
            ..CommandSpec::default()
        };
        Ok(Outcome::Proposal(Proposed::command(command)).for_purpose(args.description))
    }

    fn report(&self, _: &ToolArguments, ran: Value) -> ToolResult {
        let ended = CommandReport::read(ran)?;
        let (return_code, message) = (ended.return_code(), ended.message());
        let CommandReport { stdout, stderr, ran, changes, .. } = ended;
        let (output, error) = (stdout, stderr);
        let answer = BashOutput { output, error, return_code, ran, message, changes };
        tool_system::json_of(answer)
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Run {}", in_one_line(argument(args, "command")?)))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let command = argument(args, "command")?;
        let summary = command_summary(command, result["return_code"].as_i64()?, result);
        let text = |key: &str| text_at(result, key).unwrap_or_default();
        let (output, error) = (text("output"), text("error"));
        // A log that is printed may hold a report as well, so the command itself has to mention tests.
        let may_report = command.contains("test") && output.len() + error.len() <= MAX_READ_REPORT;
        let counts = may_report.then(|| test_reports::read(output, error));
        Some(match counts.flatten() {
            Some(report) => format!("{summary}: {}", report.in_words()),
            None => summary,
        })
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let printed = Printed {
            outputs: [result["output"].as_str()?, result["error"].as_str()?],
            exit_code: Some(result["return_code"].as_i64()?),
            message: text_at(result, "message"),
        };
        Some(printed.text(result).finish())
    }
}

auto_register_tool!(BashTool);
