//! `run_tests`: the project's own tests, and what they say in one form.

use protocol::CommandSpec;
use tool_system::outcome_text::{OutcomeText, add_changes, argument, items, text_at};
use tool_system::prelude::*;
use tool_system::project_kind::{nearest, no_option};
use tool_system::test_commands::{Framework, LOOKED_FOR};
use tool_system::test_reports::{self, FailedTest, both_ends};

/// Bytes of output that are shown where no report explains a failure.
const SHOWN_OUTPUT: usize = 8 * 1024;

/// Run the project's tests. Shows what failed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunTestsArgs {
    path: Option<String>,
    /// Part of test names
    filter: Option<String>,
    framework: Option<Framework>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RunTestsOutput {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    passed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailedTest>,
    /// The end of what was printed, where no test explains how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Left out if a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    timed_out: bool,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Value>,
}

#[derive(Debug)]
struct RunTestsTool;

#[async_trait]
impl Tool for RunTestsTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<RunTestsArgs, RunTestsOutput>("run_tests", Category::Execution)
            .on_demand()
            .permissions([ToolPermission::ReadFiles, ToolPermission::ExecuteCommands])
            .approval(Approval::PerCall)
            .termination(
                "Use terminate=false: failing tests usually have to be fixed. Use terminate=true when \
                 the user asked only whether the tests pass.",
            )
            .prompt(
                "All tests: {}. Those of one directory with a name: {\"path\": \"crates/shop\", \
                 \"filter\": \"adds\"}. Prefer it to running the test program by hand: the answer is short.",
            )
            .example(json!({"filter": "adds"}))
    }

    fn is_useful(&self, project: &workspace::Workspace) -> bool {
        tool_system::project_kind::is_built(project)
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: RunTestsArgs = args.parse()?;
        cx.blocking(move |cx| Ok(Outcome::Proposal(Proposed::command(command(cx, &args)?)))).await
    }

    fn report(&self, _: &ToolArguments, ran: Value) -> ToolResult {
        summary(&ran)
    }

    fn preview(&self, result: &Value, max_lines: usize) -> Vec<String> {
        let count = |key: &str| result[key].as_u64().unwrap_or(0);
        let counts = format!(
            "{} passed, {} failed, {} skipped",
            count("passed"),
            count("failed"),
            count("skipped")
        );
        let names = result["failures"].as_array().into_iter().flatten();
        let names = names.filter_map(|failure| failure["name"].as_str().map(str::to_owned));
        std::iter::once(counts).chain(names).take(max_lines).collect()
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let path = argument(args, "path").map_or(String::new(), |path| format!(" of {path}"));
        let filter = argument(args, "filter").map_or(String::new(), |name| format!(" for {name}"));
        Some(format!("Run the tests{path}{filter}"))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let is_ok = result["ok"].as_bool()?;
        Some(match (counts(result), result["timed_out"] == true) {
            (_, true) => "Ran the tests: their time was over".to_owned(),
            (Some(counts), false) => format!("Ran the tests: {counts}"),
            (None, false) if is_ok => "Ran the tests".to_owned(),
            (None, false) => "Ran the tests: they failed".to_owned(),
        })
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let is_ok = result["ok"].as_bool()?;
        let mut text = OutcomeText::new(counts(result).unwrap_or_default());
        for failure in items(result, "failures") {
            let name = text_at(failure, "name")?;
            text.block(&format!("{name}:\n{}", text_at(failure, "output").unwrap_or_default()));
        }
        text.block(text_at(result, "output").unwrap_or_default());
        let is_explained = result["failed"].as_u64() > Some(0);
        match result["exit_code"].as_i64() {
            Some(code) if !is_ok && !is_explained => text.note(format!("exit {code}")),
            _ => {}
        }
        text.note(text_at(result, "message").unwrap_or_default());
        add_changes(&mut text, &result["changes"]);
        text.add_outcome(result);
        Some(text.finish())
    }
}

/// How many tests did what; none if no report was recognised.
fn counts(result: &Value) -> Option<String> {
    let count = |key: &str| usize::try_from(result[key].as_u64()?).ok();
    let passed = count("passed")?;
    let (failed, skipped) = (count("failed").unwrap_or(0), count("skipped").unwrap_or(0));
    Some(test_reports::counts_in_words(passed, failed, skipped))
}

