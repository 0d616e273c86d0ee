//! `toolkiln resume`: goes on with an earlier conversation.

use std::process::ExitCode;

use clap::Args;

use super::chat::{self, ChatArgs};
use crate::args::{ApprovalArgs, ModelArgs, ProjectArgs};

const EXAMPLES: &str = "\
Examples:
  toolkiln resume                                 # pick one from a list; `toolkiln -c` takes the last
  toolkiln resume 3f9a2c                          # by the beginning or the end of its id
  toolkiln resume \"the failing test\"              # by its title";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ResumeArgs {
    /// The conversation: its id, the beginning or end of it, or its title; picked from a list if left out
    #[arg(value_name = "ID")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) scope: ProjectArgs,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

impl From<ResumeArgs> for ChatArgs {
    fn from(args: ResumeArgs) -> Self {
        let ResumeArgs { session, scope, approval, model } = args;
        let resume = Some(session.unwrap_or_default());
        Self { prompt: None, resume, attach: None, picks: true, scope, approval, model }
    }
}

pub(crate) fn run(args: ResumeArgs) -> anyhow::Result<ExitCode> {
    chat::run(&args.into())
}
