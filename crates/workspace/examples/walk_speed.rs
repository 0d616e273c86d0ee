//! Measures the walk against the `ignore` crate's parallel walker on the same tree.
//!
//! `cargo run --release -p workspace --example walk_speed -- DIRECTORY [ROUNDS]`
#![allow(clippy::print_stdout, reason = "a measuring program reports on the terminal")]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ignore::{WalkBuilder, WalkState};
use workspace::{Flow, WalkEntry, WalkOptions, Workspace};

const DEFAULT_ROUNDS: usize = 20;
const UNLIMITED: usize = usize::MAX;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("usage: walk_speed DIRECTORY [ROUNDS]");
    let rounds = arguments.next().map_or(DEFAULT_ROUNDS, |n| n.parse().expect("a number"));
    let directory = Path::new(&directory);
    let (mut ours, mut theirs, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(timed(|| walk_ours(directory, true)));
        theirs.push(timed(|| walk_theirs(directory)));
        bare.push(timed(|| walk_ours(directory, false)));
    }
    summary("workspace without ignore rules", bare);
    let (ours, theirs) = (summary("workspace", ours), summary("ignore", theirs));
    println!("ratio of medians: {:.2}", theirs.as_secs_f64() / ours.as_secs_f64());
}

fn timed(walk: impl FnOnce() -> u64) -> (Duration, u64) {
    let start = Instant::now();
    let files = walk();
    (start.elapsed(), files)
}

fn summary(name: &str, mut rounds: Vec<(Duration, u64)>) -> Duration {
    rounds.sort();
    let (median, files) = rounds[rounds.len() / 2];
    println!("{name}: {files} files, best {:?}, median {median:?}", rounds[0].0);
    median
}

fn walk_ours(directory: &Path, respect_ignore: bool) -> u64 {
    let workspace = Workspace::open(directory).expect("a directory");
    let options = WalkOptions {
        respect_ignore,
        max_depth: UNLIMITED,
        max_entries: UNLIMITED,
        ..WalkOptions::default()
    };
    let visitor = || |_: &WalkEntry<'_>| Flow::Continue;
    let (report, _) = workspace.walk(&options, &|| false, visitor).expect("a walk");
    report.files
}

fn walk_theirs(directory: &Path) -> u64 {
    let files = AtomicU64::new(0);
    WalkBuilder::new(directory)
        .require_git(false)
        .git_global(false)
        .parents(false)
        .build_parallel()
        .run(|| {
            Box::new(|entry| {
                let is_file =
                    |entry: &ignore::DirEntry| entry.file_type().is_some_and(|t| t.is_file());
                files.fetch_add(u64::from(entry.is_ok_and(|e| is_file(&e))), Ordering::Relaxed);
                WalkState::Continue
            })
        });
    files.load(Ordering::Relaxed)
}