fn command(cx: &ToolContext, args: &RunTestsArgs) -> Result<CommandSpec, ToolError> {
    let filter = args.filter.as_deref().filter(|filter| !filter.is_empty());
    filter.map_or(Ok(()), |filter| no_option("filter", filter))?;
    let found = nearest(cx, args.path.as_deref(), |place| Framework::of(place, args.framework))?;
    let Some((place, framework)) = found else {
        let path = args.path.as_deref().unwrap_or("the project");
        let message = format!("there is nothing that runs tests in {path} or above it");
        return Err(ToolError::new(ErrorCode::FileNotFound, message)
            .suggest(format!("Looked for {LOOKED_FOR}. Name a directory that has one as path.")));
    };
    no_option("path", &place.rest)?;
    let env = [("CI", "1"), ("NO_COLOR", "1"), ("RUST_BACKTRACE", "0")];
    Ok(CommandSpec {
        argv: framework.command(&place, filter),
        working_dir: place.directory.to_text(),
        env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        timeout_ms: cx.limits().max_command_s.saturating_mul(1000),
        project: ProjectMode::Look,
        ..CommandSpec::default()
    })
}

fn summary(ran: &Value) -> ToolResult {
    let text = |key: &str| ran[key].as_str().unwrap_or_default();
    let (stdout, stderr) = (text("stdout"), text("stderr"));
    let exit_code = ran["exit_code"].as_i64();
    let timed_out = ran["timed_out"].as_bool().unwrap_or(false);
    let report = test_reports::read(stdout, stderr);
    let failed = report.as_ref().map(|report| report.failed);
    let is_explained = exit_code == Some(0) || failed.is_some_and(|failed| failed > 0);
    let output = (!is_explained || report.is_none())
        .then(|| both_ends(format!("{stdout}\n{stderr}").trim(), SHOWN_OUTPUT));
    let was_cut = ["stdout", "stderr"]
        .iter()
        .any(|key| ran[format!("{key}_bytes")].as_u64() > Some(text(key).len() as u64));
    let message = if timed_out {
        Some(
            "The tests were stopped because their time was over; choose fewer with path or filter.",
        )
    } else if was_cut {
        Some("They printed more than is kept; the counts may be too low.")
    } else if stderr.contains("No module named pytest") {
        Some("pytest is not installed; install_package can, or framework unittest may do.")
    } else if report.is_none() {
        Some("No test report was recognised; the exit code tells.")
    } else {
        None
    };
    let counted = |count: fn(&test_reports::TestReport) -> usize| report.as_ref().map(count);
    let answer = RunTestsOutput {
        ok: exit_code == Some(0) && failed.unwrap_or(0) == 0,
        passed: counted(|report| report.passed),
        failed,
        skipped: counted(|report| report.skipped),
        exit_code,
        timed_out,
        duration_ms: ran["duration_ms"].as_u64().unwrap_or(0),
        message: message.map(str::to_owned),
        changes: ran.get("changes").cloned(),
        output,
        failures: report.map(|report| report.failures).unwrap_or_default(),
    };
    tool_system::json_of(answer)
}

auto_register_tool!(RunTestsTool);

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(stdout: &str, stderr: &str, exit_code: i64) -> Value {
        let ran = json!({"stdout": stdout, "stderr": stderr, "exit_code": exit_code, "timed_out": false,
            "duration_ms": 7, "stdout_bytes": stdout.len(), "stderr_bytes": stderr.len()});
        summary(&ran).unwrap()
    }

    #[test]
    fn a_report_is_counted_and_one_that_does_not_compile_is_shown() {
        let good = ran("test result: ok. 3 passed; 0 failed; 0 ignored\n", "Compiling\n", 0);
        assert_eq!(
            good,
            json!({"ok": true, "passed": 3, "failed": 0, "skipped": 0, "exit_code": 0, "timed_out": false, "duration_ms": 7})
        );
        let broken = ran("", "error[E0425]: cannot find value\n", 101);
        assert_eq!(broken["ok"], false);
        assert_eq!(broken["output"], "error[E0425]: cannot find value");
        assert!(broken["message"].as_str().unwrap().contains("No test report"));
        // A program that died after its tests had passed.
        let died =
            ran("test result: ok. 3 passed; 0 failed; 0 ignored\n", "signal: 11, SIGSEGV\n", 101);
        assert!(died["output"].as_str().unwrap().contains("SIGSEGV") && died["ok"] == false);
    }

    #[test]
    fn output_that_was_cut_is_told() {
        let cut = json!({"stdout": "1 passed in 0.1s", "stderr": "", "exit_code": 0, "stdout_bytes": 900_000, "stderr_bytes": 0});
        assert!(summary(&cut).unwrap()["message"].as_str().unwrap().contains("more than is kept"));
    }
}
