//! The project root as a descriptor, and everything that is opened through it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, fstat, openat, readlinkat, statx};
use rustix::io::Errno;

use crate::path_text::bytes_to_text;
use crate::read::READ_FLAGS;
use crate::resolve::PathResolver;
use crate::{EntryKind, EntryMeta, Error, OpenFile, RelPath};

/// Flags that open a directory for reading its entries.
pub(crate) const DIR_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// A project directory, held open. It stays the same directory even if its path is renamed or
/// replaced, and nothing outside it can be reached through it.
///
/// Symbolic links inside the project are followed as long as every step stays beneath the root.
/// An absolute link is refused even if it points back inside: see [`crate::Escape::Link`].
#[derive(Debug)]
pub struct Workspace {
    root: OwnedFd,
    given: PathBuf,
    canonical: PathBuf,
    resolver: PathResolver,
}

/// A directory inside the project, open for reading its entries.
#[derive(Debug)]
pub struct OpenDir {
    fd: OwnedFd,
    path: RelPath,
}

impl Workspace {
    /// Opens the project at `root`.
    pub fn open(root: &Path) -> Result<Workspace, Error> {
        let mut workspace = Workspace::open_with_component_walk(root)?;
        workspace.resolver = PathResolver::probe(workspace.root.as_fd());
        Ok(workspace)
    }

    /// Opens the project as on a kernel without `openat2`, so that tests can cover that way on
    /// any kernel.
    #[doc(hidden)]
    pub fn open_with_component_walk(root: &Path) -> Result<Workspace, Error> {
        let failed = |error: io::Error| root_error(root, error);
        let given = std::path::absolute(root).map_err(failed)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, &given, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
        let canonical = given.canonicalize().map_err(failed)?;
        Ok(Workspace { root, given, canonical, resolver: PathResolver::Walk })
    }

    /// The root as it was given, made absolute but with its links unresolved.
    pub fn given_path(&self) -> &Path {
        &self.given
    }

    /// The root with all links resolved at the time of opening, for display and for naming the
    /// project's state.
    pub fn canonical_path(&self) -> &Path {
        &self.canonical
    }

