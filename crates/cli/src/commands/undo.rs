//! `toolkiln undo`: takes a change back. Undoing is a change like any other: shown, approved, journalled.

use std::process::ExitCode;

use serde_json::Map;

use super::call;
use crate::args::UndoArgs;

pub(crate) fn run(args: UndoArgs) -> anyhow::Result<ExitCode> {
    let mut arguments = Map::new();
    if let Some(change) = args.change {
        arguments.insert("change_id".into(), change.into());
    }
    call::execute("undo".into(), arguments, &args.scope, &args.approval, None)
}
