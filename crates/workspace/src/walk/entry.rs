//! One directory of a walk, and one entry in it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, OFlags, fstat, statat};
use rustix::io::Errno;

use crate::entry_names::NamedEntry;
use crate::ignore_rules::IgnoreRules;
use crate::read::READ_FLAGS;
use crate::resolve::open_name;
use crate::{EntryKind, EntryMeta, Error, OpenDir, OpenFile, RelPath};

/// A directory that is being walked. Its descriptor lives as long as work in it is pending.
pub(super) struct Dir {
    fd: OwnedFd,
    pub(super) path: RelPath,
    /// Number of levels beneath the start: 0 for the start itself.
    pub(super) depth: usize,
    pub(super) rules: Option<Arc<IgnoreRules>>,
    lineage: Arc<Lineage>,
}

/// The identity of a directory and of those around it, kept apart from the descriptors so that a
/// deep tree does not hold one open per level.
struct Lineage {
    outer: Option<Arc<Lineage>>,
    dev: u64,
    ino: u64,
}

impl Lineage {
    fn new(fd: &OwnedFd, outer: Option<Arc<Lineage>>) -> rustix::io::Result<Arc<Lineage>> {
        let meta = EntryMeta::from_stat(&fstat(fd)?);
        Ok(Arc::new(Lineage { outer, dev: meta.dev, ino: meta.ino }))
    }

    /// Whether the same directory lies further out, as a bind mount can make it.
    fn is_cycle(&self) -> bool {
        let mut level = self.outer.as_deref();
        while let Some(outer) = level {
            if (outer.dev, outer.ino) == (self.dev, self.ino) {
                return true;
            }
            level = outer.outer.as_deref();
        }
        false
    }
}

impl Dir {
    pub(super) fn start(dir: OpenDir, rules: Option<Arc<IgnoreRules>>) -> Result<Dir, Error> {
        let path = dir.path().clone();
        let fd = dir.into_descriptor();
        let lineage = Lineage::new(&fd, None).map_err(|errno| Error::from_errno(&path, errno))?;
        Ok(Dir { fd, path, depth: 0, rules, lineage })
    }

    /// A directory inside `parent`, already opened; `ELOOP` if it is one of its own ancestors.
    pub(super) fn inside(parent: &Dir, name: &[u8], fd: OwnedFd) -> rustix::io::Result<Dir> {
        let lineage = Lineage::new(&fd, Some(parent.lineage.clone()))?;
        if lineage.is_cycle() {
            return Err(Errno::LOOP);
        }
        let path = parent.path.join_entry(name);
        Ok(Dir { fd, path, depth: parent.depth + 1, rules: parent.rules.clone(), lineage })
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// An entry met on a walk. It borrows the descriptor of its directory, so that opening it takes
/// one step and cannot be led elsewhere.
pub struct WalkEntry<'a> {
    dir: &'a Dir,
    named: NamedEntry<'a>,
}

impl<'a> WalkEntry<'a> {
    pub(super) fn new(dir: &'a Dir, named: NamedEntry<'a>) -> WalkEntry<'a> {
        WalkEntry { dir, named }
    }

    /// The path from the root. It is put together on each call.
    pub fn path(&self) -> RelPath {
        self.dir.path.join_entry(self.named.name())
    }

    /// The name as stored on disk.
    pub fn name(&self) -> &'a [u8] {
        self.named.name()
    }

    /// What it is; a link is a link, whatever it points to.
    pub fn kind(&self) -> EntryKind {
        self.named.kind
    }

    /// How many levels beneath the start it is; the start's own entries are at 1.
    pub fn depth(&self) -> usize {
        self.dir.depth + 1
    }

    /// What the system knows about it at this moment.
    pub fn meta(&self) -> Result<EntryMeta, Error> {
        let name = self.named.c_name();
        name.and_then(|name| statat(self.dir, name, AtFlags::SYMLINK_NOFOLLOW))
            .map(|stat| EntryMeta::from_stat(&stat))
            .map_err(|errno| Error::from_errno(&self.path(), errno))
    }

    /// Opens it for reading, if it is a regular file. A link is refused, wherever it leads.
    pub fn open(&self) -> Result<OpenFile, Error> {
        let name = self.named.c_name();
        match name.and_then(|name| open_name(self.dir.as_fd(), name, READ_FLAGS)) {
            Ok(fd) => OpenFile::from_descriptor(fd, self.path()),
            Err(Errno::LOOP) => Err(self.refused(EntryKind::Symlink)),
            Err(Errno::NXIO) => Err(self.refused(self.kind())),
            Err(errno) => Err(Error::from_errno(&self.path(), errno)),
        }
    }

    /// A descriptor that only names it, if it is a directory.
    pub(crate) fn descriptor(&self) -> rustix::io::Result<OwnedFd> {
        open_name(self.dir.as_fd(), self.named.c_name()?, OFlags::PATH | OFlags::DIRECTORY)
    }

    fn refused(&self, kind: EntryKind) -> Error {
        Error::NotAFile { path: self.path().to_text(), kind }
    }
}
