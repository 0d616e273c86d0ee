//! `cargo xtask test`: everything a change must pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};

use crate::house::House;
use crate::step::{Outcome, Steps, one_line, run as run_command};
use crate::{differential, history, imports, symbols};

/// Where tests outside of cargo's own find the debug binary.
const BINARY_VARIABLE: &str = "TOOLKILN_BIN";

/// The MCP client that other people's programs use; pinned, so that a new release cannot break us
/// on a day of its own choosing.
const PYTHON_REQUIREMENT: &str = "mcp==2.3.0";

const PYTHON_CLIENT: &str = "crates/mcp/tests/python_client.py";

/// Runs all steps and stops at the first that fails.
pub(crate) fn run() -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.binary("debug");
    let cargo = |words: &str| {
        let mut command = house.cargo();
        command.args(words.split(' '));
        command
    };
    let mut steps = Steps::new(is_set(std::env::var("CI").ok().as_deref()));

    steps
        .command("lints", &mut cargo("clippy --workspace --all-targets --locked -- -D warnings"))?;
    // With the test targets in the selection, features resolve as they do for `cargo test`, which
    // then finds everything built.
    steps.command("build", &mut cargo("build --workspace --bins --tests --examples --locked"))?;
    steps.command("tests", cargo("test --workspace --locked").env(BINARY_VARIABLE, &binary))?;
    steps.command(
        "documentation",
        cargo("doc --workspace --no-deps --locked").env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    steps.step("replay of real history", || history::replay(&house))?;
    steps.step("differential with ripgrep", || differential::ripgrep(&house))?;
    steps.step("symbols against universal-ctags", || symbols::accuracy(&house))?;
    steps.step("imports against other resolvers", || imports::edges(&house))?;
    steps.step("Python MCP client", || python_client(&house, &binary))?;

    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}

fn is_set(variable: Option<&str>) -> bool {
    !matches!(variable, None | Some("" | "0" | "false"))
}

/// Drives the binary with the official Python client. Only its preparation may be skipped: once
/// the client is installed, its verdict counts.
fn python_client(house: &House, binary: &Path) -> Result<Outcome> {
    match python_with_client(&house.cache("python")) {
        Ok(python) => {
            let mut command = Command::new(python);
            command.current_dir(&house.root).arg(PYTHON_CLIENT).arg(binary);
            run_command(&mut command)?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(Outcome::Skipped {
            what: format!("Python MCP client, {PYTHON_REQUIREMENT}"),
            why: one_line(&format!("{why:#}")),
        }),
    }
}

/// The interpreter of a virtual environment that holds the client, made once per requirement.
fn python_with_client(directory: &Path) -> Result<PathBuf> {
    let python = directory.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let stamp = directory.join("requirement.stamp");
    // The interpreter is asked as well, because the system's Python may have gone meanwhile.
    let is_ready = fs::read_to_string(&stamp).is_ok_and(|kept| kept == PYTHON_REQUIREMENT)
        && Command::new(&python).arg("--version").output().is_ok_and(|out| out.status.success());
    if is_ready {
        return Ok(python);
    }
    let mut make = Command::new("python3");
    run_command(make.args(["-m", "venv", "--clear"]).arg(directory))?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run_command(install.arg(PYTHON_REQUIREMENT))?;
    fs::write(&stamp, PYTHON_REQUIREMENT).context("cannot write the stamp")?;
    Ok(python)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_is_set_by_any_affirmative_value() {
        let table = [
            (None, false),
            (Some(""), false),
            (Some("0"), false),
            (Some("false"), false),
            (Some("1"), true),
            (Some("true"), true),
        ];
        for (value, expected) in table {
            assert_eq!(is_set(value), expected, "{value:?}");
        }
    }
}
