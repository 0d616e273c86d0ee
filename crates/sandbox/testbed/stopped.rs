//! Commands of a sandbox whose helper was stopped.

use std::process::ExitCode;

use protocol::CommandSpec;
use rustix::process::{Pid, Signal};
use sandbox::{Canceller, Exit, Launcher, Profile, RunOptions, Sandbox};

/// What the helper calls itself.
const HELPER: &[u8] = b"toolkiln-sandbox\0";

/// Stops the helper, gives it a command that is cancelled, and then another one.
pub(crate) fn run(root: &std::path::Path) -> ExitCode {
    match commands(root) {
        Ok(exits) => {
            println!("{exits:?}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn commands(root: &std::path::Path) -> Result<[Exit; 2], String> {
    let text = |error: sandbox::SandboxError| error.to_string();
    let profile = Profile::new(root, "/nonexistent-home");
    let sandbox = Sandbox::new(profile.clone(), Launcher::this_program()).map_err(text)?;
    let cancelled = Canceller::new().map_err(text)?;
    cancelled.cancel();
    let spec = CommandSpec {
        argv: vec!["true".to_owned()],
        working_dir: ".".to_owned(),
        timeout_ms: 60_000,
        ..CommandSpec::default()
    };
    // After this the helper is known to be there.
    sandbox.run(&spec, RunOptions::default(), |_| {}).map_err(text)?;
    stop_helpers()?;
    let options = RunOptions { cancel: Some(&cancelled), ..RunOptions::default() };
    let first = sandbox.run(&spec, options, |_| {}).map_err(text)?;
    let second = sandbox.run(&spec, RunOptions::default(), |_| {}).map_err(text)?;
    // One that is stopped does not hold up the end of its sandbox either.
    stop_helpers()?;
    drop(sandbox);
    Ok([first.exit, second.exit])
}

fn stop_helpers() -> Result<(), String> {
    let children = std::fs::read_to_string("/proc/thread-self/children");
    let children = children.map_err(|error| error.to_string())?;
    let pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    let mut found = false;
    for pid in pids {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if let (true, Some(pid)) = (line == HELPER, Pid::from_raw(pid)) {
            rustix::process::kill_process(pid, Signal::STOP).map_err(|error| error.to_string())?;
            found = true;
        }
    }
    found.then_some(()).ok_or_else(|| "there is no helper".to_owned())
}
