//! Measures applying changes against a plain atomic write of the same bytes.
//!
//! `cargo run --release -p workspace --example changes_speed -- [DIRECTORY] [ROUNDS]`
//!
//! One JSON object per line, times in milliseconds, medians. `without_waiting_ms` leaves out
//! the time in which the disk was waited for (`fsync`). `overhead` is how much longer the journal takes than a plain
//! atomic write, waiting included on both sides.
//!
//! Every round writes the same file both ways, the order swapped from round to round, so that each
//! way follows the other as often as itself. The overhead is that of the middle half of the rounds
//! by duration: their sums are compared, so that neither a stall of the disk nor a file system
//! that grows slower decides.
#![allow(clippy::print_stdout, reason = "a measuring program reports on the terminal")]
#![allow(clippy::disallowed_methods, reason = "it builds the files that it changes")]

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::{Change, ChangeSet, FileBytes};
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use serde_json::json;
use workspace::{Journal, JournalOptions, Label, RelPath, Workspace};

const DEFAULT_ROUNDS: usize = 400;

/// A round with many files takes as long as hundreds with one.
const ROUNDS_PER_LONG_ROUND: usize = 40;

/// While the content is written only the owner may look.
const PRIVATE_MODE: u32 = 0o600;
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
    let large = [PathBuf::from("large")];
    let small = |n: usize| PathBuf::from(format!("d{}/f{n}", n / FILES_PER_DIRECTORY));
    let many: Vec<PathBuf> = (0..MANY).map(small).collect();
    bench.report("edit of 10 lines in 1 MB", &large, edited_text, rounds);
    bench.report("1 file of 4 KB", &many[..1], small_text, rounds);
    // The last one, because some file systems make new files slowly for a while after many were
    // deleted.
    let long_rounds = rounds.div_ceil(ROUNDS_PER_LONG_ROUND);
    bench.report("1,000 files of 4 KB", &many, small_text, long_rounds);
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
    /// Holds project and state, and removes them at the end.
    _dir: tempfile::TempDir,
    root: PathBuf,
    workspace: Arc<Workspace>,
    journal: Journal,
}

impl Bench {
    fn new(parent: &Path) -> Bench {
        let dir = tempfile::TempDir::new_in(parent).expect("a temporary directory");
        place_apart(dir.path());
        // The name decides on the place, so it is another one every time.
        let root = dir.path().join(dir.path().file_name().expect("a name"));
        fs::create_dir(&root).expect("a project");
        let workspace = Arc::new(Workspace::open(&root).expect("a workspace"));
        let state = dir.path().join("state");
        let options = JournalOptions::default();
        let journal = Journal::open(Arc::clone(&workspace), &state, options).expect("a journal");
        Bench { _dir: dir, root, workspace, journal }
    }

    fn report(
        &self,
        name: &str,
        paths: &[PathBuf],
        text: fn(usize, usize) -> Vec<u8>,
        rounds: usize,
    ) {
        let texts = |version| (0..paths.len()).map(|file| text(file, version)).collect::<Vec<_>>();
        self.write_first(paths, &texts(0));
        let timings: Vec<Round> = (0..rounds)
            .map(|round| {
                let (first, second) = (texts(2 * round + 1), texts(2 * round + 2));
                if round % 2 == 0 {
                    let (applied, net) = self.time_apply(paths, &first);
                    Round { applied, net, plain: self.time_plain(paths, &second) }
                } else {
                    let plain = self.time_plain(paths, &first);
                    let (applied, net) = self.time_apply(paths, &second);
                    Round { applied, net, plain }
                }
            })
            .collect();
        println!(
            "{}",
            json!({
                "case": name,
                "rounds": rounds,
                "apply_ms": median(timings.iter().map(|round| round.applied)),
                "without_waiting_ms": median(timings.iter().map(|round| round.net)),
                "plain_ms": median(timings.iter().map(|round| round.plain)),
                "overhead": overhead(timings),
            })
        );
    }

    /// The time of an apply, in all and without waiting for the disk.
    fn time_apply(&self, paths: &[PathBuf], texts: &[Vec<u8>]) -> (Duration, Duration) {
        let set = self.propose(paths, texts);
        let waited = self.journal.sync_time();
        let start = Instant::now();
        self.journal.apply(&set, &Label::default()).expect("an applied set");
        let total = start.elapsed();
        (total, total.saturating_sub(self.journal.sync_time() - waited))
    }

    fn time_plain(&self, paths: &[PathBuf], texts: &[Vec<u8>]) -> Duration {
        // What leads up to an apply leads up to this as well, so that both find the same in the
        // caches.
        let set = self.propose(paths, texts);
        let start = Instant::now();
        self.write_plain(paths, texts);
        let total = start.elapsed();
        drop(set);
        total
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

    fn write_first(&self, paths: &[PathBuf], texts: &[Vec<u8>]) {
        for (path, text) in paths.iter().zip(texts) {
            let path = self.root.join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(&path, text).expect("a file");
        }
    }

    /// What a careful program does at least: it writes a temporary file with the mode of the file,
    /// `fsync`, rename, `fsync` of the directory.
    fn write_plain(&self, paths: &[PathBuf], texts: &[Vec<u8>]) {
        for (path, text) in paths.iter().zip(texts) {
            let path = self.root.join(path);
            let dir = path.parent().expect("a directory");
            let permissions = fs::metadata(&path).expect("a file").permissions();
            let temp = dir.join("temporary");
            let mut options = File::options();
            options.write(true).create_new(true).mode(PRIVATE_MODE);
            let mut file = options.open(&temp).expect("a new file");
            file.write_all(text).expect("written");
            file.set_permissions(permissions).expect("a mode");
            file.sync_all().expect("on the disk");
            fs::rename(&temp, &path).expect("renamed");
            File::open(dir).and_then(|dir| dir.sync_all()).expect("on the disk");
        }
    }
}

/// Asks the file system to put the directories in `parent` far from others, so that what was
/// deleted elsewhere a moment ago does not slow down making files in them.
fn place_apart(parent: &Path) {
    let parent = File::open(parent).expect("a directory");
    // Only ext4 and its elders know the wish.
    let _ =
        ioctl_getflags(&parent).and_then(|flags| ioctl_setflags(&parent, flags | IFlags::TOPDIR));
}

/// What the same change took each way.
struct Round {
    applied: Duration,
    /// Without waiting for the disk.
    net: Duration,
    plain: Duration,
}

/// How much longer the journal takes, as a part of a plain write, in the middle half of the rounds.
fn overhead(mut rounds: Vec<Round>) -> f64 {
    rounds.sort_by_key(|round| round.applied + round.plain);
    let cut = rounds.len() / 4;
    let middle = &rounds[cut..rounds.len() - cut];
    let applied: Duration = middle.iter().map(|round| round.applied).sum();
    let plain: Duration = middle.iter().map(|round| round.plain).sum();
    let overhead = applied.as_secs_f64() / plain.as_secs_f64() - 1.0;
    (overhead * 1000.0).round() / 1000.0
}

fn median(times: impl Iterator<Item = Duration>) -> f64 {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    (times[times.len() / 2].as_secs_f64() * 1e6).round() / 1e3
}
