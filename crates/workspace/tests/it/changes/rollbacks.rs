//! Another process writes while a failed set is being taken back.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use protocol::Change;
use rustix::io::Errno;
use workspace::Faults;

use super::other_writers::{THEIRS, Writer, their_work_exists};
use super::project::{Node, Project, Snapshot, label, set};

const FILES: &[(&str, &str)] = &[("a", "A"), ("b", "B"), ("z", "Z")];

/// A set whose last change fails, after all others have had their effect.
struct Failing {
    name: &'static str,
    changes: fn(&Project) -> Vec<Change>,
    /// Where the others write, and which names may be affected by that.
    paths: &'static [(&'static str, &'static [&'static str])],
}

const ALL: &[Failing] = &[
    Failing {
        name: "edit",
        changes: |p| vec![p.write("b", "BB"), p.write("a", "AA"), p.write("z", "ZZ")],
        paths: &[("a", &["a"]), ("b", &["b"])],
    },
    Failing {
        name: "create",
        changes: |p| vec![p.write("new", "N"), p.write("z", "ZZ")],
        paths: &[("new", &["new"])],
    },
    Failing {
        name: "delete",
        changes: |p| vec![p.delete("a"), p.write("z", "ZZ")],
        paths: &[("a", &["a"])],
    },
    Failing {
        name: "move",
        changes: |p| vec![p.rename("a", "c"), p.write("z", "ZZ")],
        // What was written into a moved file moves back with it; a file that takes the old name
        // keeps the moved one where it is.
        paths: &[("a", &["a", "c"]), ("c", &["a", "c"])],
    },
    Failing {
        name: "move over a file",
        changes: |p| vec![p.rename("a", "b"), p.write("z", "ZZ")],
        paths: &[("a", &["a", "b"]), ("b", &["a", "b"])],
    },
];

impl Failing {
    fn project(&self) -> (Project, protocol::ChangeSet) {
        let project = Project::in_memory(FILES);
        let changes = set((self.changes)(&project));
        (project, changes)
    }

    /// The call that makes the last change.
    fn last_step(&self) -> usize {
        let last = Arc::new(Mutex::new(0));
        let seen = Arc::clone(&last);
        let (project, changes) = self.project();
        let faults = Faults::default().watch(move |call, name| {
            if ["rename", "exchange"].contains(&name) {
                *seen.lock().unwrap() = call;
            }
        });
        project.faulty(faults).0.unwrap().apply(&changes, &label("x")).unwrap();
        *last.lock().unwrap()
    }

    /// Lets the other program write before each call of the rollback in turn. Returns the
    /// calls in between, by name.
    fn disturb(&self, writer: Writer, path: &'static str, names: &[&str]) -> Vec<&'static str> {
        let failing = self.last_step();
        let mut moments = Vec::new();
        for n in failing + 1.. {
            let (project, changes) = self.project();
            let before = project.snapshot();
            let target = project.tree.path(path);
            let call_name = Arc::new(Mutex::new(""));
            let name_there = Arc::clone(&call_name);
            let faults = Faults::fail_at(failing, Errno::IO.raw_os_error());
            let faults = faults.watch(move |call, name| {
                if call == n {
                    *name_there.lock().unwrap() = name;
                    writer.write(&target);
                }
            });
            let (journal, faults) = project.faulty(faults);
            let outcome = journal.unwrap().apply(&changes, &label("x"));
            if faults.calls() <= n {
                return moments;
            }
            let call = *call_name.lock().unwrap();
            let context = format!("{}: {path} {writer:?} before {call} {n}", self.name);
            outcome.expect_err(&context);
            check(&context, &project, &before, names);
            moments.push(call);
        }
        unreachable!("there is a last call")
    }
}

/// Their work is there and replaced at most one old content, nothing new is left, other names are
/// not affected, and there is nothing left to do.
fn check(context: &str, project: &Project, before: &Snapshot, names: &[&str]) {
    drop(project.quick());
    let now = project.snapshot();
    assert!(their_work_exists(project), "{context}: their work is lost in {now:#?}");
    let missing = before.values().filter(|node| !now.values().any(|other| other == *node)).count();
    assert!(missing <= 1, "{context}: an old content is lost in {now:#?}");
    let paths: BTreeSet<&PathBuf> = before.keys().chain(now.keys()).collect();
    for path in paths.into_iter().filter(|path| before.get(*path) != now.get(*path)) {
        let may_differ = names.iter().any(|name| path.to_str() == Some(name));
        assert!(may_differ, "{context}: {path:?} is not as it was in {now:#?}");
        let expected = match now.get(path) {
            Some(Node::File(_, bytes)) if bytes == THEIRS.as_bytes() => true,
            Some(node) => before.values().any(|old| old == node),
            None => true,
        };
        assert!(expected, "{context}: {path:?} in {now:#?}");
    }
    assert!(project.quick().recovery().is_empty(), "{context}");
}

#[test]
fn a_write_at_any_moment_of_a_rollback_is_never_lost() {
    for failing in ALL {
        for writer in [Writer::InPlace, Writer::Rename] {
            for (path, names) in failing.paths {
                let moments = failing.disturb(writer, path, names);
                let renames = ["exchange", "rename"];
                assert!(
                    moments.iter().any(|call| renames.contains(call)),
                    "{}: no rename was disturbed, only {moments:?}",
                    failing.name
                );
            }
        }
    }
}
