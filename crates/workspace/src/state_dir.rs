//! A directory of Toolkiln's own, outside the project.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, chmodat, fchmod, flock, fstat,
    openat, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::ops::{Name, Ops};
use crate::path_text::bytes_to_text;
use crate::read::READ_FLAGS;
use crate::resolve::open_name;
use crate::temp_name::TempStem;
use crate::{Error, OpenFile, RelPath, Workspace};

/// Only the owner may read it.
const DIR_MODE: u32 = 0o700;
pub(crate) const FILE_MODE: u32 = 0o600;
const OTHERS: u32 = 0o077;
/// How deep directories are looked through whose rights were too wide.
const MAX_DEPTH: usize = 8;

/// A private directory for state that must outlive the process, held open. Files in it have plain
/// names and are replaced as a whole.
#[derive(Debug)]
pub struct StateDir {
    dir: OwnedFd,
    shown: String,
    ops: Ops,
}

impl StateDir {
    /// Opens the directory at an absolute path and makes it, with its parents, if need be. It is
    /// refused if it lies inside the project or the project inside it, because what a tool can
    /// write must not decide what a tool may do.
    pub fn open(workspace: &Workspace, path: &Path) -> Result<StateDir, Error> {
        StateDir::open_with(workspace, path, Ops::default())
    }

    /// Opens the directory if it is there already; looking for it makes nothing.
    pub fn existing(workspace: &Workspace, path: &Path) -> Result<Option<StateDir>, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(_) => StateDir::open(workspace, path).map(Some),
            Err(_) => Ok(None),
        }
    }

    pub(crate) fn open_with(
        workspace: &Workspace,
        path: &Path,
        ops: Ops,
    ) -> Result<StateDir, Error> {
        let shown = bytes_to_text(path.as_os_str().as_bytes()).into_owned();
        let refuse = |reason: &str| Error::State { path: shown.clone(), reason: reason.to_owned() };
        if !path.is_absolute() {
            return Err(refuse("the path is not absolute"));
        }
        let failed = |error: io::Error| Error::from_io(shown.clone(), error);
        keep_apart(workspace, path).map_err(refuse)?;
        keep_apart(workspace, &future_path(path)).map_err(refuse)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || openat(CWD, path, flags, Mode::empty());
        let dir = match open() {
            Err(Errno::NOENT) => {
                let made = DirBuilder::new().recursive(true).mode(DIR_MODE).create(path);
                made.map_err(failed)?;
                open()
            }
            opened => opened,
        };
        let dir = dir.map_err(|errno| failed(errno.into()))?;
        let mode = fstat(&dir).map_err(|errno| failed(errno.into()))?.st_mode;
        if mode & OTHERS != 0 {
            ops.set_mode(&dir, DIR_MODE).map_err(|errno| failed(errno.into()))?;
        }
        tighten_entries(dir.as_fd(), MAX_DEPTH);
        Ok(StateDir { dir, shown, ops })
    }

    /// The content of a file; none if it does not exist. More than `max` bytes are refused.
    pub fn read(&self, name: &str, max: u64) -> Result<Option<Vec<u8>>, Error> {
        let name = self.plain(name)?;
        match open_name(self.dir.as_fd(), name.as_path(), READ_FLAGS) {
            Ok(file) => OpenFile::from_descriptor(file, name)?.read_all(max).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.failed(&name, errno)),
        }
    }

    /// Makes `bytes` the content of a file. Whatever happens, it then holds these or what it held
    /// before.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let name = self.plain(name)?;
        let failed = |errno| self.failed(&name, errno);
        let temp = TempStem::random().map_err(failed)?.name(0);
        let temp = Name { dir: self.dir.as_fd(), name: temp.as_bytes() };
        let file = self.ops.create(temp.dir, temp.name, FILE_MODE).map_err(failed)?;
        let to = Name { dir: temp.dir, name: name.as_bytes() };
        let written = (self.ops.write(&file, bytes))
            .and_then(|()| self.ops.sync(&file))
            .and_then(|()| self.ops.rename_over(temp, to));
        if let Err(errno) = written {
            // The first error is the one to report.
            let _ = self.ops.unlink(temp);
            return Err(failed(errno));
        }
        self.ops.sync(&self.dir).map_err(failed)
    }

    /// Removes a file; it is fine if there is none.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let name = self.plain(name)?;
        match self.ops.unlink(Name { dir: self.dir.as_fd(), name: name.as_bytes() }) {
            Ok(()) => self.ops.sync(&self.dir).map_err(|errno| self.failed(&name, errno)),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.failed(&name, errno)),
        }
    }

    /// Keeps other processes, and others here, from doing the same until the answer is dropped; none if
    /// one of them does it now.
    pub fn try_lock(&self) -> Result<Option<StateLock>, Error> {
        let root = RelPath::root();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // A lock belongs to an open file, so each has one of its own.
        let dir = openat(&self.dir, c".", flags, Mode::empty());
        let dir = dir.map_err(|errno| self.failed(&root, errno))?;
        match flock(&dir, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(StateLock { _dir: dir })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(self.failed(&root, errno)),
        }
    }

    pub(crate) fn plain(&self, name: &str) -> Result<RelPath, Error> {
        RelPath::root()
            .join(name.as_bytes())
            .map_err(|reason| Error::Malformed { path: name.to_owned(), reason })
    }

    pub(crate) fn failed(&self, name: &RelPath, errno: Errno) -> Error {
        Error::from_io(format!("{}/{name}", self.shown), errno.into())
    }

    pub(crate) fn ops(&self) -> &Ops {
        &self.ops
    }

    /// The directory as text, for messages.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }
}

