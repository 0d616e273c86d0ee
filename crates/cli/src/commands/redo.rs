//! `toolkiln redo`: makes a change again that was undone, through the tool of that name.

use std::process::ExitCode;

use clap::Args;
use serde_json::Map;
use tool_system::extensions::management::redo;

use super::call;
use crate::args::{ApprovalArgs, ProjectArgs};

const EXAMPLES: &str = "\
Examples:
  toolkiln redo";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RedoArgs {
    #[command(flatten)]
    pub(crate) scope: ProjectArgs,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
}

pub(crate) fn run(args: &RedoArgs) -> anyhow::Result<ExitCode> {
    call::execute(
        redo::NAME.into(),
        Map::new(),
        &args.scope,
        &args.approval,
        call::Form::OfVocabulary,
    )
}
