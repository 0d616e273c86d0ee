//! `toolkiln mcp`: the tools for other agents.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use mcp::{ApproverChoice, host_limits};

use crate::args::{Gate, Scope};
use crate::project::{Lifetime, Project, project_root};

const EXAMPLES: &str = "\
Examples:
  toolkiln mcp --root ~/project
  toolkiln mcp --role planner                     # tools that read, and none that change anything
  toolkiln mcp --yes                              # for a host that asks before it calls a tool";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) gate: Gate,
}

pub(crate) fn run(args: &McpArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&project_root::checked(&args.scope)?)?;
    let executor = project.executor(&args.scope, &args.gate, Lifetime::Stays, |options| {
        options.limits = host_limits(options.limits.clone());
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let approver = if args.gate.yes { ApproverChoice::Configured } else { ApproverChoice::Host };
    runtime.block_on(mcp::serve_stdio(Arc::new(executor), approver))?;
    // A tool that still waits for the disk must not keep the process alive.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
