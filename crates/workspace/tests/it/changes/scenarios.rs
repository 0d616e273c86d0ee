//! Sets of changes that between them use every kind of step.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use workspace::{Error, Journal, UndoTarget};

use super::project::{Project, Snapshot, label, make_dir, set, undo};

/// Something that is done to a project, and what leads up to it.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// What happens before, without any fault.
    before: fn(&Project, &Journal),
    /// What the faults are for.
    act: fn(&Project, &Journal) -> Result<(), Error>,
}

const FILES: &[(&str, &str)] = &[
    ("a.txt", "first\nsecond\n"),
    ("b.txt", "beta\n"),
    ("dir/one", "1"),
    ("dir/two", "2"),
    ("dir/sub/three", "3"),
    ("old/deep/file", "deep"),
    ("empty", ""),
];

const LINE: &str = "one of many lines\n";

/// Enough for a file that is hashed while the disk is busy and kept as a difference.
const LARGE_LINES: usize = 20_000;

impl Scenario {
    /// A fresh project in which the scenario can happen.
    pub(crate) fn project(&self) -> Project {
        let project = Project::in_memory(FILES);
        project.tree.link("link", "dir/one");
        fs::set_permissions(project.tree.path("b.txt"), fs::Permissions::from_mode(0o750)).unwrap();
        (self.before)(&project, &project.quick());
        project
    }

    pub(crate) fn act(&self, project: &Project, journal: &Journal) -> Result<(), Error> {
        (self.act)(project, journal)
    }

    /// The project before and after, when nothing goes wrong.
    pub(crate) fn outcome(&self) -> (Snapshot, Snapshot) {
        let project = self.project();
        let before = project.snapshot();
        self.act(&project, &project.quick()).unwrap();
        let after = project.snapshot();
        assert_ne!(before, after, "{}", self.name);
        (before, after)
    }
}

fn nothing(_: &Project, _: &Journal) {}

fn mixed(project: &Project, journal: &Journal) -> Result<(), Error> {
    let changes = [
        project.write("a.txt", "changed\n"),
        make_dir("new"),
        make_dir("new/sub"),
        project.write("new/sub/file", "new file"),
        project.delete("dir/two"),
        project.rename("dir/one", "new/moved"),
        project.rename("b.txt", "empty"),
        project.link("pointer", "a.txt"),
        project.write("dir/sub/three", "drei"),
    ];
    journal.apply(&set(changes), &label("mixed")).map(drop)
}

fn delete_directory(project: &Project, journal: &Journal) -> Result<(), Error> {
    let changes = [
        project.delete("dir/one"),
        project.delete("dir/two"),
        project.delete("dir/sub/three"),
        project.remove_dir("dir/sub"),
        project.remove_dir("dir"),
    ];
    journal.apply(&set(changes), &label("delete")).map(drop)
}

/// Every scenario.
pub(crate) const ALL: &[Scenario] = &[
    Scenario {
        name: "create",
        before: nothing,
        act: |p, j| j.apply(&set([p.write("c.txt", "gamma\n")]), &label("create")).map(drop),
    },
    Scenario {
        name: "edit",
        before: nothing,
        act: |p, j| j.apply(&set([p.write("a.txt", "FIRST\nsecond\n")]), &label("edit")).map(drop),
    },
    Scenario {
        name: "delete",
        before: nothing,
        act: |p, j| j.apply(&set([p.delete("b.txt")]), &label("delete")).map(drop),
    },
    Scenario {
        name: "move",
        before: nothing,
        act: |p, j| j.apply(&set([p.rename("a.txt", "dir/a.txt")]), &label("move")).map(drop),
    },
    Scenario {
        name: "move over a file",
        before: nothing,
        act: |p, j| j.apply(&set([p.rename("a.txt", "b.txt")]), &label("move")).map(drop),
    },
    Scenario {
        name: "move a directory",
        before: nothing,
        act: |p, j| j.apply(&set([p.rename("old/deep", "dir/deep")]), &label("move")).map(drop),
    },
    Scenario {
        name: "file to link and link to file",
        before: nothing,
        act: |p, j| {
            let changes = [p.link("a.txt", "b.txt"), p.write("link", "own bytes")];
            j.apply(&set(changes), &label("links")).map(drop)
        },
    },
    Scenario {
        name: "edit in a large file",
        before: |p, _| p.tree.write("large", &LINE.repeat(LARGE_LINES)),
        act: |p, j| {
            let large = LINE.repeat(LARGE_LINES).replacen(LINE, "an edited line\n", 1);
            let changes = [p.write("large", large), p.write("a.txt", "small")];
            j.apply(&set(changes), &label("large")).map(drop)
        },
    },
    Scenario { name: "mixed", before: nothing, act: mixed },
    Scenario { name: "delete a directory", before: nothing, act: delete_directory },
    Scenario {
        name: "undo of mixed",
        before: |p, j| mixed(p, j).unwrap(),
        act: |_, j| undo(j, &UndoTarget::Last).map(drop),
    },
    Scenario {
        name: "undo of delete a directory",
        before: |p, j| delete_directory(p, j).unwrap(),
        act: |_, j| undo(j, &UndoTarget::Last).map(drop),
    },
    Scenario {
        name: "redo of mixed",
        before: |p, j| {
            mixed(p, j).unwrap();
            undo(j, &UndoTarget::Last).unwrap();
        },
        act: |_, j| undo(j, &UndoTarget::LastUndo).map(drop),
    },
    Scenario {
        name: "undo of a session",
        before: |p, j| {
            mixed(p, j).unwrap();
            j.apply(&set([p.write("a.txt", "again")]), &label("second")).unwrap();
        },
        act: |_, j| undo(j, &UndoTarget::Session("session".into())).map(drop),
    },
    Scenario {
        name: "undo of a session that moved a directory",
        before: |p, j| {
            j.apply(&set([p.write("old/deep/file", "edited")]), &label("first")).unwrap();
            j.apply(&set([p.rename("old", "new")]), &label("second")).unwrap();
            j.apply(&set([p.write("new/more", "made")]), &label("third")).unwrap();
        },
        act: |_, j| undo(j, &UndoTarget::Session("session".into())).map(drop),
    },
];
