//! `toolkiln mcp`: the tools for other agents.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use mcp::Asking;

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
    let executor = project.executor(&args.scope, &args.gate, Lifetime::Stays, |_| {})?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let asking = if args.gate.yes { Asking::AsConfigured } else { Asking::TheHost };
    runtime.block_on(mcp::serve_stdio(Arc::new(executor), asking))?;
    // A tool that still waits for the disk must not keep the process alive.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
