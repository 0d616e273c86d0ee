//! `toolkiln mcp`: the tools for other agents; and the MCP servers of others whose tools are used here.

pub(crate) mod foreign;
#[cfg(feature = "oauth")]
mod login;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use mcp::{ApproverChoice, ServerParts, host_limits};

use crate::args::{ApprovalArgs, ModelArgs, ProjectArgs};
use crate::commands::web::{self, OperationArgs, WebArgs};
use crate::project::{Lifetime, Project, project_root};
use crate::shown_project::ShownProject;
use crate::telemetry;

use foreign::ServersCommand;

const EXAMPLES: &str = "\
Examples:
  toolkiln mcp --root ~/project
  toolkiln mcp --role planner                     # tools that read, and none that change anything
  toolkiln mcp --yes                              # for a host that asks before it calls a tool
  toolkiln mcp --http                             # over HTTP, with a page for questions
  toolkiln mcp add time -- uvx mcp-server-time    # use the tools of another server here
  toolkiln mcp list                               # the servers whose tools are used here";

/// Beside the port of `toolkiln web`, which may run at the same time.
const PORT: u16 = 4748;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ServersCommand>,
    #[command(flatten)]
    pub(crate) scope: ProjectArgs,
    /// Serve over HTTP at 127.0.0.1, with a page where questions are answered
    #[arg(long)]
    pub(crate) http: bool,
    /// The port of --http; 4748 if left out
    #[arg(long, value_name = "NUMBER", requires = "http")]
    pub(crate) port: Option<u16>,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
}

pub(crate) fn run(args: McpArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        Some(command) => foreign::run(command),
        None if args.http => over_http(args),
        None => over_stdio(&args),
    }
}

/// The web service with its page, since that is where questions are answered.
fn over_http(args: McpArgs) -> anyhow::Result<ExitCode> {
    let port = args.port.unwrap_or(PORT);
    web::run(&WebArgs {
        scope: args.scope,
        also: Vec::new(),
        listen: ([127, 0, 0, 1], port).into(),
        proxy: None,
        open: false,
        new_tokens: false,
        for_agents: true,
        operation: OperationArgs::default(),
        approval: args.approval,
        model: ModelArgs::default(),
    })
}

fn over_stdio(args: &McpArgs) -> anyhow::Result<ExitCode> {
    // A host that wants the tools of other servers has them itself.
    let project = Project::open(&project_root::checked(&args.scope)?)?.without_servers();
    let caller = project.caller(&args.scope, &args.approval)?;
    let tools = project.tools(&args.scope, &args.approval, Lifetime::Stays)?;
    let tools = tools.with_limits(host_limits);
    let executor = Arc::new(tools.executor(caller));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let approver = match args.approval.yes {
        true => ApproverChoice::Configured,
        false => ApproverChoice::Host,
    };
    let resources = Arc::new(ShownProject::new(&tools, &executor));
    // A project that the user has named is meant, wherever the host works.
    let is_assumed = args.scope.root.is_none();
    let assumed_root = is_assumed.then(|| project.workspace.canonical_path().to_owned());
    let served = runtime.block_on(async {
        let parts = ServerParts {
            executor,
            approver,
            resources: Some(resources),
            assumed_root,
            tracer: telemetry::tracer(&project),
        };
        let served = mcp::serve_stdio(parts).await;
        telemetry::flush().await;
        served
    });
    served?;
    // A tool that still waits for the disk must not keep the process alive.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
