//! An attacker who swaps a directory for a link to the outside while changes are applied.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use protocol::{Base, Change, FileBytes};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use workspace::{Faults, Journal, JournalOptions, UndoTarget, Workspace};

use super::project::{Project, Snapshot, label, set, snapshot, undo};
use crate::tree::rel;

const ROUNDS: usize = 300;

fn contested(link_target: &str) -> Project {
    let project =
        Project::in_memory(&[("dir/file", "inside"), ("dir/other", "inside"), ("free", "inside")]);
    for name in ["file", "other", "made"] {
        fs::write(project.tree.outside().join(name), "outside").unwrap();
    }
    fs::remove_file(project.tree.outside().join("made")).unwrap();
    let target = match link_target {
        "absolute" => project.tree.outside().to_str().unwrap().to_owned(),
        relative => relative.to_owned(),
    };
    project.tree.link("trap", target);
    project
}

/// Whatever can be proposed at this moment: edits, a new file, a move, a deletion.
fn attempt(workspace: &Workspace, journal: &Journal, round: usize) -> bool {
    let base = |path: &str| workspace.base_of(&rel(path), 1 << 20).map_or(Base::Absent, |b| b.0);
    let write = |path: &str| {
        let content = FileBytes(format!("written in round {round}").into_bytes());
        Change::Write { path: path.into(), base: base(path), content, mode: None }
    };
    let changes = match round % 4 {
        0 => vec![write("dir/file"), write("free"), write("dir/other")],
        1 => vec![write("dir/made"), write("free")],
        2 => vec![Change::Move {
            from: "dir/made".into(),
            to: "dir/moved".into(),
            base: base("dir/made"),
            target: base("dir/moved"),
        }],
        _ => vec![Change::Delete { path: "dir/moved".into(), base: base("dir/moved") }],
    };
    let applied = journal.apply(&set(changes), &label("attempt")).is_ok();
    // Undoing is under attack as well.
    let _ = round.is_multiple_of(3).then(|| undo(journal, &UndoTarget::Last));
    applied
}

fn nothing_outside_changes(link_target: &str) {
    let project = contested(link_target);
    let outside: Snapshot = snapshot(&project.tree.outside());
    let done = AtomicBool::new(false);
    let swaps = AtomicUsize::new(0);
    let mut applied = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let (dir, trap) = (project.tree.path("dir"), project.tree.path("trap"));
            let exchange =
                |a: &Path, b: &Path| renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE);
            while !done.load(Ordering::Relaxed) {
                exchange(&dir, &trap).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        for workspace in project.tree.open_both_ways() {
            let workspace = Arc::new(workspace);
            let faults = Arc::new(Faults::default());
            let journal = Journal::open_with_faults(
                Arc::clone(&workspace),
                &project.state(),
                JournalOptions::default(),
                faults,
            )
            .unwrap();
            let start = swaps.load(Ordering::Relaxed);
            let mut round = 0;
            while round < ROUNDS || swaps.load(Ordering::Relaxed) - start < ROUNDS {
                applied += usize::from(attempt(&workspace, &journal, round));
                round += 1;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(snapshot(&project.tree.outside()), outside);
    assert!(applied > 0, "every attempt was refused, so nothing was tested");
    // Whatever could not be put back under attack is put back in peace.
    drop(project.quick());
    let left: Vec<_> = project.left_overs();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn swapping_in_a_relative_link_changes_nothing_outside() {
    nothing_outside_changes("../outside");
}

#[test]
fn swapping_in_an_absolute_link_changes_nothing_outside() {
    nothing_outside_changes("absolute");
}
