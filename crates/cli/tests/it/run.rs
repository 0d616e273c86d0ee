//! Starts the binary with a clean environment.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use testkit::Fixture;

/// What a run left behind.
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {:?} ({})", self.stdout, self.stderr))
    }
}

/// The binary, which finds no configuration but what `config` holds.
pub(crate) fn command(config: Option<&Fixture>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolkiln"));
    command.env_clear();
    // No test may write to the state of whoever runs it; those that write say where.
    command.env("XDG_STATE_HOME", "/dev/null/state");
    if let Some(config) = config {
        command.env("XDG_CONFIG_HOME", config.root());
    }
    command
}

pub(crate) fn run(project: &Fixture, arguments: &[&str]) -> Ran {
    finish(command(None).args(arguments).arg("--root").arg(project.root()).stdin(Stdio::null()))
}

pub(crate) fn run_with_input(project: &Fixture, arguments: &[&str], input: &str) -> Ran {
    feed(command(None), project, arguments, input)
}

/// Both: a place for its state, and something to read.
pub(crate) fn run_with_state_and_input(project: &Fixture, arguments: &[&str], input: &str) -> Ran {
    let mut command = command(None);
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    feed(command, project, arguments, input)
}

fn feed(mut command: Command, project: &Fixture, arguments: &[&str], input: &str) -> Ran {
    fed(command.args(arguments).arg("--root").arg(project.root()), input)
}

/// Runs the command to its end with something to read.
pub(crate) fn fed(command: &mut Command, input: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    ran(child.wait_with_output().unwrap())
}

/// The binary with a place for its state, beside the project.
pub(crate) fn run_with_state(project: &Fixture, arguments: &[&str]) -> Ran {
    let state = project.root().with_file_name("state");
    let mut command = command(None);
    command.env("XDG_STATE_HOME", state).args(arguments).arg("--root").arg(project.root());
    finish(command.stdin(Stdio::null()))
}

pub(crate) fn finish(command: &mut Command) -> Ran {
    ran(command.output().unwrap())
}

fn ran(output: Output) -> Ran {
    Ran {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}
