//! `run_code`: a piece of Python or shell code.

use std::collections::BTreeMap;

use tool_system::command_report::CommandReport;
use tool_system::outcome_text::{Printed, argument, command_summary, in_one_line, text_at};
use tool_system::prelude::*;

/// A single argument of a program cannot be longer than this on Linux.
const MOST_CODE_BYTES: usize = 120 * 1024;

/// Run Python or bash code, confined like bash.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunCodeArgs {
    language: Language,
    code: String,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    /// Default 60 s
    timeout: Option<Whole<1>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Language {
    Python,
    Bash,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RunCodeOutput {
    stdout: String,
    stderr: String,
    /// 124 if the time was over, 128 and the signal if it was killed.
    exit_code: i64,
    /// Milliseconds.
    duration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// What became of the files that it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Value>,
}

#[derive(Debug)]
struct RunCodeTool;

#[async_trait]
impl Tool for RunCodeTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<RunCodeArgs, RunCodeOutput>("run_code", Category::Execution)
            .on_demand()
            .permissions([ToolPermission::ReadFiles, ToolPermission::ExecuteCommands])
            .approval(Approval::PerCall)
            .termination(
                "Use terminate=false if the output has to be looked at. Use terminate=true when \
                 presenting the output to the user.",
            )
            .prompt(
                "{\"language\": \"python\", \"code\": \"import sys; print(sys.argv[1:])\", \
                 \"args\": [\"a\"]}.",
            )
            .example(json!({"language": "python", "code": "print(6 * 7)"}))
            .face(Face::new(Vocabulary::Workspace, "run_code").camel_case_result())
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: RunCodeArgs = args.parse()?;
        if args.code.len() > MOST_CODE_BYTES {
            let message = format!("the code has more than {MOST_CODE_BYTES} bytes");
            return Err(ToolError::new(ErrorCode::InvalidArguments, message)
                .suggest("Write it to a file of the project and run that."));
        }
        let mut argv = match args.language {
            Language::Python => vec!["python3".into(), "-c".into(), args.code],
            // What follows the code is the name of the script, and then its arguments.
            Language::Bash => vec!["bash".into(), "-c".into(), args.code, "bash".into()],
        };
        argv.extend(args.args.unwrap_or_default());
        let limits = cx.limits();
        let seconds = args.timeout.map_or(limits.run_code_s, |timeout| timeout.0);
        let command = CommandSpec {
            argv,
            working_dir: ".".into(),
            env: args.env.unwrap_or_default(),
            timeout_ms: seconds.min(limits.max_command_s).saturating_mul(1000),
            network: cx.network(),
            ..CommandSpec::default()
        };
        Ok(Outcome::Proposal(Proposed::command(command)))
    }

    fn report(&self, _: &ToolArguments, ran: Value) -> ToolResult {
        let ended = CommandReport::read(ran)?;
        tool_system::json_of(RunCodeOutput {
            exit_code: ended.return_code(),
            message: ended.message(),
            duration: ended.duration_ms,
            stdout: ended.stdout,
            stderr: ended.stderr,
            changes: ended.changes,
        })
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let (language, code) = (argument(args, "language")?, argument(args, "code")?);
        Some(format!("Run {language}: {}", in_one_line(code)))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let (language, code) = (argument(args, "language")?, argument(args, "code")?);
        let exit_code = result["exit_code"].as_i64()?;
        Some(command_summary(&format!("{language}: {code}"), exit_code, result))
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let printed = Printed {
            outputs: [result["stdout"].as_str()?, result["stderr"].as_str()?],
            exit_code: Some(result["exit_code"].as_i64()?),
            message: text_at(result, "message"),
        };
        Some(printed.text(result).finish())
    }
}

auto_register_tool!(RunCodeTool);
