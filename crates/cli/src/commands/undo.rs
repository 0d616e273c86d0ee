//! `toolkiln undo`: takes a change back. Undoing is a change like any other: shown, approved, journalled.

use std::process::ExitCode;

use clap::Args;
use serde_json::Map;
use tool_system::extensions::management::undo;

use super::call;
use crate::args::{ApprovalArgs, ProjectArgs};

const EXAMPLES: &str = "\
Examples:
  toolkiln undo
  toolkiln undo 12 --yes                          # the change that `toolkiln history` lists as 12";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UndoArgs {
    /// The id of the change; the last one if left out
    pub(crate) change: Option<String>,
    #[command(flatten)]
    pub(crate) scope: ProjectArgs,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
}

pub(crate) fn run(args: UndoArgs) -> anyhow::Result<ExitCode> {
    let mut arguments = Map::new();
    if let Some(change) = args.change {
        arguments.insert("change_id".into(), change.into());
    }
    call::execute(
        undo::NAME.into(),
        arguments,
        &args.scope,
        &args.approval,
        call::Form::OfVocabulary,
    )
}
