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

/// The day that the pages name; without one `mandoc` warns.
const DATE: &str = "2026-11-16";

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
    let version = concat!("toolkiln ", env!("CARGO_PKG_VERSION"));
    Man::new(found.clone()).date(DATE).source(version).render(&mut page)?;
    Ok(polished(&String::from_utf8(page)?))
}

/// The page with its examples as they are typed, and without what `mandoc` warns of.
fn polished(page: &str) -> String {
    let page = page.replace("\n.br\n\n.br\n", "\n.sp\n").replace("\n\n.br\n", "\n.sp\n");
    let mut polished = String::with_capacity(page.len());
    let mut in_examples = false;
    for line in page.lines().map(str::trim_end).filter(|line| *line != "Examples:") {
        if line.starts_with(".SH") && std::mem::take(&mut in_examples) {
            polished.push_str(".fi\n");
        }
        if line == ".SH EXTRA" {
            in_examples = true;
            polished.push_str(".SH EXAMPLES\n.nf\n");
        } else {
            polished.push_str(&format!("{line}\n"));
        }
    }
    polished + if in_examples { ".fi\n" } else { "" }
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
            assert!(page.contains(title), "{page}");
            let (_, examples) = page.split_once(".SH EXAMPLES\n.nf\n  toolkiln").unwrap();
            assert!(examples.contains("\n.fi\n") && !examples.contains("Examples:"), "{page}");
            let heading = page.lines().find(|line| line.starts_with(".TH")).unwrap();
            let version = env!("CARGO_PKG_VERSION");
            assert!(heading.ends_with(&format!(" {DATE} \"toolkiln {version}\"")), "{heading}");
        }
        let told = page(&["sessions", "lsit"]).unwrap_err().to_string();
        assert_eq!(told, "there is no command `sessions lsit`");
    }
}
