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

    /// Forces these directories to the disk, each once, and does something else meanwhile if that is
    /// wished. One that is gone needs no forcing.
    pub(crate) fn sync(
        &self,
        ops: &Ops,
        mut paths: Vec<RelPath>,
        mut meanwhile: Option<&mut dyn FnMut()>,
    ) -> Result<()> {
        paths.sort_unstable();
        paths.dedup();
        for paths in paths.chunks(MAX_OPEN) {
            let mut dirs = Vec::with_capacity(paths.len());
            for path in paths {
                match self.dir(path) {
                    Ok(dir) => dirs.push(dir),
                    Err(Errno::NOENT) => {}
                    Err(errno) => return Err(errno),
                }
            }
            let files: Vec<_> = dirs.iter().map(|dir| dir.as_fd()).collect();
            match meanwhile.take() {
                None => ops.sync_all(&files)?,
                Some(work) => ops.sync_all_meanwhile(&files, work)?,
            }
        }
        Ok(())
    }
}
