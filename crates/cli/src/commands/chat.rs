//! `toolkiln chat`: a conversation at the terminal.

use std::process::ExitCode;

use crate::args::{ApprovalArgs, ModelArgs, ProjectArgs};
use crate::attach;
use crate::chat::Chat;
use crate::{output, telemetry};
use clap::Args;

const EXAMPLES: &str = "\
Examples:
  toolkiln chat
  toolkiln chat \"What does this project do?\"
  toolkiln chat --provider ollama --model qwen3:8b
  toolkiln chat --attach                          # beside the browser, in a session of a running `toolkiln web`";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChatArgs {
    /// The first message
    pub(crate) prompt: Option<String>,
    /// Go on with a conversation: its id, the beginning of it, or its title; the last one if empty
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
    /// Join a session of a running `toolkiln web` at this address, or begin one there
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = attach::USUAL_ADDRESS)]
    #[arg(conflicts_with_all = attach::SETTLED_THERE, conflicts_with = "yes")]
    pub(crate) attach: Option<String>,
    /// Whether an empty name lets the user pick at a terminal
    #[arg(skip)]
    pub(crate) picks: bool,
    #[command(flatten)]
    pub(crate) scope: ProjectArgs,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

pub(crate) fn run(args: &ChatArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        if let Some(url) = &args.attach {
            return attach::chat(args, url).await;
        }
        let mut chat = match Chat::begin(args).await? {
            Ok(chat) => chat,
            Err(code) => return Ok(code),
        };
        let code = chat.converse(args.prompt.as_deref()).await;
        let hint = chat.resume_hint().await;
        chat.close().await;
        telemetry::flush().await;
        if let Some(hint) = hint {
            output::to_user(&hint);
        }
        code
    });
    runtime.shutdown_background();
    code
}
