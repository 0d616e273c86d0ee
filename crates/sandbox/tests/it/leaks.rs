//! What is left after many commands: nothing.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use crate::bench::{Bench, User, users};

/// All users together make so many.
const RUNS: usize = 1000;

/// Control groups with our name, wherever we could have made them.
fn control_groups() -> Vec<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let paths = own.lines().filter_map(|line| line.rsplit(':').next());
    let mut found = Vec::new();
    for path in paths {
        for tree in ["memory", "pids", "unified", ""] {
            let place = Path::new("/sys/fs/cgroup").join(tree).join(path.trim_start_matches('/'));
            let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
            found.extend(entries.map(|entry| entry.path()).filter(|path| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("toolkiln-"))
            }));
        }
    }
    found
}

#[test]
fn nothing_is_left_of_a_thousand_commands_ended_at_odd_times() {
    let runs = (RUNS / users().len()).to_string();
    for user in users() {
        let bench = Bench::new(user, "");
        let mut command = bench.as_user();
        let storm = command.arg("storm").arg(bench.project.root()).arg(&runs);
        let mut child = storm.stdout(Stdio::piped()).spawn().expect("it starts");
        let pid = child.id();
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let last = lines.map_while(Result::ok).last();
        let status = child.wait().expect("it ends");
        assert!(status.success(), "{last:?}");
        let last = last.expect("it says how the commands ended");
        assert!(
            last.contains("Code(0)") && last.contains("Cancelled") && last.contains("Timeout"),
            "{last}"
        );
        no_group_of(pid);
    }
}

/// The system or a user may stop the helper; cancelling a command does not wait for it.
#[test]
fn a_helper_that_was_stopped_delays_no_cancelling() {
    for user in users() {
        let bench = Bench::new(user, "");
        let mut command = bench.as_user();
        let output = command.arg("stopped").arg(bench.project.root()).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, "[Cancelled, Code(0)]\n", "as {user:?}");
        let left: Vec<_> = std::fs::read_dir(bench.project.root()).expect("it is there").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn no_group_of(pid: u32) {
    let mark = format!("toolkiln-{pid}-");
    let left: Vec<PathBuf> = control_groups()
        .into_iter()
        .filter(|path| path.to_string_lossy().contains(&mark))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// When our process is killed, only the kernel is left to clean up.
#[test]
fn killing_us_kills_the_commands() {
    for user in users() {
        for after in [0, 1, 2, 5] {
            let bench = Bench::new(user, "");
            let mut command = bench.as_user();
            let storm = command.arg("storm").arg(bench.project.root()).arg(RUNS.to_string());
            let mut child = storm.stdout(Stdio::piped()).spawn().expect("it starts");
            let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
            for _ in 0..after {
                lines.next();
            }
            child.kill().expect("it is ours");
            child.wait().expect("it ends");
            // The pipe ends when the last process that has it does: the helper has none, so what is
            // waited for here is what the kernel does on its own.
            wait_until(|| !lives_in(bench.project.root()), user);
            // What held the places of protected names is still there, and goes with the next command.
            assert_eq!(bench.sh("rm -f made")["exit"], json!({"code": 0}));
            let left: Vec<_> =
                std::fs::read_dir(bench.project.root()).expect("it is there").collect();
            assert!(left.is_empty(), "{left:?} of {user:?}");
        }
    }
}

/// Whether a process works in the project or in a sandbox of it.
fn lives_in(project: &Path) -> bool {
    let entries = std::fs::read_dir("/proc").expect("there is a /proc");
    entries.flatten().any(|entry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(project))
    })
}

/// Waits for something that happens by itself. The test runner's own time limit ends it otherwise.
fn wait_until(condition: impl Fn() -> bool, user: User) {
    for _ in 0..1_000_000 {
        if condition() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("processes of {user:?} are left");
}
