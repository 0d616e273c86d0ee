//! `toolkiln call`: one tool, one result.

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use protocol::{ToolCall, View, parse_strict_json};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tool_system::Limits;

use crate::args::{ApprovalArgs, ProjectArgs};
use crate::output;
use crate::project::{Lifetime, Project, project_root};

/// The exit code of a call that ended in a tool error.
const TOOL_ERROR: u8 = 1;
/// Larger arguments are refused before they are parsed.
const MAX_ARGUMENT_BYTES: u64 = 64 * 1024 * 1024;

const EXAMPLES: &str = "\
Examples:
  toolkiln call read_file '{\"path\": \"src/main.rs\", \"limit\": 20}'
  toolkiln call grep '{\"pattern\": \"TODO\"}' --root ~/project
  echo '{\"pattern\": \"**/*.tsx\"}' | toolkiln call glob - --view tagged";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CallArgs {
    /// The tool, by its name in any vocabulary
    pub(crate) tool: String,
    /// Its arguments as a JSON object, or - to read them from standard input
    #[arg(default_value = "{}")]
    pub(crate) json: String,
    #[command(flatten)]
    pub(crate) scope: ProjectArgs,
    /// The shape of the result: flat, tagged, block or bare; the vocabulary's own if left out
    #[arg(long)]
    pub(crate) view: Option<View>,
    /// Print the result as a model reads it in a conversation
    #[arg(long, conflicts_with = "view")]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
}

pub(crate) fn run(args: CallArgs) -> anyhow::Result<ExitCode> {
    let form = match (args.text, args.view) {
        (true, _) => Form::Text,
        (false, Some(view)) => Form::View(view),
        (false, None) => Form::OfVocabulary,
    };
    execute(args.tool, arguments(args.json)?, &args.scope, &args.approval, form)
}

/// How a result is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// In the view that callers of the vocabulary expect.
    OfVocabulary,
    View(View),
    /// As a model reads it.
    Text,
}

/// Runs one tool and prints its result.
pub(crate) fn execute(
    tool: String,
    arguments: Map<String, Value>,
    scope: &ProjectArgs,
    approval: &ApprovalArgs,
    form: Form,
) -> anyhow::Result<ExitCode> {
    let call = ToolCall::new("call_1", tool, arguments);
    let mut project = Project::open(&project_root::checked(scope)?)?;
    let is_foreign = call.name.contains(mcp_client::SEPARATOR);
    if !is_foreign {
        project = project.without_servers();
    }
    let caller = project.caller(scope, approval)?;
    let tools = project.tools(scope, approval, Lifetime::OneCall)?;
    // This process ends with the call, so the rest of a cut result could not be read.
    let tools = tools.with_limits(|limits| Limits {
        result_bytes: u64::MAX,
        run_output_bytes: u64::MAX,
        foreign_output_bytes: u64::MAX,
        web_page_bytes: u64::MAX,
        ..limits
    });
    let executor = tools.executor(caller);
    let _lent = project.working.lend(&executor);
    // Sockets only where tools may use them.
    let runtime = if is_foreign || project.config.network { online_runtime()? } else { runtime()? };
    let report =
        runtime.block_on(executor.report(&call, &CancellationToken::new(), executor.approver()));
    match (form, report.text) {
        (Form::Text, Some(text)) => output::result(&text)?,
        (Form::View(view), _) => output::json(&view.render(&call, &report.result))?,
        // A result without a text of its own is shown to models as JSON.
        (Form::Text | Form::OfVocabulary, _) => {
            output::json(&scope.vocabulary.view().render(&call, &report.result))?;
        }
    }
    match report.result {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            output::to_user(&format!("toolkiln: {}: {}", error.code, error.full_message()));
            Ok(ExitCode::from(TOOL_ERROR))
        }
    }
}

/// A runtime for one call that stays on this machine.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_time().build()?)
}

/// A runtime for one call that may go over the network.
pub(crate) fn online_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
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
