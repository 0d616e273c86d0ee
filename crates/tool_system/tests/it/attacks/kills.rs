//! An executor that is killed at any moment leaves nothing behind, and the next one works.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::random::Random;
use super::soak::Soak;
use super::stage::{Stage, User, differences};

/// How many are killed, all users together.
const KILLS: u64 = 100;
/// How long an answer is waited for; some commands never end.
const PATIENCE: Duration = Duration::from_millis(100);
/// The latest moment after an answer, as a power of two in microseconds; each power is as likely as another.
const LATEST: u64 = 15;
/// Files that some commands write, all with the same number in it, and bytes of one more.
const FILES: &str = "200";
const BYTES: &str = "4000000";
/// Shows what of them was kept.
const LOOK: &str = "shopt -s nullglob; cat /dev/null target/n[0-9]* | sort | uniq -c; \
                    [ ! -e target/big ] || stat -c %s target/big; echo ok";
/// Calls that an executor is given.
const CALLS: u64 = 4;
/// Looks at what the kernel ends on its own.
const MOST_LOOKS: usize = 20_000;

#[test]
fn a_killed_executor_leaves_nothing_behind_as_root() {
    if User::all().contains(&User::Root) {
        kill_many(User::Root);
    }
}

#[test]
fn a_killed_executor_leaves_nothing_behind_as_an_ordinary_user() {
    kill_many(User::Ordinary);
}

fn kill_many(user: User) {
    let Some(stage) = Stage::new(user) else { return };
    let soak = Soak::wanted();
    let kills = soak.map_or(KILLS, |soak| soak.kills) / User::all().len() as u64;
    let seed = soak.map_or(0, |soak| soak.seed) ^ (user as u64) << 32;
    let before = stage.snapshot();
    let mounts = mounts();
    for round in 0..kills {
        let mut random = Random::new(seed.wrapping_add(round));
        let (pid, said) = kill_one(&stage, &mut random);
        let what = || format!("{user:?}, seed {seed}, round {round}, after {said:?}");
        wait_until_gone(&stage, &what);
        assert_eq!(differences(&before, &stage.snapshot()), [""; 0], "{}", what());
        let mut worker = stage.start().unwrap_or_else(|| panic!("no next start: {}", what()));
        let next = worker.call("bash", json!({"command": LOOK}));
        let output = next["ok"]["output"].as_str().unwrap_or_default();
        assert!(is_whole(output), "{}: {next}", what());
        let runs = entries(&stage.state().join("layer/runs"));
        assert!(runs.is_empty(), "{}: {runs:?}", what());
        let groups = groups_of(pid);
        assert!(groups.is_empty(), "{}: {groups:?}", what());
        assert_eq!(differences(&before, &stage.snapshot()), [""; 0], "{}", what());
    }
    assert_eq!(self::mounts(), mounts);
}

/// Starts an executor, gives it work and kills it in the middle; what it had answered.
fn kill_one(stage: &Stage, random: &mut Random) -> (u32, Vec<String>) {
    let mut worker = stage.spawn();
    let pid = worker.child.id();
    for _ in 0..CALLS {
        let (tool, arguments) = work(random);
        let call = json!({"tool": tool, "arguments": arguments});
        writeln!(worker.input, "{call}").expect("a pipe");
    }
    // It says first that it is ready.
    let answers = random.below(CALLS + 2);
    let power = random.below(LATEST);
    let moment = Duration::from_micros((1 << power) + random.below(1 << power));
    let mut said = Vec::new();
    std::thread::scope(|scope| {
        let (sender, lines) = mpsc::channel();
        let output = &mut worker.output;
        scope.spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        for _ in 0..answers {
            said.extend(lines.recv_timeout(PATIENCE));
        }
        let end = Instant::now() + moment;
        while let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            said.push(line);
        }
        worker.child.kill().expect("it is ours");
        worker.child.wait().expect("it ends");
    });
    (pid, said)
}

/// What is kept of a command is all or nothing, and whole files.
fn is_whole(output: &str) -> bool {
    let lines: Vec<Vec<&str>> =
        output.lines().map(|line| line.split_whitespace().collect()).collect();
    match &lines[..] {
        [ok] => ok[..] == ["ok"],
        [numbers, big, ok] => numbers[..1] == [FILES] && big[..] == [BYTES] && ok[..] == ["ok"],
        _ => false,
    }
}

/// Commands and jobs that write, wait, and leave processes behind.
fn work(random: &mut Random) -> (&'static str, Value) {
    let command = |text: &str| json!({"command": text, "timeout": 60});
    let start = |text: &str| json!({"action": "start", "command": text});
    let many = format!(
        "g=$RANDOM; for i in {{1..{FILES}}}; do echo $g > target/n$i; done; \
         head -c {BYTES} /dev/zero > target/big"
    );
    match random.below(10) {
        8 => ("bash", command(&many)),
        // A word that says that it needs room on the disk.
        9 => ("bash", command(&format!(": make; {many}"))),
        0 => {
            ("bash", command("echo x > a.txt; rm -rf src; mkdir -p target/d; echo x > target/d/n"))
        }
        1 => (
            "bash",
            command(": make; mkdir -p ignored/d; for i in {1..99}; do touch ignored/d/$i; done"),
        ),
        2 => (
            "bash",
            command(": make; rm -rf target node_modules; mkdir target; cp -a .git target/g"),
        ),
        3 => {
            ("bash", command("sleep 1000 & (setsid sleep 1000 &); echo x > .git/HEAD; sleep 1000"))
        }
        4 => ("bash", command(": make; echo x > target/s; setsid sleep 1000 & sleep 1000")),
        5 => ("job", start("setsid sleep 1000 & while sleep 1; do echo x > a.txt; done")),
        6 => ("job", start("exec sleep 1000")),
        _ => {
            ("run_code", json!({"language": "bash", "code": "echo x > b.txt; ln -s a b; mkfifo p"}))
        }
    }
}

/// Waits for what the kernel does on its own.
fn wait_until_gone(stage: &Stage, what: &dyn Fn() -> String) {
    for _ in 0..MOST_LOOKS {
        if processes_of(stage.base()).is_empty() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{}: {:#?} are left", what(), processes_of(stage.base()));
}

/// Processes that run, work or have mounted something in a directory.
fn processes_of(base: &Path) -> Vec<String> {
    let name = base.to_str().expect("a readable path");
    let is_there = |process: &PathBuf| {
        let leads_in = |link: &str| {
            std::fs::read_link(process.join(link)).is_ok_and(|path| path.starts_with(base))
        };
        leads_in("cwd")
            || leads_in("exe")
            || std::fs::read_to_string(process.join("mountinfo"))
                .is_ok_and(|text| text.contains(name))
    };
    let is_process = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok())
    };
    let found = entries(Path::new("/proc")).into_iter().filter(is_process).filter(is_there);
    let named = found.map(|path| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        format!("{}: {}", path.display(), String::from_utf8_lossy(&line).replace('\0', " "))
    });
    named.collect()
}

/// Control groups of a process of ours, wherever it could have made them.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mark = format!("toolkiln-{pid}-");
    let mut found = Vec::new();
    for path in own.lines().filter_map(|line| line.rsplit(':').next()) {
        for tree in ["memory", ""] {
            let place = Path::new("/sys/fs/cgroup").join(tree).join(path.trim_start_matches('/'));
            let is_ours = |path: &PathBuf| path.to_string_lossy().contains(&mark);
            found.extend(entries(&place).into_iter().filter(is_ours));
        }
    }
    found
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mountinfo").expect("there is a /proc")
}
