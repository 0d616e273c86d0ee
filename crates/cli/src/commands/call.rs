//! `toolkiln call`: one tool, one result.

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use protocol::{ToolCall, View, parse_strict_json};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tool_system::{ExecutorOptions, Limits};

use crate::args::{ApprovalArgs, CallArgs, Scope};
use crate::output;
use crate::project::{Lifetime, Project, project_root};

/// The exit code of a call that ended in a tool error.
const TOOL_ERROR: u8 = 1;
/// Larger arguments are refused before they are parsed.
const MAX_ARGUMENT_BYTES: u64 = 64 * 1024 * 1024;

pub(crate) fn run(args: CallArgs) -> anyhow::Result<ExitCode> {
    execute(args.tool, arguments(args.json)?, &args.scope, &args.approval, args.view)
}

/// Runs one tool and prints its result.
pub(crate) fn execute(
    tool: String,
    arguments: Map<String, Value>,
    scope: &Scope,
    approval: &ApprovalArgs,
    view: Option<View>,
) -> anyhow::Result<ExitCode> {
    let call = ToolCall::new("call_1", tool, arguments);
    let project = Project::open(&project_root::checked(scope)?)?;
    // This process ends with the call, so nobody could ask for the rest of a cut result.
    let tools = project.tools(scope, approval, Lifetime::OneCall)?;
    let options = tools.options.clone();
    let limits = Limits { result_bytes: u64::MAX, run_output_bytes: u64::MAX, ..options.limits };
    let executor = tools.executor(ExecutorOptions { limits, ..options });
    let result = runtime()?.block_on(executor.execute_tool(&call, &CancellationToken::new()));
    let view = view.unwrap_or_else(|| scope.vocabulary.view());
    output::json(&view.render(&call, &result))?;
    match result {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            output::to_people(&format!("toolkiln: {}: {}", error.code, error.full_message()));
            Ok(ExitCode::from(TOOL_ERROR))
        }
    }
}

/// A runtime for one call.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_time().build()?)
}

/// Arguments from the command line, or from standard input.
pub(crate) fn arguments(json: String) -> anyhow::Result<Map<String, Value>> {
    let text = if json == "-" {
        let mut text = String::new();
        let mut input = std::io::stdin().lock().take(MAX_ARGUMENT_BYTES + 1);
        input
            .read_to_string(&mut text)
            .context("the arguments on standard input cannot be read")?;
        text
    } else {
        json
    };
    if text.len() as u64 > MAX_ARGUMENT_BYTES {
        bail!("the arguments are larger than {MAX_ARGUMENT_BYTES} bytes");
    }
    let mut value = parse_strict_json(&text).context("the arguments are not JSON")?;
    // Arguments that were written as JSON in a string are a common slip.
    if let Value::String(inner) = &value {
        value = parse_strict_json(inner).context("the arguments are not a JSON object")?;
    }
    match value {
        Value::Object(arguments) => Ok(arguments),
        other => bail!("the arguments must be a JSON object, not {other}"),
    }
}
