//! `toolkiln policy`: which rules there are, what they would decide, and taking them back.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use protocol::ToolCall;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::call;
use crate::args::{ApprovalArgs, ProjectArgs};
use crate::output;
use crate::project::{Lifetime, Project};

pub(crate) const EXAMPLES: &str = "\
Examples:
  toolkiln policy list
  toolkiln policy explain bash '{\"command\": \"cargo test\"}'
  toolkiln policy revoke 3f9a1c";

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show the mode and all rules with their ids
    #[command(after_help = "Examples:\n  toolkiln policy list")]
    List(PolicyListArgs),
    /// Say what would be decided about a call, by which rule and why
    #[command(
        after_help = "Examples:\n  toolkiln policy explain write_file '{\"path\": \".envrc\", \"content\": \"\"}'"
    )]
    Explain(PolicyExplainArgs),
    /// Check the rules against their own examples
    #[command(after_help = "Examples:\n  toolkiln policy test")]
    Test(PolicyListArgs),
    /// Forget a remembered rule
    #[command(after_help = "Examples:\n  toolkiln policy revoke 3f9a1c")]
    Revoke(PolicyRevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PolicyListArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyExplainArgs {
    /// The tool, by its name in any vocabulary
    pub(crate) tool: String,
    /// Its arguments as a JSON object, or - to read them from standard input
    #[arg(default_value = "{}")]
    pub(crate) json: String,
    #[command(flatten)]
    pub(crate) scope: ProjectArgs,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyRevokeArgs {
    /// The id of the rule
    pub(crate) id: String,
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

pub(crate) fn run(command: PolicyCommand) -> anyhow::Result<ExitCode> {
    match command {
        PolicyCommand::List(args) => list(&args),
        PolicyCommand::Explain(args) => explain(args),
        PolicyCommand::Test(args) => test(&args),
        PolicyCommand::Revoke(args) => revoke(&args),
    }
}

fn list(args: &PolicyListArgs) -> anyhow::Result<ExitCode> {
    let policy = Project::open(&args.root)?.policy(&args.approval)?;
    if args.json {
        let rules: Vec<_> = policy
            .rules()
            .map(|rule| json!({"id": rule.id(), "source": rule.source, "rule": rule}))
            .collect();
        output::json(&json!({"mode": policy.mode(), "rules": rules}))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::result(&format!("mode {}", policy.mode()))?;
    for rule in policy.rules() {
        let expiry = rule.expires.map(|end| format!(", until {end}")).unwrap_or_default();
        let note = rule.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        output::result(&format!("{}  {rule}  ({}{expiry}){note}", rule.id(), rule.source))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(args: PolicyExplainArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(args.scope.root())?;
    let caller = project.caller(&args.scope, &args.approval)?;
    let tools = project.tools(&args.scope, &args.approval, Lifetime::OneCall)?;
    let executor = tools.executor(caller);
    let call = ToolCall::new("explain", args.tool, call::arguments(args.json)?);
    let runtime = call::runtime()?;
    let explained = runtime.block_on(executor.explain(&call, &CancellationToken::new()));
    match explained {
        Ok(explained) => {
            output::result(&format!(
                "{}: {}",
                explained.verdict.decision, explained.verdict.explanation
            ))?;
            for effect in &explained.effects {
                output::result(&format!("  it {effect}"))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            output::to_user(&format!("toolkiln: {}: {}", error.code, error.full_message()));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn test(args: &PolicyListArgs) -> anyhow::Result<ExitCode> {
    let policy = Project::open(&args.root)?.policy(&args.approval)?;
    let failures = policy.self_test();
    for failure in &failures {
        output::result(&failure.to_string())?;
    }
    let rules = policy.rules().count();
    output::to_user(&format!("{rules} rules, {} failures", failures.len()));
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn revoke(args: &PolicyRevokeArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.root)?;
    if project.state()?.revoke(&args.id)? {
        output::to_user(&format!("{} is forgotten", args.id));
        return Ok(ExitCode::SUCCESS);
    }
    let configured = project.config.rules.iter().any(|rule| rule.id() == args.id);
    output::to_user(&if configured {
        format!("{} comes from a configuration file: remove it there", args.id)
    } else {
        format!("there is no rule {}; `toolkiln policy list` shows them", args.id)
    });
    Ok(ExitCode::FAILURE)
}
