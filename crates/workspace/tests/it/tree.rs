//! A throw-away project with an outside world beside it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use workspace::{RelPath, Workspace};

/// What no test may ever see through a workspace.
pub(crate) const SECRET: &str = "the-secret-outside-the-root";

/// `project/` to open as a workspace, and `outside/` with a secret in it.
pub(crate) struct Tree {
    dir: TempDir,
}

impl Tree {
    pub(crate) fn new() -> Tree {
        Tree::in_dir(TempDir::new().unwrap())
    }

    /// A tree that is never written to a disk, where the system has such a place.
    pub(crate) fn in_memory() -> Tree {
        Tree::in_dir(memory_dir())
    }

    fn in_dir(dir: TempDir) -> Tree {
        fs::create_dir(dir.path().join("project")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        fs::write(dir.path().join("outside/secret"), SECRET).unwrap();
        Tree { dir }
    }

    /// A tree with these files; missing directories are made. A path that ends in `/` is an
    /// empty directory.
    pub(crate) fn with(files: &[(&str, &str)]) -> Tree {
        Tree::new().and(files)
    }

    /// This tree with more files.
    pub(crate) fn and(self, files: &[(&str, &str)]) -> Tree {
        for (path, content) in files {
            self.write(path, content);
        }
        self
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let full = self.path(path);
        if path.ends_with('/') {
            return fs::create_dir_all(full).unwrap();
        }
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, content).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        symlink(target, self.path(path)).unwrap();
    }

    /// A path inside the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    pub(crate) fn open(&self) -> Workspace {
        Workspace::open(&self.root()).unwrap()
    }

    /// The workspace with each way of resolving paths that this system has.
    pub(crate) fn open_both_ways(&self) -> [Workspace; 2] {
        [self.open(), Workspace::open_with_component_walk(&self.root()).unwrap()]
    }
}

/// A temporary directory in memory, or an ordinary one.
pub(crate) fn memory_dir() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

pub(crate) fn rel(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}
