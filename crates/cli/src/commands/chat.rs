//! `toolkiln chat`: a conversation at the terminal.

use std::process::ExitCode;

use crate::args::{ApprovalArgs, ModelArgs, Scope};
use crate::chat::Chat;
use crate::output;
use clap::Args;

const EXAMPLES: &str = "\
Examples:
  toolkiln chat
  toolkiln chat \"What does this project do?\"
  toolkiln chat --provider ollama --model qwen3:8b";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChatArgs {
    /// The first message
    pub(crate) prompt: Option<String>,
    /// Go on with a conversation: its id, the beginning of it, or its title; the last one if empty
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

pub(crate) fn run(args: &ChatArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut chat = runtime.block_on(Chat::begin(args))?;
    let code = chat.converse(&runtime, args.prompt.as_deref());
    let hint = runtime.block_on(chat.resume_hint());
    runtime.block_on(chat.close());
    if let Some(hint) = hint {
        output::to_user(&hint);
    }
    runtime.shutdown_background();
    code
}
