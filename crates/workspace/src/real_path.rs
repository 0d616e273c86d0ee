//! Where a path leads, for judging it before anything is done.

use crate::{Error, RelPath, Workspace};

impl Workspace {
    /// The path with every link in it resolved; names that do not exist stay as they are. A path
    /// that leads outside is an error. The answer is for judging, never for opening: an open is
    /// resolved anew, beneath the root.
    pub fn without_links(&self, path: &RelPath) -> Result<RelPath, Error> {
        self.real_path(path).map_err(|errno| Error::from_errno(path, errno))
    }
}
