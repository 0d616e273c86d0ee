//! `toolkiln mcp`: the tools for other agents.

use std::process::ExitCode;
use std::sync::Arc;

use crate::args::McpArgs;
use crate::setup::{Project, approver};

pub(crate) fn run(args: &McpArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.scope.root)?;
    let executor = project.executor(&args.scope, approver(args.yes), |_| {})?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(mcp::serve_stdio(Arc::new(executor)))?;
    // A tool that still waits for the disk must not keep the process alive.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
