//! Measures applying changes against a plain atomic write of the same bytes.
//!
//! `cargo run --release -p workspace --example changes_speed -- [DIRECTORY] [ROUNDS]`
//!
//! One JSON object per line, times in milliseconds, medians. `without_waiting_ms` leaves out
//! the time in which the disk was waited for (`fsync`); `overhead` is how much longer the journal takes than a plain
//! atomic write, waiting included on both sides.
#![allow(clippy::print_stdout, reason = "a measuring program reports on the terminal")]
#![allow(clippy::disallowed_methods, reason = "it builds the files that it changes")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::{Change, ChangeSet, FileBytes};
use serde_json::json;
use workspace::{Journal, JournalOptions, Label, RelPath, Workspace};

const DEFAULT_ROUNDS: usize = 30;

/// A case with one file is over so soon that other programs disturb its median; it gets this many
/// times the rounds.
const SINGLE_FILE_FACTOR: usize = 10;
const LARGE_BYTES: usize = 1 << 20;
const EDITED_LINES: usize = 10;
const MANY: usize = 1000;
const SMALL_BYTES: usize = 4096;
const FILES_PER_DIRECTORY: usize = 50;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let parent = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let rounds = arguments.next().map_or(DEFAULT_ROUNDS, |n| n.parse().expect("a number"));
    let bench = Bench::new(&parent);
    let many_rounds = rounds * SINGLE_FILE_FACTOR;
    bench.report("edit of 10 lines in 1 MB", &[PathBuf::from("large")], edited_text, many_rounds);
    let small = |n: usize| PathBuf::from(format!("d{}/f{n}", n / FILES_PER_DIRECTORY));
    let many: Vec<PathBuf> = (0..MANY).map(small).collect();
    bench.report("1,000 files of 4 KB", &many, small_text, rounds.div_ceil(3));
    bench.report("1 file of 4 KB", &many[..1], small_text, many_rounds);
}

/// A text of 1 MB of which ten lines in the middle change with every round.
fn edited_text(_: usize, round: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(LARGE_BYTES);
    let mut line = 0;
    while text.len() < LARGE_BYTES {
        let middle = (10_000..10_000 + EDITED_LINES).contains(&line);
        let mark = if middle { round } else { 0 };
        let _ = writeln!(text, "    let value_{line} = compute({}, {mark});", line * 7919 % 10_007);
        line += 1;
    }
    text
}

fn small_text(file: usize, round: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(SMALL_BYTES);
    let mut line = 0;
    while text.len() < SMALL_BYTES {
        let _ = writeln!(text, "    item_{line}_{}_{round}();", (line + file) * 7919 % 10_007);
        line += 1;
    }
    text
}

struct Bench {
    dir: tempfile::TempDir,
    workspace: Arc<Workspace>,
    journal: Journal,
}

impl Bench {
    fn new(parent: &Path) -> Bench {
        let dir = tempfile::TempDir::new_in(parent).expect("a temporary directory");
        let root = dir.path().join("project");
        fs::create_dir(&root).expect("a project");
        let workspace = Arc::new(Workspace::open(&root).expect("a workspace"));
        let state = dir.path().join("state");
        let options = JournalOptions::default();
        let journal = Journal::open(Arc::clone(&workspace), &state, options).expect("a journal");
        Bench { dir, workspace, journal }
    }

    /// Alternates journal and plain writes, so that both meet the same weather.
    fn report(
        &self,
        name: &str,
        paths: &[PathBuf],
        text: fn(usize, usize) -> Vec<u8>,
        rounds: usize,
    ) {
        let (mut applied, mut net, mut plain) = (vec![], vec![], vec![]);
        let texts = |round| (0..paths.len()).map(|file| text(file, round)).collect::<Vec<_>>();
        self.write_plain(paths, &texts(0));
        for round in 1..=rounds {
            let set = self.propose(paths, &texts(2 * round));
            let waited = self.journal.sync_time();
            let start = Instant::now();
            self.journal.apply(&set, &Label::default()).expect("an applied set");
            let total = start.elapsed();
            applied.push(total);
            net.push(total.saturating_sub(self.journal.sync_time() - waited));
            let texts = texts(2 * round + 1);
            let start = Instant::now();
            self.write_plain(paths, &texts);
            plain.push(start.elapsed());
        }
        let (applied, net, plain) = (median(applied), median(net), median(plain));
        let overhead = applied / plain - 1.0;
        println!(
            "{}",
            json!({
                "case": name,
                "rounds": rounds,
                "apply_ms": applied,
                "without_waiting_ms": net,
                "plain_ms": plain,
                "overhead": (overhead * 1000.0).round() / 1000.0,
            })
        );
    }

    fn propose(&self, paths: &[PathBuf], texts: &[Vec<u8>]) -> ChangeSet {
        let change = |(path, text): (&PathBuf, &Vec<u8>)| {
            let path = path.to_str().expect("a text");
            let rel = RelPath::parse(path).expect("a path");
            let (base, _) = self.workspace.base_of(&rel, u64::MAX).expect("a base");
            Change::Write { path: path.into(), base, content: FileBytes(text.clone()), mode: None }
        };
        ChangeSet { changes: paths.iter().zip(texts).map(change).collect() }
    }

    /// What an editor does at best: a temporary file, `fsync`, rename, `fsync` of the directory.
    fn write_plain(&self, paths: &[PathBuf], texts: &[Vec<u8>]) {
        for (path, text) in paths.iter().zip(texts) {
            let path = self.dir.path().join("project").join(path);
            let dir = path.parent().expect("a directory");
            fs::create_dir_all(dir).expect("a directory");
            let temp = dir.join("temporary");
            let mut file = File::create_new(&temp).expect("a new file");
            file.write_all(text).expect("written");
            file.sync_all().expect("on the disk");
            fs::rename(&temp, &path).expect("renamed");
            File::open(dir).and_then(|dir| dir.sync_all()).expect("on the disk");
        }
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    (times[times.len() / 2].as_secs_f64() * 1e6).round() / 1e3
}
