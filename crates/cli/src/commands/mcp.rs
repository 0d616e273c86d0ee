//! `toolkiln mcp`: the tools for other agents; and the MCP servers of others whose tools are used here.

pub(crate) mod foreign;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use mcp::{ApproverChoice, host_limits};
use tool_system::ExecutorOptions;

use crate::args::{ApprovalArgs, Scope};
use crate::project::{Lifetime, Project, project_root};
use foreign::ServersCommand;

const EXAMPLES: &str = "\
Examples:
  toolkiln mcp --root ~/project
  toolkiln mcp --role planner                     # tools that read, and none that change anything
  toolkiln mcp --yes                              # for a host that asks before it calls a tool
  toolkiln mcp add time -- uvx mcp-server-time    # use the tools of another server here
  toolkiln mcp list                               # the servers whose tools are used here";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ServersCommand>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
}

pub(crate) fn run(args: &McpArgs) -> anyhow::Result<ExitCode> {
    if let Some(command) = &args.command {
        return foreign::run(command);
    }
    // A host that wants the tools of other servers has them itself.
    let project = Project::open(&project_root::checked(&args.scope)?)?.without_servers();
    let tools = project.tools(&args.scope, &args.approval, Lifetime::Stays)?;
    let options = tools.options.clone();
    let limits = host_limits(options.limits.clone());
    let executor = tools.executor(ExecutorOptions { limits, ..options });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let approver = match args.approval.yes {
        true => ApproverChoice::Configured,
        false => ApproverChoice::Host,
    };
    runtime.block_on(mcp::serve_stdio(Arc::new(executor), approver))?;
    // A tool that still waits for the disk must not keep the process alive.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
