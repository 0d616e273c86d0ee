//! `toolkiln mcp`: the tools for other agents.

use std::process::ExitCode;
use std::sync::Arc;

use mcp::Asking;

use crate::args::McpArgs;
use crate::project::{Lifetime, Project, project_root};

pub(crate) fn run(args: &McpArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&project_root::checked(&args.scope)?)?;
    let tools = project.tools(&args.scope, &args.approval, Lifetime::Stays)?;
    let executor = tools.executor(tools.options.clone());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let asking = if args.approval.yes { Asking::AsConfigured } else { Asking::TheHost };
    runtime.block_on(mcp::serve_stdio(Arc::new(executor), asking))?;
    // A tool that still waits for the disk must not keep the process alive.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
