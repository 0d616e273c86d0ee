//! The program that ranks each case again and again, each time without one of the weights.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::cases::Half;
use crate::house::House;
use crate::step::run;

const EXAMPLE: &str = "ranking_ablation";

/// The running program, which takes one case after the other.
pub(crate) struct Ablation {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Ablation {
    /// Builds and starts it.
    pub(crate) fn start(house: &House) -> Result<Ablation> {
        let mut build = house.cargo();
        build.args(["build", "--release", "--locked", "-p", "code_index", "--example", EXAMPLE]);
        run(&mut build)?;
        Ablation::of(&mut Command::new(house.example("release", EXAMPLE)))
    }

    fn of(command: &mut Command) -> Result<Ablation> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().context("standard input is piped")?;
        let stdout = child.stdout.take().context("standard output is piped")?;
        Ok(Ablation { child, stdin, stdout: BufReader::new(stdout) })
    }

    /// Hands over a case, and waits until it is done.
    pub(crate) fn add(
        &mut self,
        half: Half,
        root: &Path,
        query: &str,
        right: &[&str],
    ) -> Result<()> {
        let half = if half == Half::Tune { "tune" } else { "judge" };
        let case = json!({"half": half, "root": root, "query": query, "right": right});
        writeln!(self.stdin, "{case}").context("the program has ended")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        ensure!(line == ".\n", "the program says `{}` about a case", line.trim());
        Ok(())
    }

    /// The table.
    pub(crate) fn end(self) -> Result<String> {
        let Ablation { mut child, stdin, mut stdout } = self;
        drop(stdin);
        let mut table = String::new();
        stdout.read_to_string(&mut table)?;
        ensure!(child.wait()?.success(), "the program has failed");
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_handed_over_and_the_table_read() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read case; echo .; read case; echo other; echo table"]);
        let mut ablation = Ablation::of(&mut shell).expect("a shell");
        let mut add = || ablation.add(Half::Judge, Path::new("/"), "query", &["a.rs"]);
        assert!(add().is_ok());
        assert!(add().is_err(), "it said something else");
        assert_eq!(ablation.end().expect("it ends"), "table\n");
    }
}
