//! `toolkiln redo`: makes a change again that was undone, through the tool of that name.

use std::process::ExitCode;

use serde_json::Map;

use super::call;
use crate::args::RedoArgs;

pub(crate) fn run(args: &RedoArgs) -> anyhow::Result<ExitCode> {
    call::execute("redo".into(), Map::new(), &args.scope, &args.approval, None)
}
