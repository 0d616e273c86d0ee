//! Opening many files one after the other.

use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};

use crate::read::READ_FLAGS;
use crate::resolve::open_name;
use crate::{Error, OpenFile, RelPath, Workspace};

/// Opens files whose paths go through no link, as [`Workspace::open_listed`] does. It keeps the
/// directory of the last one open, which makes its neighbours cheap. One per thread.
pub struct Opener<'w> {
    workspace: &'w Workspace,
    last: RefCell<Option<(RelPath, OwnedFd)>>,
}

impl<'w> Opener<'w> {
    /// An opener that has opened nothing yet.
    pub fn new(workspace: &'w Workspace) -> Opener<'w> {
        Opener { workspace, last: RefCell::new(None) }
    }

    /// The project.
    pub fn workspace(&self) -> &'w Workspace {
        self.workspace
    }

    /// Opens a regular file.
    pub fn open(&self, path: &RelPath) -> Result<OpenFile, Error> {
        let failed = |errno| Error::from_errno(path, errno);
        let Some(name) = path.file_name() else { return self.workspace.open_listed(path) };
        let parent = &path.as_bytes()[..path.as_bytes().len() - name.len()];
        let parent = parent.strip_suffix(b"/").unwrap_or(parent);
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(dir, _)| dir.as_bytes() != parent) {
            let dir = path.parent().unwrap_or_else(RelPath::root);
            let fd = self.workspace.open_real_dir(&dir).map_err(failed)?;
            *last = Some((dir, fd));
        }
        let Some((_, dir)) = last.as_ref() else { return self.workspace.open_listed(path) };
        let fd = open_name(dir.as_fd(), name, READ_FLAGS).map_err(failed)?;
        OpenFile::from_descriptor(fd, path.clone())
    }
}
