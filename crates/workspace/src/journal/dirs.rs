//! The directories that one piece of work touches, opened once each.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use rustix::io::{Errno, Result};

use crate::ops::{Name, Ops};
use crate::{RelPath, Workspace};

/// How many directories are held open. The usual limit of a process is 1,024 descriptors.
const MAX_OPEN: usize = 256;

/// Opens directories by paths that go through no link, and keeps them open, so that a directory
/// stays the same one while the work goes on even if its name is given to something else.
pub(crate) struct Dirs<'w> {
    pub(super) workspace: &'w Workspace,
    open: RefCell<HashMap<RelPath, Rc<OwnedFd>>>,
}

/// A name in an open directory.
pub(crate) struct EntryPlace {
    dir: Rc<OwnedFd>,
    name: Box<[u8]>,
}

impl EntryPlace {
    pub(crate) fn name(&self) -> Name<'_> {
        Name { dir: self.dir.as_fd(), name: &self.name }
    }
}

impl<'w> Dirs<'w> {
    pub(crate) fn new(workspace: &'w Workspace) -> Dirs<'w> {
        Dirs { workspace, open: RefCell::default() }
    }

    pub(crate) fn dir(&self, path: &RelPath) -> Result<Rc<OwnedFd>> {
        let mut open = self.open.borrow_mut();
        if let Some(dir) = open.get(path) {
            return Ok(Rc::clone(dir));
        }
        if open.len() >= MAX_OPEN {
            open.clear();
        }
        let dir = Rc::new(self.workspace.open_real_dir(path)?);
        open.insert(path.clone(), Rc::clone(&dir));
        Ok(dir)
    }

    /// The directory that holds `path`, with the last name of `path`.
    pub(crate) fn place(&self, path: &RelPath) -> Result<EntryPlace> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::BUSY);
        };
        Ok(EntryPlace { dir: self.dir(&parent)?, name: name.into() })
    }

    /// To be called when a directory of that path appears, disappears or gets another name.
    pub(crate) fn forget(&self, path: &RelPath) {
        self.open.borrow_mut().retain(|open, _| !open.starts_with(path));
    }

    /// Forces these directories to the disk, each once. One that is gone needs no forcing.
    pub(crate) fn sync(&self, ops: &Ops, paths: Vec<RelPath>) -> Result<()> {
        self.sync_meanwhile(ops, paths, Meanwhile::Nothing::<fn()>).0
    }

    /// Forces these directories to the disk and does something else, at the same time if that is
    /// wished.
    pub(crate) fn sync_meanwhile<T>(
        &self,
        ops: &Ops,
        mut paths: Vec<RelPath>,
        mut work: Meanwhile<impl FnOnce() -> T>,
    ) -> (Result<()>, Option<T>) {
        paths.sort_unstable();
        paths.dedup();
        let mut done = None;
        for paths in paths.chunks(MAX_OPEN) {
            let dirs = match self.open_all(paths) {
                Ok(dirs) => dirs,
                Err(errno) => return (Err(errno), done),
            };
            let files: Vec<_> = dirs.iter().map(|dir| dir.as_fd()).collect();
            let synced = match std::mem::replace(&mut work, Meanwhile::Nothing) {
                Meanwhile::Nothing => ops.sync_all(&files),
                Meanwhile::Work(work) => {
                    let (synced, worked) = ops.sync_all_meanwhile(&files, work);
                    done = Some(worked);
                    synced
                }
            };
            if synced.is_err() {
                return (synced, done);
            }
        }
        (Ok(()), done)
    }

    fn open_all(&self, paths: &[RelPath]) -> Result<Vec<Rc<OwnedFd>>> {
        let mut dirs = Vec::with_capacity(paths.len());
        for path in paths {
            match self.dir(path) {
                Ok(dir) => dirs.push(dir),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(dirs)
    }
}

/// What to do while the disk is waited for.
pub(crate) enum Meanwhile<F> {
    Nothing,
    Work(F),
}
