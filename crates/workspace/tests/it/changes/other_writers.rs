//! Another process writes at the same time.

use std::fs;
use std::sync::Mutex;
use std::thread;

use protocol::{Change, ErrorCode, ToolError};
use workspace::{Error, Faults};

use super::project::{LIMIT, Project, label, set};
use crate::tree::rel;

/// Enough for a file that is hashed while the disk is busy.
const LARGE: usize = 300_000;

pub(super) const THEIRS: &str = "their work";

/// How the other program writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Writer {
    /// Into the file itself.
    InPlace,
    /// By renaming a finished file over it, as editors do.
    Rename,
}

impl Writer {
    pub(super) fn write(self, path: &std::path::Path) {
        match self {
            Writer::InPlace => fs::write(path, THEIRS).unwrap(),
            Writer::Rename => {
                let other = path.with_extension("theirs");
                fs::write(&other, THEIRS).unwrap();
                fs::rename(other, path).unwrap();
            }
        }
    }
}

/// Whether their work is the content of some file of the project.
pub(super) fn their_work_exists(project: &Project) -> bool {
    let now = project.snapshot();
    now.values()
        .any(|node| matches!(node, super::project::Node::File(_, b) if b == THEIRS.as_bytes()))
}

/// Lets the other program write just before the call with each number in turn. While a move is
/// under way, `path` may for a moment be the file that is called `alias` before and after.
fn write_before_each_call(
    (path, alias): (&'static str, &'static str),
    writer: Writer,
    changes: fn(&Project) -> Vec<Change>,
) -> usize {
    for n in 0.. {
        let project = Project::in_memory(&[("a", "A"), ("b", "B"), ("z", "Z")]);
        project.tree.write("large", &"L".repeat(LARGE));
        let changes = set(changes(&project));
        let target = project.tree.path(path);
        let faults = Faults::default().watch(move |call, _| {
            if call == n {
                writer.write(&target);
            }
        });
        let (journal, faults) = project.faulty(faults);
        let outcome = journal.unwrap().apply(&changes, &label("x"));
        if faults.calls() <= n {
            return n;
        }
        let context = format!("{path} {writer:?} before call {n}: {outcome:?}");
        assert_eq!(project.left_overs(), Vec::<std::path::PathBuf>::new(), "{context}");
        // Either they were noticed and everything else is as before, or they came after us.
        assert!(their_work_exists(&project), "{context}: their work is lost");
        match outcome {
            Ok(_) => {}
            Err(Error::Conflict { .. }) => {
                for (file, content) in [("a", "A"), ("b", "B"), ("z", "Z")] {
                    let now = fs::read_to_string(project.tree.path(file)).unwrap();
                    let is_theirs = now == THEIRS && (file == path || file == alias);
                    assert!(now == content || is_theirs, "{context}: {file} holds {now}");
                }
            }
            Err(error) => panic!("{context}: {error}"),
        }
        assert!(project.quick().recovery().is_empty(), "{context}");
    }
    unreachable!("there is a last call")
}

#[test]
fn a_write_at_any_moment_is_never_lost() {
    let edit = |p: &Project| vec![p.write("b", "BB"), p.write("a", "AA"), p.write("z", "ZZ")];
    let delete = |p: &Project| vec![p.write("b", "BB"), p.delete("a"), p.write("z", "ZZ")];
    let rename = |p: &Project| vec![p.write("b", "BB"), p.rename("a", "c"), p.write("z", "ZZ")];
    let replace = |p: &Project| vec![p.write("b", "BB"), p.rename("z", "a")];
    let create = |p: &Project| vec![p.write("b", "BB"), p.write("new", "N"), p.write("z", "ZZ")];
    let large = |p: &Project| vec![p.write("b", "BB"), p.write("large", "L".repeat(LARGE - 1))];
    let mut moments = 0;
    for writer in [Writer::InPlace, Writer::Rename] {
        for changes in [edit, delete, rename] {
            moments += write_before_each_call(("a", "a"), writer, changes);
        }
        moments += write_before_each_call(("a", "z"), writer, replace);
        moments += write_before_each_call(("z", "a"), writer, replace);
        moments += write_before_each_call(("new", "new"), writer, create);
        moments += write_before_each_call(("large", "large"), writer, large);
    }
    assert!(moments > 200, "{moments}");
}

#[test]
fn a_write_between_proposal_and_apply_is_a_conflict() {
    let project = Project::in_memory(&[("a", "A"), ("b", "B")]);
    let journal = project.journal();
    let changes = set([project.write("b", "BB"), project.write("a", "AA")]);
    project.tree.write("a", THEIRS);
    let before = project.snapshot();
    let error = ToolError::from(journal.apply(&changes, &label("x")).unwrap_err());
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!(project.snapshot(), before);
}

#[test]
fn a_large_file_of_the_same_size_and_mode_is_compared_by_its_bytes() {
    let project = Project::in_memory(&[("a", "A")]);
    project.tree.write("large", &"L".repeat(LARGE));
    let journal = project.quick();
    let edit = set([project.write("a", "AA"), project.write("large", "short")]);
    let same = set([project.write("large", "L".repeat(LARGE))]);
    project.tree.write("large", &"T".repeat(LARGE));
    let before = project.snapshot();
    for changes in [edit, same] {
        let error = ToolError::from(journal.apply(&changes, &label("x")).unwrap_err());
        let expected = (ErrorCode::Conflict, "large was changed in the meantime");
        assert_eq!((error.code, &*error.message), expected);
        assert_eq!(project.snapshot(), before);
    }
    assert!(project.quick().recovery().is_empty());
}

#[test]
fn two_journals_that_count_in_the_same_file_lose_no_count() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 25;
    let project = Project::in_memory(&[("count", "0"), ("twin", "0")]);
    let conflicts = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let journal = project.quick();
                let mut done = 0;
                while done < ROUNDS {
                    if count_up(&project, &journal) {
                        done += 1;
                    } else {
                        *conflicts.lock().unwrap() += 1;
                    }
                }
            });
        }
    });
    let count = |path: &str| fs::read_to_string(project.tree.path(path)).unwrap();
    assert_eq!(
        [count("count"), count("twin")],
        [(THREADS * ROUNDS).to_string(), (THREADS * ROUNDS).to_string()]
    );
    assert_eq!(project.left_overs(), Vec::<std::path::PathBuf>::new());
    assert_eq!(project.quick().entries(1000).unwrap().len(), THREADS * ROUNDS);
}

/// Adds one to both files; not if another thread was faster.
fn count_up(project: &Project, journal: &workspace::Journal) -> bool {
    let mut changes = Vec::new();
    for path in ["count", "twin"] {
        let (base, bytes) = journal.base(&rel(path), LIMIT).unwrap();
        let number: u64 = String::from_utf8(bytes.unwrap()).unwrap().parse().unwrap();
        let content = protocol::FileBytes((number + 1).to_string().into_bytes());
        changes.push(Change::Write { path: path.into(), base, content, mode: None });
    }
    match journal.apply(&set(changes), &label("count")) {
        Ok(_) => true,
        Err(Error::Conflict { .. }) => false,
        Err(error) => panic!("{error} in {:?}", project.tree.root()),
    }
}
