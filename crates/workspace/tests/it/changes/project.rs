//! A throw-away project with a journal beside it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::{Base, Change, ChangeSet, FileBytes};
use workspace::{Applied, Error, Faults, Journal, JournalOptions, Label, UndoTarget};

use crate::tree::{Tree, memory_dir, rel};

pub(crate) const LIMIT: u64 = 64 << 20;

/// One entry of a tree: its permission bits and what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    File(u32, Vec<u8>),
    Dir(u32),
    Link(PathBuf),
}

/// Everything in a tree, hidden names included.
pub(crate) type Snapshot = BTreeMap<PathBuf, Node>;

pub(crate) struct Project {
    pub(crate) tree: Tree,
    state: tempfile::TempDir,
}

impl Project {
    pub(crate) fn with(files: &[(&str, &str)]) -> Project {
        Project { tree: Tree::with(files), state: tempfile::TempDir::new().unwrap() }
    }

    /// A project that no disk slows down.
    pub(crate) fn in_memory(files: &[(&str, &str)]) -> Project {
        Project { tree: Tree::in_memory().and(files), state: memory_dir() }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.state.path().join("state")
    }

    pub(crate) fn journal(&self) -> Journal {
        self.journal_with_options(JournalOptions::default())
    }

    pub(crate) fn journal_with_options(&self, options: JournalOptions) -> Journal {
        Journal::open(Arc::new(self.tree.open()), &self.state(), options).unwrap()
    }

    pub(crate) fn faulty(&self, faults: Faults) -> (Result<Journal, Error>, Arc<Faults>) {
        let faults = Arc::new(faults);
        let workspace = Arc::new(self.tree.open());
        let options = JournalOptions::default();
        let journal =
            Journal::open_with_faults(workspace, &self.state(), options, Arc::clone(&faults));
        (journal, faults)
    }

    /// A journal whose calls to the disk are not waited for.
    pub(crate) fn quick(&self) -> Journal {
        self.faulty(Faults::default()).0.unwrap()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        snapshot(&self.tree.root())
    }

    pub(crate) fn base(&self, path: &str) -> Base {
        self.tree.open().base_of(&rel(path), LIMIT).unwrap().0
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Change {
        let content = FileBytes(content.as_ref().to_vec());
        Change::Write { path: path.into(), base: self.base(path), content, mode: None }
    }

    pub(crate) fn delete(&self, path: &str) -> Change {
        Change::Delete { path: path.into(), base: self.base(path) }
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> Change {
        let (base, target) = (self.base(from), self.base(to));
        Change::Move { from: from.into(), to: to.into(), base, target }
    }

    pub(crate) fn link(&self, path: &str, target: &str) -> Change {
        let target = FileBytes(target.as_bytes().to_vec());
        Change::Link { path: path.into(), base: self.base(path), target }
    }

    pub(crate) fn remove_dir(&self, path: &str) -> Change {
        match self.base(path) {
            Base::Directory { mode } => Change::RemoveDir { path: path.into(), mode },
            other => panic!("{path} is {other:?}"),
        }
    }

    /// Names of temporary files anywhere in the project.
    pub(crate) fn left_overs(&self) -> Vec<PathBuf> {
        let is_temp = |path: &Path| {
            path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".toolkiln-"))
        };
        self.snapshot().into_keys().filter(|path| is_temp(path)).collect()
    }
}

pub(crate) fn make_dir(path: &str) -> Change {
    Change::MakeDir { path: path.into(), mode: None }
}

pub(crate) fn set(changes: impl Into<Vec<Change>>) -> ChangeSet {
    ChangeSet { changes: changes.into() }
}

pub(crate) fn label(call: &str) -> Label {
    Label {
        session: "session".into(),
        call: call.into(),
        tool: "test".into(),
        summary: format!("summary of {call}"),
    }
}

pub(crate) fn undo(journal: &Journal, target: &UndoTarget) -> Result<Applied, Error> {
    journal.apply_undo(&journal.inverse(target)?, &label("undo"))
}

pub(crate) fn snapshot(root: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let mode = meta.permissions().mode() & 0o7777;
            let node = if meta.is_symlink() {
                Node::Link(fs::read_link(&path).unwrap())
            } else if meta.is_dir() {
                pending.push(path.clone());
                Node::Dir(mode)
            } else {
                Node::File(mode, fs::read(&path).unwrap())
            };
            found.insert(path.strip_prefix(root).unwrap().to_owned(), node);
        }
    }
    found
}
