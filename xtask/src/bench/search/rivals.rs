//! The programs that people search with today, run the way they are run from a pipe: all they print
//! is read and counted.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::result_set::{Line, printed_by_ripgrep};
use crate::bench::peers::built_program;
use crate::house::House;

const RIPGREP_VERSION: &str = "15.2.0";
const FD_VERSION: &str = "10.5.0";
const PIPE_BYTES: usize = 256 * 1024;

/// Ripgrep, on one project.
pub(crate) struct Ripgrep {
    program: PathBuf,
    root: PathBuf,
}

impl Ripgrep {
    /// The current release, built once.
    pub(crate) fn get(house: &House, root: &Path) -> Result<Ripgrep> {
        let program = built_program(house, "ripgrep", RIPGREP_VERSION, "rg")?;
        Ok(Ripgrep { program, root: root.to_owned() })
    }

    /// The question in ripgrep's words. The project's own ignore files count and nothing else does,
    /// as with ours; whether it stands in a git repository makes no difference.
    pub(crate) fn command(&self, pattern: &str, more: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--no-config", "--no-require-git", "--no-ignore-parent"]);
        command.args(["--no-ignore-global", "--no-messages"]);
        command.args(["--line-number", "--no-heading", "--null", "--max-filesize", "1M"]);
        command.args(more).args(["--regexp", pattern, "."]).current_dir(&self.root);
        command
    }

    /// Every matching line.
    pub(crate) fn lines(&self, pattern: &str, more: &[&str]) -> Result<Vec<Line>> {
        Ok(printed_by_ripgrep(&output(&mut self.command(pattern, more))?))
    }

    /// How long it takes until the first `wanted` lines by path are there.
    pub(crate) fn first_by_path(
        &self,
        pattern: &str,
        more: &[&str],
        wanted: usize,
    ) -> Result<Duration> {
        let mut command = self.command(pattern, more);
        let start = Instant::now();
        let (mut child, stdout) = started(command.args(["--sort", "path"]))?;
        for line in BufReader::new(stdout).split(b'\n').take(wanted) {
            line?;
        }
        let time = start.elapsed();
        // It fails only for a process that has already ended.
        let _ = child.kill();
        child.wait()?;
        Ok(time)
    }
}

/// `fd`, current release, built once.
pub(crate) fn fd(house: &House) -> Result<PathBuf> {
    built_program(house, "fd-find", FD_VERSION, "fd")
}

/// Runs the command to its end; how many lines it printed, and how long it took.
pub(crate) fn timed(command: &mut Command) -> Result<(u64, Duration)> {
    let mut buffer = vec![0; PIPE_BYTES];
    let mut lines = 0;
    let start = Instant::now();
    let (mut child, mut stdout) = started(command)?;
    loop {
        let count = stdout.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        lines += buffer[..count].iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    let status = child.wait()?;
    let time = start.elapsed();
    // Ripgrep and fd say with 1 that nothing was found.
    ensure!(matches!(status.code(), Some(0 | 1)), "{command:?}: {status}");
    Ok((lines, time))
}

/// All that the command prints.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let (mut child, mut stdout) = started(command)?;
    let mut bytes = Vec::new();
    stdout.read_to_end(&mut bytes)?;
    let status = child.wait()?;
    ensure!(matches!(status.code(), Some(0 | 1)), "{command:?}: {status}");
    Ok(bytes)
}

fn started(command: &mut Command) -> Result<(Child, ChildStdout)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let stdout = child.stdout.take().context("standard output is piped")?;
    Ok((child, stdout))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn printed_lines_are_counted_and_failures_are_failures() {
        assert_eq!(timed(&mut shell("printf 'a\\nb\\n'")).expect("it ends well").0, 2);
        assert_eq!(timed(&mut shell("exit 1")).expect("nothing found").0, 0);
        assert!(timed(&mut shell("echo a; exit 2")).is_err());
        assert_eq!(output(&mut shell("printf a")).expect("it ends well"), b"a");
        assert!(output(&mut shell("exit 2")).is_err());
    }
}
