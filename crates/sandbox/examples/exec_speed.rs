//! Measures what confinement costs.
//!
//! `cargo run --release -p sandbox --example exec_speed -- [ROUNDS]`
//!
//! One JSON object per line, times in milliseconds. The cases take turns in every round, so that a
//! busy machine disturbs all alike: `bare` starts `true` by fork and exec, `live` in the sandbox on the
//! project as it is, `memory` on a copy whose changes lie in memory, `look` on a copy with the project's
//! private layer, `bwrap` by bubblewrap with the same namespaces (left out if it is not installed).
//! `burst` runs `look` again and again without a pause, `new` prepares a sandbox and runs its first
//! command, `output` streams 100 MB.
#![allow(clippy::print_stdout, reason = "a measuring program reports on the terminal")]
#![allow(clippy::disallowed_methods, reason = "it compares with processes started plainly")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use protocol::CommandSpec;
use sandbox::{Copy, Launcher, Profile, ProjectAccess, RunOptions, Sandbox, Toolchains};
use serde_json::json;

const HOME: &str = "/home/user";
const DEFAULT_ROUNDS: usize = 200;
const OUTPUT_ROUNDS: usize = 5;
const OUTPUT_MB: u64 = 100;
const KEPT_OUTPUT_BYTES: usize = 256 * 1024;
const MB: f64 = 1e6;

fn main() {
    sandbox::hidden_entry();
    let rounds = std::env::args().nth(1).map_or(DEFAULT_ROUNDS, |n| n.parse().expect("a number"));
    let project = tempfile::tempdir().expect("a temporary directory");
    let state = tempfile::tempdir().expect("a temporary directory");
    let bench = Bench::new(project.path(), state.path());
    bench.starts(rounds);
    bench.burst(rounds);
    bench.output();
}

/// A name and what is measured under it.
type Case<'a> = (&'static str, Box<dyn Fn() + 'a>);

struct Bench<'a> {
    root: &'a Path,
    layer: &'a Path,
    live: Sandbox,
    memory: Sandbox,
    look: Sandbox,
}

impl<'a> Bench<'a> {
    fn new(root: &'a Path, layer: &'a Path) -> Bench<'a> {
        let live = ProjectAccess::Live { writable: Vec::new() };
        let live = open(&Profile { project: live, ..Profile::new(root, HOME) });
        let memory = open(&Profile::new(root, HOME));
        Bench { root, layer, live, memory, look: open(&with_layer(root, layer)) }
    }

    fn starts(&self, rounds: usize) {
        let mut cases: Vec<Case<'_>> = vec![
            ("bare", Box::new(|| plain(Command::new("true").env_clear()))),
            ("live", Box::new(|| confined(&self.live))),
            ("memory", Box::new(|| confined(&self.memory))),
            ("look", Box::new(|| confined(&self.look))),
            ("new", Box::new(|| confined(&open(&with_layer(self.root, self.layer))))),
        ];
        if Command::new("bwrap").arg("--version").stdout(Stdio::null()).status().is_ok() {
            cases.push(("bwrap", Box::new(|| plain(&mut self.bwrap()))));
        }
        let mut times: Vec<Vec<Duration>> = vec![Vec::new(); cases.len()];
        for _ in 0..rounds {
            for ((_, run), times) in cases.iter().zip(&mut times) {
                let begun = Instant::now();
                run();
                times.push(begun.elapsed());
            }
        }
        for ((name, _), times) in cases.iter().zip(times) {
            report(name, times);
        }
    }

    /// Commands without a pause between them find nothing prepared, first with nothing but the system to
    /// see, then with the toolchains of whoever measures.
    fn burst(&self, rounds: usize) {
        let with_tools = open(&with_toolchains(with_layer(self.root, self.layer)));
        for (name, sandbox) in [("burst", &self.look), ("toolchains", &with_tools)] {
            let time = |_| {
                let begun = Instant::now();
                confined(sandbox);
                begun.elapsed()
            };
            report(name, (0..rounds).map(time).collect());
        }
    }

    fn bwrap(&self) -> Command {
        let mut command = Command::new("bwrap");
        command.env_clear().args(["--unshare-all", "--cap-drop", "ALL", "--die-with-parent"]);
        command.args(["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin"]);
        command.args(["--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]);
        command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
        command.arg("--bind").arg(self.root).arg(self.root);
        command.args(["--uid", "65534", "--gid", "65534", "/usr/bin/true"]);
        command
    }

    fn output(&self) {
        let memory_before = peak_memory_kb();
        let script = format!("exec head -c {OUTPUT_MB}000000 /dev/zero");
        let mut best = Duration::MAX;
        for _ in 0..OUTPUT_ROUNDS {
            let begun = Instant::now();
            let mut seen = 0;
            let spec = spec(["/bin/sh", "-c", &script].map(Into::into).into());
            let options = RunOptions::default();
            let ran = self.look.run(&spec, options, |chunk| seen += chunk.bytes.len());
            let ran = ran.expect("it runs");
            assert_eq!((seen as u64, ran.stdout.total_bytes), (OUTPUT_MB * 1_000_000, seen as u64));
            best = best.min(begun.elapsed());
        }
        println!(
            "{}",
            json!({
                "case": "output",
                "megabytes": OUTPUT_MB,
                "best_ms": milliseconds(best),
                "mb_per_s": (OUTPUT_MB as f64 * 1e6 / MB / best.as_secs_f64()).round(),
                "peak_memory_growth_kb": peak_memory_kb().saturating_sub(memory_before),
            })
        );
    }
}

fn open(profile: &Profile) -> Sandbox {
    Sandbox::new(profile.clone(), Launcher::this_program()).expect("a sandbox")
}

fn with_layer(root: &Path, layer: &Path) -> Profile {
    let project = ProjectAccess::Copy(Copy { layer: Some(layer.to_owned()), ..Copy::default() });
    let mut profile = Profile { project, ..Profile::new(root, HOME) };
    // What is kept of the output is not what streaming it costs.
    profile.limits.output_bytes = KEPT_OUTPUT_BYTES;
    profile
}

fn with_toolchains(mut profile: Profile) -> Profile {
    let home = std::env::var_os("HOME").map_or_else(|| HOME.into(), std::path::PathBuf::from);
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let found = Toolchains::find(&home, &search_path, |name| std::env::var(name).ok());
    profile.home = home;
    profile.with_toolchains(found)
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| milliseconds(times[((times.len() - 1) as f64 * share) as usize]);
    println!(
        "{}",
        json!({
            "case": name,
            "rounds": times.len(),
            "min_ms": at(0.0),
            "p10_ms": at(0.1),
            "median_ms": at(0.5),
            "p90_ms": at(0.9),
        })
    );
}

fn confined(sandbox: &Sandbox) {
    let spec = spec(vec!["true".to_owned()]);
    let ran = sandbox.run(&spec, RunOptions::default(), |_| {}).expect("it runs");
    assert_eq!(ran.exit, sandbox::Exit::Code(0));
}

/// Starts a program with the same pipes as a confined one.
fn plain(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn spec(argv: Vec<String>) -> CommandSpec {
    CommandSpec {
        argv,
        working_dir: ".".into(),
        env: BTreeMap::new(),
        stdin: None,
        timeout_ms: 60_000,
        network: false,
        ..CommandSpec::default()
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
