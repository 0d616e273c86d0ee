//! Removing what commands wrote, however deep they nested it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::entries::{is_directory, names_in, open_own_directory, stat_at};

/// Makes the names of what this process removes unique.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A directory of the layer into which everything is moved that is to be removed. What shows to
/// commands is gone at once; what a killed process left is removed by the next one.
#[derive(Debug)]
pub(super) struct Removal {
    directory: OwnedFd,
}

impl Removal {
    pub(super) fn new(directory: OwnedFd) -> Removal {
        Removal { directory }
    }

    /// Removes whatever has this name, with all that is in it.
    pub(super) fn remove(&self, parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
        match stat_at(parent, name)? {
            None => Ok(()),
            Some(stat) if is_directory(&stat) => match self.take_out(parent, name)? {
                Some(moved) => self.remove_moved(moved),
                None => Ok(()),
            },
            Some(_) => gone(rustix::fs::unlinkat(parent, name, AtFlags::empty())),
        }
    }

    /// Removes all that is in a directory.
    pub(super) fn remove_contents(&self, directory: &OwnedFd) -> io::Result<()> {
        names_in(directory)?.iter().try_for_each(|name| self.remove(directory, name))
    }

    /// Removes what processes that were killed have left here.
    pub(super) fn finish(&self) -> io::Result<()> {
        names_in(&self.directory)?.into_iter().try_for_each(|name| self.remove_moved(name))
    }

    /// Directories are moved out of each other, so that neither the stack nor the number of open
    /// descriptors depends on how deep they lie.
    fn remove_moved(&self, name: OsString) -> io::Result<()> {
        let mut left = vec![name];
        while let Some(name) = left.pop() {
            let directory = match open_own_directory(&self.directory, &name) {
                Ok(directory) => directory,
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno.into()),
            };
            for inner in names_in(&directory)? {
                match rustix::fs::unlinkat(&directory, &inner, AtFlags::empty()) {
                    Err(Errno::ISDIR | Errno::PERM) => {
                        left.extend(self.take_out(&directory, &inner)?);
                    }
                    other => gone(other)?,
                }
            }
            gone(rustix::fs::unlinkat(&self.directory, &name, AtFlags::REMOVEDIR))?;
        }
        Ok(())
    }

    /// Moves a directory here; none if an empty one could be removed where it was.
    fn take_out(&self, parent: &OwnedFd, name: &OsStr) -> io::Result<Option<OsString>> {
        match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(None),
            Err(_) => {}
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let moved = OsString::from(format!("{}-{number}", std::process::id()));
        match rustix::fs::renameat(parent, name, &self.directory, &moved) {
            Err(Errno::ACCESS) => {
                rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
                rustix::fs::renameat(parent, name, &self.directory, &moved)?;
            }
            Err(Errno::NOENT) => return Ok(None),
            other => other?,
        }
        Ok(Some(moved))
    }
}

/// If another process removed it, that is as good.
fn gone(removed: Result<(), Errno>) -> io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}
