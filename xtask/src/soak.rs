//! `cargo xtask soak`: what the tests do for seconds, for an hour.

pub(crate) mod replicas;

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};

use crate::house::House;
use crate::step::Steps;

/// How long lines are made up and run, if nothing else is said.
pub(crate) const DEFAULT_MINUTES: u64 = 60;
/// Histories of sessions in PostgreSQL, if nothing else is said.
pub(crate) const DEFAULT_RUNS: u64 = 200;
/// Executors that are killed, whatever the time.
const KILLS: u64 = 5_000;

/// Fuzzes the shell for `minutes`, then kills executors at random moments. A failure names the seed; the same
/// variables repeat it.
pub(crate) fn run(minutes: u64) -> Result<ExitCode> {
    let house = House::find()?;
    let seed = seed()?;
    let mut steps = Steps::new(false);
    for (name, test) in
        [("command lines made at random", "attacks::fuzz"), ("executors killed", "attacks::kills")]
    {
        let mut command = house.cargo();
        command.args(["test", "-p", "tool_system", "--test", "it", "--locked", test]);
        command.args(["--", "--nocapture"]);
        command.env("TOOLKILN_SOAK_SECONDS", (minutes * 60).to_string());
        command.env("TOOLKILN_SOAK_KILLS", KILLS.to_string());
        command.env("TOOLKILN_SOAK_SEED", &seed);
        steps.command(name, &mut command)?;
    }
    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}

/// Lets clients write to PostgreSQL while connections, clients and the server break, and checks each history. A failure
/// names the seed of its run; `TOOLKILN_SOAK_SEED` with that number and one run repeat its faults.
pub(crate) fn store(runs: u64) -> Result<ExitCode> {
    let house = House::find()?;
    let mut steps = Steps::new(false);
    let mut command = house.cargo();
    command.args(["test", "-p", "store", "--test", "it", "--locked", "history::soak"]);
    command.args(["--", "--exact", "--nocapture"]);
    command.env("TOOLKILN_SOAK_RUNS", runs.to_string());
    command.env("TOOLKILN_SOAK_SEED", seed()?);
    steps.command("histories under faults", &mut command)?;
    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}

/// The one that the user asks for, or another one each time.
fn seed() -> Result<String> {
    if let Ok(seed) = std::env::var("TOOLKILN_SOAK_SEED") {
        return Ok(seed);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    Ok(now.as_secs().to_string())
}
