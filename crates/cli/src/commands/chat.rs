//! `toolkiln chat`: a conversation at the terminal.

use std::process::ExitCode;

use crate::args::ChatArgs;
use crate::chat::Chat;

pub(crate) fn run(args: &ChatArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut chat = runtime.block_on(Chat::begin(args))?;
    let code = chat.converse(&runtime);
    runtime.block_on(chat.close());
    runtime.shutdown_background();
    code
}
