//! A real process that is really killed.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use workspace::{Journal, JournalOptions, UndoTarget, Workspace};

use super::project::{Project, Snapshot, label, make_dir, set, undo};

/// Set for the child that works until it is killed: the project and the state directory.
const WORKER: &str = "TOOLKILN_TEST_WORKER";

const KILLS: usize = 300;
/// On a busy machine more of them are needed to hit the interesting moments.
const MOST_KILLS: usize = 10 * KILLS;
const FILES: usize = 6;

/// Both states hold the same words in every file, so that a mixture shows.
fn all_hold_the_same(project: &Project) -> Option<String> {
    let now = project.snapshot();
    let words: Vec<String> = (0..FILES)
        .map(|n| std::fs::read_to_string(project.tree.path(&format!("f{n}"))).unwrap())
        .collect();
    let same = words.iter().all(|word| *word == words[0]);
    // In even rounds there is a directory, in odd ones there is none.
    let even = words[0].trim().parse::<u64>().ok()?.is_multiple_of(2);
    let has_dir = now.contains_key(std::path::Path::new("dir/inside"));
    let shape = if even { has_dir } else { !now.contains_key(std::path::Path::new("dir")) };
    (same && shape).then(|| words[0].clone())
}

/// One round: every file counts up, and a directory appears or disappears.
fn round(project_root: &std::path::Path, journal: &Journal, next: u64) {
    let workspace = Workspace::open(project_root).unwrap();
    let base = |path: &str| workspace.base_of(&crate::tree::rel(path), 1 << 20).unwrap().0;
    let write = |path: String| {
        let content = protocol::FileBytes(format!("{next:<4000}").into_bytes());
        protocol::Change::Write { base: base(&path), path, content, mode: None }
    };
    let mut changes: Vec<_> = (0..FILES).map(|n| write(format!("f{n}"))).collect();
    if next.is_multiple_of(2) {
        changes.push(make_dir("dir"));
        changes.push(write("dir/inside".into()));
    } else {
        changes
            .push(protocol::Change::Delete { path: "dir/inside".into(), base: base("dir/inside") });
        let protocol::Base::Directory { mode } = base("dir") else { panic!("no directory") };
        changes.push(protocol::Change::RemoveDir { path: "dir".into(), mode });
    }
    journal.apply(&set(changes), &label("round")).unwrap();
}

/// Not a test of its own: what the child process does.
#[test]
fn worker() {
    let Ok(paths) = std::env::var(WORKER) else { return };
    let (root, state) = paths.split_once(':').unwrap();
    let root = std::path::Path::new(root);
    let workspace = Arc::new(Workspace::open(root).unwrap());
    let options = JournalOptions { max_bytes: 1 << 20, ..JournalOptions::default() };
    let journal = Journal::open(workspace, state.as_ref(), options).unwrap();
    let content = std::fs::read_to_string(root.join("f0")).unwrap();
    let mut next = content.trim().parse::<u64>().unwrap();
    loop {
        next += 1;
        round(root, &journal, next);
        if next.is_multiple_of(5) {
            undo(&journal, &UndoTarget::Last).unwrap();
            undo(&journal, &UndoTarget::LastUndo).unwrap();
        }
    }
}

fn spawn_worker(project: &Project) -> Child {
    let paths = format!("{}:{}", project.tree.root().display(), project.state().display());
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "changes::kills::worker", "--nocapture"])
        .env(WORKER, paths)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the child has begun to work, then a little, without giving up the processor.
fn let_it_work(project: &Project, before: &Snapshot, extra: Duration) {
    let start = Instant::now();
    while project_differs(project, before) == Some(false) {
        assert!(start.elapsed() < Duration::from_secs(60), "the worker does nothing");
        std::thread::yield_now();
    }
    let start = Instant::now();
    while start.elapsed() < extra {
        std::thread::yield_now();
    }
}

/// Whether the first file has changed; none while it cannot be read.
fn project_differs(project: &Project, before: &Snapshot) -> Option<bool> {
    let now = std::fs::read(project.tree.path("f0")).ok()?;
    let then = before.get(std::path::Path::new("f0"))?;
    Some(!matches!(then, super::project::Node::File(_, bytes) if *bytes == now))
}

#[test]
fn a_killed_process_leaves_all_or_nothing() {
    let project = Project::in_memory(&[("dir/inside", "0")]);
    for n in 0..FILES {
        project.tree.write(&format!("f{n}"), &format!("{:<4000}", 0));
    }
    let (mut rolled_back, mut completed) = (0, 0);
    // A plain generator makes the moments differ and the test repeatable as far as that goes.
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    for kill in 0..MOST_KILLS {
        if kill >= KILLS && rolled_back > KILLS / 10 {
            break;
        }
        let before = project.snapshot();
        let mut child = spawn_worker(&project);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let_it_work(&project, &before, Duration::from_micros(random >> 54));
        child.kill().unwrap();
        child.wait().unwrap();
        let journal = project.quick();
        let report = journal.recovery();
        assert_eq!((&report.conflicts[..], &report.failed[..]), (&[][..], &[][..]), "kill {kill}");
        rolled_back += report.rolled_back.len();
        completed += report.completed.len();
        assert!(all_hold_the_same(&project).is_some(), "kill {kill}: {:#?}", project.snapshot());
        assert_eq!(project.left_overs(), Vec::<std::path::PathBuf>::new(), "kill {kill}");
        assert!(project.quick().recovery().is_empty(), "kill {kill}");
    }
    // The kills must have hit the interesting moments, or they prove nothing.
    assert!(rolled_back > KILLS / 10, "{rolled_back} rolled back, {completed} completed");
}
