//! `toolkiln completions`: what a shell needs to complete commands and options.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::args::Arguments;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  toolkiln completions bash > ~/.local/share/bash-completion/completions/toolkiln
  toolkiln completions zsh > ~/.zfunc/_toolkiln    # with `fpath+=~/.zfunc` before compinit in ~/.zshrc
  toolkiln completions fish > ~/.config/fish/completions/toolkiln.fish";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    generate(args.shell, &mut Arguments::command(), "toolkiln", &mut script);
    output::result(String::from_utf8(script)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
