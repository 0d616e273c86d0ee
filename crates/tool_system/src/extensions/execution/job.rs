//! `job`: commands that run on between calls.

use protocol::RunMode;
use tool_system::command_report::working_dir;
use tool_system::outcome_text::{OutcomeText, argument, in_one_line, items, text_at};
use tool_system::prelude::*;
use tool_system::search_notes::counted;

/// Other modules name the tool by this.
pub const NAME: &str = "job";

/// A job ends with its session; this is for one that was forgotten.
const LONGEST_MS: u64 = 24 * 60 * 60 * 1000;

/// Run a command in the background, such as a server. It sees edits and writes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JobArgs {
    action: JobAction,
    id: Option<String>,
    command: Option<String>,
    #[schemars(length(min = 0))]
    input: Option<String>,
    cursor: Option<Whole<0>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum JobAction {
    Start,
    Output,
    Input,
    Stop,
    List,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct JobOutput {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// For the next look.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<Vec<ListedJob>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedJob {
    id: String,
    command: String,
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
}

#[derive(Debug)]
struct JobTool;

#[async_trait]
impl Tool for JobTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<JobArgs, JobOutput>(NAME, Category::Execution)
            .on_demand()
            .title("Run a background job")
            .permissions([ToolPermission::ReadFiles, ToolPermission::ExecuteCommands])
            .approval(Approval::PerCall)
            .termination(
                "Use terminate=false: the output has to be looked at. Use terminate=true after a job \
                 was started that the user will use.",
            )
            .prompt(
                "{\"action\": \"start\", \"command\": \"npm run dev\"}, then {\"action\": \"output\", \
                 \"id\": \"1\", \"cursor\": 0} with the cursor of the last answer, and in the end \
                 {\"action\": \"stop\", \"id\": \"1\"}.",
            )
            .example(json!({"action": "start", "command": "python3 -m http.server"}))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: JobArgs = args.parse()?;
        let cursor = args.cursor.map_or(0, |cursor| cursor.0);
        match args.action {
            JobAction::Start => start(&cx, needed(args.command, "start", "command")?),
            JobAction::Input => {
                let id = needed(args.id, "input", "id")?;
                let command = CommandSpec {
                    argv: cx.jobs().argv(&id)?,
                    stdin: Some(needed(args.input, "input", "input")?),
                    run: RunMode::Tell(id),
                    ..job(".".into())
                };
                Ok(Outcome::Proposal(Proposed::command(command)))
            }
            JobAction::Output => {
                let id = needed(args.id, "output", "id")?;
                let look = cx.jobs().output(&id, cursor).await?;
                Outcome::answer(answer(id, look))
            }
            JobAction::Stop => {
                let id = needed(args.id, "stop", "id")?;
                let argv = cx.jobs().argv(&id)?;
                let command = CommandSpec { argv, run: RunMode::Stop(id), ..job(".".into()) };
                Ok(Outcome::Proposal(Proposed::command(command)))
            }
            JobAction::List => {
                let jobs = cx.jobs().list().into_iter().map(|(id, argv, end)| ListedJob {
                    id,
                    command: argv.into_iter().next_back().unwrap_or_default(),
                    running: end.is_none(),
                    exit_code: end.and_then(|end| end.exit_code),
                });
                Outcome::answer(JobOutput { jobs: Some(jobs.collect()), ..JobOutput::default() })
            }
        }
    }

    fn report(&self, _: &ToolArguments, ran: Value) -> ToolResult {
        tool_system::json_of(JobOutput {
            id: ran["job"].as_str().map(str::to_owned),
            running: ran["running"].as_bool(),
            exit_code: ran["exit_code"].as_i64().and_then(|code| code.try_into().ok()),
            message: ran["message"].as_str().map(str::to_owned),
            ..JobOutput::default()
        })
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let id = argument(args, "id").unwrap_or("?");
        Some(match argument(args, "action")? {
            "start" => format!("Start {}", in_one_line(argument(args, "command")?)),
            "output" => format!("Look at job {id}"),
            "input" => format!("Write to job {id}"),
            "stop" => format!("Stop job {id}"),
            _ => "List jobs".to_owned(),
        })
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let id = text_at(result, "id").or(argument(args, "id")).unwrap_or("?");
        let end = match (result["running"].as_bool(), result["exit_code"].as_i64()) {
            (Some(false), Some(code)) => format!(", exit {code}"),
            (Some(false), None) => ", ended".to_owned(),
            _ => String::new(),
        };
        Some(match argument(args, "action")? {
            "start" => {
                let command = in_one_line(argument(args, "command")?);
                format!("Started job {id}: {command}{end}")
            }
            "output" => format!("Looked at job {id}{end}"),
            "input" => format!("Wrote to job {id}{end}"),
            "stop" => format!("Stopped job {id}{end}"),
            _ => {
                let jobs = items(result, "jobs").count() as u64;
                format!("Listed {}", counted(jobs, "job", "jobs"))
            }
        })
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let mut text = OutcomeText::new(result["output"].as_str().unwrap_or_default());
        if let Some(jobs) = result.get("jobs") {
            let lines = jobs.as_array()?.iter().map(|job| {
                Some(format!(
                    "{}\t{}\t{}",
                    text_at(job, "id")?,
                    state(job),
                    text_at(job, "command")?
                ))
            });
            let lines = lines.collect::<Option<Vec<_>>>()?.join("\n");
            text.block(if lines.is_empty() { "No jobs" } else { &lines });
        } else {
            text.note(format!("job {} {}", text_at(result, "id")?, state(result)));
        }
        if let Some(cursor) = result["cursor"].as_u64() {
            text.note(format!("cursor={cursor}"));
        }
        text.note(text_at(result, "message").unwrap_or_default());
        text.add_outcome(result);
        Some(text.finish())
    }
}

/// Whether a job runs, or how it ended.
fn state(job: &Value) -> String {
    match (job["running"].as_bool(), job["exit_code"].as_i64()) {
        (Some(false), Some(code)) => format!("exit {code}"),
        (Some(false), None) => "ended".to_owned(),
        _ => "running".to_owned(),
    }
}

fn start(cx: &ToolContext, command: String) -> Result<Outcome, ToolError> {
    let command = CommandSpec {
        argv: vec!["bash".into(), "-c".into(), command],
        run: RunMode::Job,
        ..job(working_dir(cx, None)?)
    };
    Ok(Outcome::Proposal(Proposed::command(command)))
}

/// A server has to see what is changed while it runs, so that a copy of the project is of no use to it.
fn job(working_dir: String) -> CommandSpec {
    CommandSpec {
        working_dir,
        timeout_ms: LONGEST_MS,
        project: ProjectMode::Live,
        ..CommandSpec::default()
    }
}

fn answer(id: String, look: tool_system::commands::JobView) -> JobOutput {
    let missed = (look.missed > 0).then(|| format!("{} earlier bytes are not kept", look.missed));
    let end = look.end;
    JobOutput {
        id: Some(id),
        output: Some(look.output),
        cursor: Some(look.cursor),
        running: Some(end.is_none()),
        exit_code: end.as_ref().and_then(|end| end.exit_code),
        message: end.and_then(|end| end.message).or(missed),
        jobs: None,
    }
}

fn needed(value: Option<String>, action: &str, name: &str) -> Result<String, ToolError> {
    value.ok_or_else(|| {
        let message = format!("to {action}, {name} is needed");
        ToolError::new(ErrorCode::InvalidArguments, message)
    })
}

auto_register_tool!(JobTool);