/// A lock on a [`StateDir`], until it is dropped or the process ends.
#[derive(Debug)]
pub struct StateLock {
    _dir: OwnedFd,
}

impl AsFd for StateDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// Who has rights to something of Toolkiln's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// It belongs to the user whom this process acts for.
    pub is_ours: bool,
    /// Others have no rights to it.
    pub is_private: bool,
}

impl Ownership {
    /// That of a file or directory, or of what a link there leads to; none if there is nothing.
    pub fn of(path: &Path) -> Option<Ownership> {
        let stat = statat(CWD, path, AtFlags::empty()).ok()?;
        let is_ours = stat.st_uid == geteuid().as_raw();
        Some(Ownership { is_ours, is_private: stat.st_mode & OTHERS == 0 })
    }
}

/// Takes the rights of others back in a directory of Toolkiln's own, as an older version or the
/// user may have given them. What belongs to another user stays as it is.
pub fn keep_private(path: &Path) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(dir) = openat(CWD, path, flags, Mode::empty())
        && fstat(&dir).is_ok_and(|stat| stat.st_mode & OTHERS != 0)
    {
        let _ = fchmod(&dir, Mode::from_raw_mode(DIR_MODE));
    }
}

/// The same for what lies in a directory, and in those of its directories that others could enter.
fn tighten_entries(dir: BorrowedFd<'_>, depth: usize) {
    let Ok(entries) = Dir::read_from(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Ok(stat) = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if stat.st_mode & OTHERS == 0 || matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let _ = chmodat(dir, name, Mode::from_raw_mode(FILE_MODE), AtFlags::empty());
            }
            FileType::Directory if depth > 0 => {
                let _ = chmodat(dir, name, Mode::from_raw_mode(DIR_MODE), AtFlags::empty());
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                if let Ok(inner) = openat(dir, name, flags, Mode::empty()) {
                    tighten_entries(inner.as_fd(), depth - 1);
                }
            }
            _ => {}
        }
    }
}

/// Where `path` will be once its missing directories are made: the links on the way are resolved
/// before anything is made behind them.
fn future_path(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    match existing {
        Some((part, real)) => match path.strip_prefix(part) {
            Ok(rest) => real.join(rest),
            Err(_) => real,
        },
        None => path.to_owned(),
    }
}

fn keep_apart(workspace: &Workspace, path: &Path) -> Result<(), &'static str> {
    for root in [workspace.given_path(), workspace.canonical_path()] {
        if path.starts_with(root) {
            return Err("it lies inside the project");
        }
        if root.starts_with(path) {
            return Err("the project lies inside it");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn ownership_tells_whose_a_file_is_and_who_else_has_rights() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        assert_eq!(Ownership::of(&path), None);
        fs::write(&path, "x").unwrap();
        let with = |mode| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            Ownership::of(&path)
        };
        assert_eq!(with(0o600), Some(Ownership { is_ours: true, is_private: true }));
        assert_eq!(with(0o604), Some(Ownership { is_ours: true, is_private: false }));
        let root = Ownership::of(Path::new("/")).map(|it| it.is_ours);
        assert_eq!(root, Some(geteuid().is_root()));
    }
}
