//! `toolkiln man`: the manual page, of the whole program or of one command.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use clap_mangen::Man;

use crate::args::Arguments;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  toolkiln man > ~/.local/share/man/man1/toolkiln.1
  toolkiln man sessions list | man -l -";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArgs {
    /// The page of this command, such as `run` or `sessions list`; that of the program if left out
    #[arg(value_name = "COMMAND")]
    commands: Vec<String>,
}

pub(crate) fn run(args: &ManArgs) -> anyhow::Result<ExitCode> {
    output::result(page(&args.commands)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn page(commands: &[String]) -> anyhow::Result<String> {
    let mut program = Arguments::command();
    // Only a command that was built knows its full name, such as `toolkiln sessions list`.
    program.build();
    let mut found = &program;
    for name in commands {
        let inner = found.find_subcommand(name);
        found = inner.with_context(|| format!("there is no command `{}`", commands.join(" ")))?;
    }
    let mut page = Vec::new();
    Man::new(found.clone()).render(&mut page)?;
    Ok(String::from_utf8(page)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_and_each_command_have_a_page_under_their_full_names() {
        let page = |commands: &[&str]| {
            let commands: Vec<String> = commands.iter().map(ToString::to_string).collect();
            page(&commands)
        };
        for (commands, title) in [
            (&[] as &[&str], ".TH toolkiln 1"),
            (&["run"], ".TH toolkiln-run 1"),
            (&["sessions", "list"], ".TH toolkiln-sessions-list 1"),
        ] {
            let page = page(commands).unwrap();
            assert!(page.contains(title) && page.contains("Examples:"), "{page}");
        }
        let told = page(&["sessions", "lsit"]).unwrap_err().to_string();
        assert_eq!(told, "there is no command `sessions lsit`");
    }
}
