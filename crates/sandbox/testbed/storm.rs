//! Many runs in one process, ended at odd times, and a look at what they left.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use protocol::CommandSpec;
use sandbox::{Canceller, Copy, Launcher, Profile, ProjectAccess, RunOptions, Sandbox};

/// Longer than a start takes here, so that the deadline falls before, into and after it.
const LATEST_END_MS: u64 = 12;
/// A background child outlives the shell; only the sandbox ends it.
const LEAVES_A_CHILD: &str = "sleep 1000 >/dev/null 2>&1 & echo x > made";
const LEAVES_NOTHING: &str = "echo x > made";
/// Far more than it takes.
const MOST_LOOKS: usize = 10_000;
/// A download takes longer than a shell.
const DOWNLOAD_FACTOR: u64 = 4;
/// Long enough not to matter.
const NO_END_MS: u64 = 60_000;

/// What a process owns in the eyes of the kernel.
#[derive(Debug, PartialEq, Eq)]
struct Belongings {
    descriptors: usize,
    threads: usize,
    children: String,
    mounts: usize,
    entries: Vec<String>,
}

impl Belongings {
    fn of_this_process(root: &Path) -> Belongings {
        let count = |path: &str| std::fs::read_dir(path).map_or(0, Iterator::count);
        let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let names = std::fs::read_dir(root).into_iter().flatten().flatten();
        let mut entries: Vec<String> =
            names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        entries.sort();
        Belongings {
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            children: text("/proc/thread-self/children"),
            mounts: text("/proc/self/mountinfo").lines().count(),
            entries,
        }
    }
}

/// Runs `count` commands and says what became of them, and what is left if anything is.
///
/// With a server they use the network, and download what it sends.
pub(crate) fn run(root: &Path, count: u64, server: Option<&str>) -> ExitCode {
    match storm(root, count, server) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn storm(root: &Path, count: u64, server: Option<&str>) -> Result<String, String> {
    let text = |error: sandbox::SandboxError| error.to_string();
    let mut profile = Profile::new(root, "/nonexistent-home");
    let allowance = server.map(str::parse).transpose();
    profile.network.allow.extend(allowance.map_err(|error| format!("{error}"))?);
    let direct = Sandbox::new(profile.clone(), Launcher::this_program()).map_err(text)?;
    profile.project = ProjectAccess::Copy(Copy::default());
    let overlay = Sandbox::new(profile, Launcher::this_program()).map_err(text)?;
    let cancelled = Canceller::new().map_err(text)?;
    cancelled.cancel();
    // What the commands write themselves.
    std::fs::write(root.join("made"), "").map_err(|error| error.to_string())?;
    let before = Belongings::of_this_process(root);
    let mut ends: BTreeMap<String, u64> = BTreeMap::new();
    for round in 0..count {
        let sandbox = if round % 2 == 0 { &direct } else { &overlay };
        let (timeout_ms, cancel) = match round % 10 {
            0..5 => (NO_END_MS, None),
            9 => (NO_END_MS, Some(&cancelled)),
            _ => (scattered(round) % LATEST_END_MS, None),
        };
        let options = RunOptions { cancel, ..RunOptions::default() };
        let script = if round / 2 % 2 == 0 { LEAVES_A_CHILD } else { LEAVES_NOTHING };
        let spec = match server {
            Some(server) => downloading(root, server, timeout_ms * DOWNLOAD_FACTOR),
            None => spec(script, timeout_ms),
        };
        let ran = sandbox.run(&spec, options, |_| {}).map_err(text)?;
        *ends.entry(format!("{:?}", ran.exit)).or_default() += 1;
        println!("{round}");
    }
    let mut after = Belongings::of_this_process(root);
    // The kernel forgets a thread a moment after it has ended.
    for _ in 0..MOST_LOOKS {
        if before == after {
            break;
        }
        std::thread::yield_now();
        after = Belongings::of_this_process(root);
    }
    if before != after {
        return Err(format!("something is left: {before:?}, then {after:?}"));
    }
    Ok(format!("{ends:?}"))
}

fn spec(script: &str, timeout_ms: u64) -> CommandSpec {
    CommandSpec {
        argv: ["/bin/sh", "-c", script].map(Into::into).into(),
        working_dir: ".".into(),
        env: BTreeMap::new(),
        stdin: None,
        timeout_ms,
        network: false,
        ..CommandSpec::default()
    }
}

/// The test program lies in the project.
fn downloading(root: &Path, server: &str, timeout_ms: u64) -> CommandSpec {
    let program = root.join("testbed").display().to_string();
    CommandSpec {
        argv: [&program, "attempt", "download", server].map(Into::into).into(),
        network: true,
        ..spec("", timeout_ms)
    }
}

/// A number that looks random and is the same in every run of the test.
fn scattered(round: u64) -> u64 {
    round.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}
