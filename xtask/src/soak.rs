//! `cargo xtask soak`: what the tests do for seconds, for an hour.

pub(crate) mod replicas;

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};

use crate::house::House;
use crate::step::Steps;

/// How long lines are made up and run, if nothing else is said.
pub(crate) const DEFAULT_MINUTES: u64 = 60;
/// Executors that are killed, whatever the time.
const KILLS: u64 = 5_000;

/// Fuzzes the shell for `minutes`, then kills executors at random moments. A failure names the seed; the same
/// variables repeat it.
pub(crate) fn run(minutes: u64) -> Result<ExitCode> {
    let house = House::find()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    let mut steps = Steps::new(false);
    for (name, test) in
        [("command lines made at random", "attacks::fuzz"), ("executors killed", "attacks::kills")]
    {
        let mut command = house.cargo();
        command.args(["test", "-p", "tool_system", "--test", "it", "--locked", test]);
        command.args(["--", "--nocapture"]);
        command.env("TOOLKILN_SOAK_SECONDS", (minutes * 60).to_string());
        command.env("TOOLKILN_SOAK_KILLS", KILLS.to_string());
        command.env("TOOLKILN_SOAK_SEED", now.as_secs().to_string());
        steps.command(name, &mut command)?;
    }
    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}