    /// What distinguishes this directory from any other that is or was at the same path: its inode
    /// with the time of its birth, which no program can set. Where a file system does not know the
    /// latter, the device takes its place, and a directory that got the inode of a removed one is
    /// not told from it.
    pub fn identity(&self) -> Result<String, Error> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let found = statx(&self.root, c"", AtFlags::EMPTY_PATH, wanted);
        let found = found.map_err(|errno| root_error(&self.given, errno.into()))?;
        let born = found.stx_btime;
        Ok(match found.stx_mask & StatxFlags::BTIME.bits() {
            0 => {
                let (major, minor) = (found.stx_dev_major, found.stx_dev_minor);
                format!("inode {} of device {major}:{minor}", found.stx_ino)
            }
            _ => format!("inode {} born {}.{:09}", found.stx_ino, born.tv_sec, born.tv_nsec),
        })
    }

    /// How paths are resolved on this system: `openat2` or `component walk`.
    pub fn resolver_name(&self) -> &'static str {
        self.resolver.name()
    }

    /// Reads a path as a model or a user wrote it. An absolute path is accepted if it begins
    /// with the root as given or as resolved. That is a convenience of spelling only: whatever
    /// this returns is opened beneath the root.
    pub fn resolve(&self, text: &str) -> Result<RelPath, Error> {
        let relative = [&self.given, &self.canonical]
            .into_iter()
            .find_map(|root| strip_root(text, root))
            .unwrap_or(text);
        RelPath::parse(relative).map_err(|reason| Error::from_path_error(text, reason))
    }

    /// Opens a regular file for reading. Anything else is refused by what it is, at once: a named
    /// pipe without a writer does not block.
    pub fn open_file(&self, path: &RelPath) -> Result<OpenFile, Error> {
        match self.open_beneath(path, READ_FLAGS) {
            Ok(fd) => OpenFile::from_descriptor(fd, path.clone()),
            // Sockets and devices without a driver cannot be opened at all.
            Err(errno @ (Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP)) => {
                let kind = self.kind_behind_links(path);
                let kind = kind.ok_or_else(|| Error::from_errno(path, errno))?;
                Err(Error::NotAFile { path: path.to_text(), kind })
            }
            Err(errno) => Err(Error::from_errno(path, errno)),
        }
    }

    /// Opens a regular file by a path that goes through no link, as a walk comes to it.
    pub fn open_listed(&self, path: &RelPath) -> Result<OpenFile, Error> {
        let root = self.root.as_fd();
        let opened = self.resolver.open_without_links(root, path.as_path(), READ_FLAGS);
        let opened = opened.map_err(|errno| Error::from_errno(path, errno))?;
        OpenFile::from_descriptor(opened, path.clone())
    }

    /// Opens a directory for reading its entries.
    pub fn open_dir(&self, path: &RelPath) -> Result<OpenDir, Error> {
        match self.open_beneath(path, DIR_FLAGS) {
            Ok(fd) => Ok(OpenDir { fd, path: path.clone() }),
            Err(errno @ Errno::NOTDIR) => match self.kind_behind_links(path) {
                Some(kind) => Err(Error::NotADirectory { path: path.to_text(), kind }),
                None => Err(Error::from_errno(path, errno)),
            },
            Err(errno) => Err(Error::from_errno(path, errno)),
        }
    }

    /// What is at `path` itself: a link is described, not followed.
    pub fn metadata(&self, path: &RelPath) -> Result<EntryMeta, Error> {
        let stat = self
            .open_beneath(path, OFlags::PATH | OFlags::NOFOLLOW)
            .and_then(fstat)
            .map_err(|errno| Error::from_errno(path, errno))?;
        Ok(EntryMeta::from_stat(&stat))
    }

    /// The target of a symbolic link, as the bytes stored in it, for showing.
    pub fn read_link(&self, path: &RelPath) -> Result<Vec<u8>, Error> {
        let target = self
            .open_beneath(path, OFlags::PATH | OFlags::NOFOLLOW)
            .and_then(|link| readlinkat(link, "", Vec::new()));
        match target {
            Ok(target) => Ok(target.into_bytes()),
            // What the kernel says when the descriptor is not a link.
            Err(Errno::NOENT | Errno::INVAL) => {
                let source = io::Error::new(io::ErrorKind::InvalidInput, "not a symbolic link");
                self.metadata(path)?;
                Err(Error::Io { path: path.to_text(), source })
            }
            Err(errno) => Err(Error::from_errno(path, errno)),
        }
    }

    /// Whether `path` exists and goes through no link.
    pub(crate) fn is_free_of_links(&self, path: &RelPath) -> bool {
        let root = self.root.as_fd();
        let opened = self.resolver.open_without_links(root, path.as_path(), OFlags::PATH);
        // Component by component, the last name is opened even if it is a link.
        let stat = opened.and_then(fstat);
        stat.is_ok_and(|stat| EntryMeta::from_stat(&stat).kind != EntryKind::Symlink)
    }

    fn open_beneath(&self, path: &RelPath, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        self.resolver.open(self.root.as_fd(), path.as_path(), flags)
    }

    /// Opens a directory by a path that goes through no link, as [`Workspace::follow_links`] gives.
    pub(crate) fn open_real_dir(&self, path: &RelPath) -> rustix::io::Result<OwnedFd> {
        self.resolver.open_without_links(self.root.as_fd(), path.as_path(), DIR_FLAGS)
    }

    /// What `path` leads to, for explaining a refused open.
    fn kind_behind_links(&self, path: &RelPath) -> Option<EntryKind> {
        let stat = self.open_beneath(path, OFlags::PATH).and_then(fstat).ok()?;
        Some(EntryMeta::from_stat(&stat).kind)
    }
}

impl OpenDir {
    /// The path it was opened by.
    pub fn path(&self) -> &RelPath {
        &self.path
    }

    pub(crate) fn into_descriptor(self) -> OwnedFd {
        self.fd
    }
}

impl AsFd for OpenDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What follows `root` in `text`, if `text` begins with it at a component boundary.
fn strip_root<'t>(text: &'t str, root: &Path) -> Option<&'t str> {
    if !text.starts_with('/') {
        return None;
    }
    let root = bytes_to_text(root.as_os_str().as_bytes());
    let rest = text.strip_prefix(root.trim_end_matches('/'))?;
    match rest.trim_start_matches('/') {
        "" => Some("."),
        relative if rest.starts_with('/') => Some(relative),
        _ => None,
    }
}

fn root_error(root: &Path, error: io::Error) -> Error {
    let path = bytes_to_text(root.as_os_str().as_bytes()).into_owned();
    match error.kind() {
        io::ErrorKind::NotADirectory => Error::NotADirectory { path, kind: EntryKind::File },
        _ => Error::from_io(path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_stripped_only_at_a_component_boundary() {
        let table = [
            ("/p/src", "/p", Some("src")),
            ("/p//src/", "/p", Some("src/")),
            ("/p", "/p", Some(".")),
            ("/p/", "/p", Some(".")),
            ("/p/src", "/p/", Some("src")),
            ("/pq/src", "/p", None),
            ("/q/src", "/p", None),
            ("p/src", "/p", None),
            ("/etc/passwd", "/", Some("etc/passwd")),
            ("/", "/", Some(".")),
            ("", "/", None),
        ];
        for (text, root, expected) in table {
            assert_eq!(strip_root(text, Path::new(root)), expected, "{text} in {root}");
        }
    }
}
