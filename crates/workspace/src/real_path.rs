//! Where a path really leads, so that a change can name the file that it changes.

use rustix::fs::readlinkat;
use rustix::io::{Errno, Result as SystemResult};

use crate::resolve::MAX_LINKS;
use crate::{Error, RelPath, Workspace};

impl Workspace {
    /// Where `path` leads inside the project, with every link in it resolved; names that do not
    /// exist stay as they are. A path that leads outside is an error. The answer is for opening
    /// without links: if a link is swapped in afterwards, that open fails.
    pub fn follow_links(&self, path: &RelPath) -> Result<RelPath, Error> {
        self.real_path(path).map_err(|errno| Error::from_errno(path, errno))
    }

    /// The entry that `path` names, with every link resolved but the last name: a link that is to be
    /// deleted or moved is meant itself, wherever it leads.
    pub fn follow_directories(&self, path: &RelPath) -> Result<RelPath, Error> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(path.clone());
        };
        let real = self.real_path(&parent).map_err(|errno| Error::from_errno(path, errno))?;
        Ok(real.join_entry(name))
    }

    /// The path under which a change to `path` is to be judged: that of the file it leads to, or
    /// that of the link itself if it leads to the root, outside or in circles, because nothing but
    /// the link can be changed then.
    pub fn without_links(&self, path: &RelPath) -> Result<RelPath, Error> {
        match self.real_path(path) {
            Ok(real) if real.is_root() => self.follow_directories(path),
            Err(Errno::XDEV | Errno::LOOP) => self.follow_directories(path),
            real => real.map_err(|errno| Error::from_errno(path, errno)),
        }
    }

    fn real_path(&self, path: &RelPath) -> SystemResult<RelPath> {
        if self.is_free_of_links(path) {
            return Ok(path.clone());
        }
        let mut pending: Vec<Vec<u8>> = path.components().rev().map(<[u8]>::to_vec).collect();
        let mut real: Vec<RelPath> = vec![RelPath::root()];
        let mut links = 0;
        while let Some(name) = pending.pop() {
            if name == b".." {
                real.pop();
                if real.is_empty() {
                    return Err(Errno::XDEV);
                }
                continue;
            }
            let here = real.last().ok_or(Errno::XDEV)?;
            let target = self
                .open_real_dir(here)
                .and_then(|dir| readlinkat(dir, name.as_slice(), Vec::new()));
            match target {
                Ok(target) if target.as_bytes().starts_with(b"/") => return Err(Errno::XDEV),
                Ok(_) if links == MAX_LINKS => return Err(Errno::LOOP),
                Ok(target) => {
                    links += 1;
                    let names = target.as_bytes().split(|&b| b == b'/').rev();
                    let names = names.filter(|name| !matches!(*name, b"" | b"."));
                    pending.extend(names.map(<[u8]>::to_vec));
                }
                // The name is not a link, or nothing has it.
                Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => {
                    let next = here.join_entry(&name);
                    real.push(next);
                }
                Err(errno) => return Err(errno),
            }
        }
        real.pop().ok_or(Errno::XDEV)
    }
}
