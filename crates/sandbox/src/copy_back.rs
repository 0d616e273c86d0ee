//! Copies what a command changed in its copy back into the project, as it is.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use crate::changes::{Changed, ChangedEntry, CommandChanges, open_directory};
use crate::holes;

/// Begins the name of a file that is not complete yet.
const UNFINISHED: &str = ".toolkiln-carry-";
/// Makes the names of files unique that are written at the same time.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl CommandChanges {
    /// Makes the project what the copy is at these paths, which [`CommandChanges::list`] gave,
    /// without keeping what was there: for generated files, such as build output. Sockets, pipes
    /// and devices are left out.
    pub fn copy_back(&self, changed: &[Changed]) -> io::Result<()> {
        let mut removed = changed.iter().rev().filter(|one| one.now.is_none());
        removed.try_for_each(|one| self.remove(one))?;
        changed.iter().try_for_each(|one| match &one.now {
            None | Some(ChangedEntry::Other) => Ok(()),
            Some(now) => self.put(one, now),
        })
    }

    fn remove(&self, one: &Changed) -> io::Result<()> {
        let (parent, name) = self.place(&one.path)?;
        match remove_entry(&parent, name, one.before.as_ref()) {
            // Something in it is not among the changes, and stays.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            other => other,
        }
    }

    fn put(&self, one: &Changed, now: &ChangedEntry) -> io::Result<()> {
        let (parent, name) = self.place(&one.path)?;
        let was_directory = matches!(one.before, Some(ChangedEntry::Directory { .. }));
        let is_directory = matches!(now, ChangedEntry::Directory { .. });
        if one.before.is_some() && was_directory != is_directory {
            remove_entry(&parent, name, one.before.as_ref())?;
        }
        match now {
            ChangedEntry::File { mode, .. } => self.put_file(&one.path, (&parent, name), *mode),
            ChangedEntry::Directory { mode } => {
                match rustix::fs::mkdirat(&parent, name, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno.into()),
                }
                let directory = open_directory_at(&parent, name)?;
                finish(&directory, &parent, *mode)
            }
            ChangedEntry::Link { target } => {
                if one.before.is_some() && !was_directory {
                    remove_entry(&parent, name, one.before.as_ref())?;
                }
                Ok(rustix::fs::symlinkat(target, &parent, name)?)
            }
            ChangedEntry::Other => Ok(()),
        }
    }

    fn put_file(&self, path: &Path, at: (&OwnedFd, &OsStr), mode: u32) -> io::Result<()> {
        let (parent, name) = at;
        let mut source = self.open_file(path)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let unfinished = format!("{UNFINISHED}{}-{number}", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let _ = rustix::fs::unlinkat(parent, &unfinished, AtFlags::empty());
        let made = rustix::fs::openat(parent, &unfinished, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(made);
        let written = holes::copy(&mut source, &mut file)
            .and_then(|()| finish(&file, parent, mode))
            .and_then(|()| Ok(rustix::fs::renameat(parent, &unfinished, parent, name)?));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(parent, &unfinished, AtFlags::empty());
        }
        written
    }

    /// The directory of a path in the project, and the last name.
    fn place<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((open_directory(self.project(), parent)?, name))
    }
}

fn remove_entry(parent: &OwnedFd, name: &OsStr, what: Option<&ChangedEntry>) -> io::Result<()> {
    let flags = match what {
        Some(ChangedEntry::Directory { .. }) => AtFlags::REMOVEDIR,
        _ => AtFlags::empty(),
    };
    match rustix::fs::unlinkat(parent, name, flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn open_directory_at(parent: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

/// Gives what was made to the owner of the directory it is in, where we may, and its permissions.
fn finish(made: &impl AsFd, parent: &OwnedFd, mode: u32) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        let stat = rustix::fs::fstat(parent)?;
        let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        rustix::fs::fchown(made, Some(owner), Some(group))?;
    }
    Ok(rustix::fs::fchmod(made, Mode::from_raw_mode(mode & 0o777))?)
}
