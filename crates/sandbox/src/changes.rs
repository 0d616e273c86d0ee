//! What a command changed in its copy of the project.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::profile::{Protected, StandIn};

/// Marks a directory that hides all of what lies below it in the project.
const OPAQUE: &CStr = c"user.overlay.opaque";

/// The changes of a command, in memory until this is dropped.
#[derive(Debug)]
pub struct Changes {
    upper: OwnedFd,
    project: OwnedFd,
    protected: Vec<Protected>,
}

/// One path that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The path from the project root.
    pub path: PathBuf,
    /// What is there after the command; nothing if it was removed.
    pub now: Option<Entry>,
    /// What is there in the project; nothing if it is new.
    pub before: Option<Entry>,
}

/// What can be at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File {
        /// Its permission bits.
        mode: u32,
        /// Its length.
        size: u64,
    },
    /// A directory.
    Directory {
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as stored.
        target: PathBuf,
    },
    /// A socket, a pipe or a device, of which nothing can be taken over.
    Other,
}

/// The changes cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    /// There are more than the caller wants to hear of.
    #[error("the command changed more than {0} files and directories")]
    TooMany(usize),
    /// A directory cannot be read.
    #[error("cannot read what the command changed in `{}`: {source}", path.display())]
    Read {
        /// The directory, from the project root.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Changes {
    pub(crate) fn new(upper: OwnedFd, project: OwnedFd, protected: &[Protected]) -> Changes {
        Changes { upper, project, protected: protected.to_vec() }
    }

    /// The project itself.
    pub(crate) fn project(&self) -> &OwnedFd {
        &self.project
    }

    /// All changes, each directory before what is in it, in the order of their names. Directories
    /// that are only on the way to a change are left out, and so are those that differ in nothing but
    /// their time stamps. At most `most` are listed.
    pub fn list(&self, most: usize) -> Result<Vec<Changed>, ChangesError> {
        let mut walk = Walk { changes: self, found: Vec::new(), most };
        walk.directory(Path::new(""), Side::Both)?;
        walk.found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(walk.found)
    }

    /// Opens a regular file as the command left it. No link is followed, whatever the command put
    /// there.
    pub fn open_file(&self, path: &Path) -> std::io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat2(&self.upper, path, flags, Mode::empty(), beneath())?;
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Errno::INVAL.into());
        }
        Ok(File::from(file))
    }

    /// A mount lay here, so that the command could not make it.
    fn is_place_holder(&self, path: &Path, entry: &Entry) -> bool {
        let fits = |one: &Protected| match (one.stand_in, entry) {
            (StandIn::Directory, Entry::Directory { .. }) => true,
            (StandIn::File, Entry::File { size, .. }) => *size == 0,
            _ => false,
        };
        self.protected.iter().any(|one| one.path == path && fits(one))
    }
}

fn beneath() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS
}

/// Whether the project still shows through at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Both,
    CopyOnly,
}

struct Walk<'a> {
    changes: &'a Changes,
    found: Vec<Changed>,
    most: usize,
}

impl Walk<'_> {
    /// Lists what changed in a directory that exists in the copy.
    fn directory(&mut self, path: &Path, side: Side) -> Result<(), ChangesError> {
        let upper = self.read(&self.changes.upper, path)?;
        for name in &upper {
            let path = path.join(OsStr::from_bytes(name));
            let before = match side {
                Side::Both => self.entry(&self.changes.project, &path)?.and_then(Found::entry),
                Side::CopyOnly => None,
            };
            match self.entry(&self.changes.upper, &path)? {
                None => {}
                Some(Found::Removed) if before.is_some() => self.removed(path, before)?,
                Some(Found::Removed) => {}
                Some(Found::Entry(now)) => self.present(path, now, before, side)?,
            }
        }
        Ok(())
    }

    fn present(
        &mut self,
        path: PathBuf,
        now: Entry,
        before: Option<Entry>,
        side: Side,
    ) -> Result<(), ChangesError> {
        let is_new = before.is_none();
        if is_new && side == Side::Both && self.changes.is_place_holder(&path, &now) {
            return Ok(());
        }
        let is_directory = matches!(now, Entry::Directory { .. });
        let was_directory = matches!(before, Some(Entry::Directory { .. }));
        let hides = is_directory && was_directory && self.is_opaque(&path);
        if was_directory && (!is_directory || hides) {
            self.contents_removed(&path, is_directory)?;
        }
        if !(is_directory && before.as_ref() == Some(&now)) {
            self.push(Changed { path: path.clone(), now: Some(now), before })?;
        }
        if is_directory {
            let shows = side == Side::Both && was_directory && !hides;
            self.directory(&path, if shows { Side::Both } else { Side::CopyOnly })?;
        }
        Ok(())
    }

    /// Something of the project that is gone, with all that was in it.
    fn removed(&mut self, path: PathBuf, before: Option<Entry>) -> Result<(), ChangesError> {
        if matches!(before, Some(Entry::Directory { .. })) {
            self.contents_removed(&path, false)?;
        }
        self.push(Changed { path, now: None, before })
    }

    /// What was in a directory of the project and is not in the copy; `kept` says that the copy has
    /// a directory there, whose entries are found by themselves.
    fn contents_removed(&mut self, path: &Path, kept: bool) -> Result<(), ChangesError> {
        for name in self.read(&self.changes.project, path)? {
            let path = path.join(OsStr::from_bytes(&name));
            let now = if kept { self.entry(&self.changes.upper, &path)? } else { None };
            if matches!(now, Some(Found::Entry(_))) {
                continue;
            }
            let before = self.entry(&self.changes.project, &path)?.and_then(Found::entry);
            self.removed(path, before)?;
        }
        Ok(())
    }

    fn push(&mut self, changed: Changed) -> Result<(), ChangesError> {
        if self.found.len() == self.most {
            return Err(ChangesError::TooMany(self.most));
        }
        self.found.push(changed);
        Ok(())
    }

    fn read(&self, side: &OwnedFd, path: &Path) -> Result<Vec<Vec<u8>>, ChangesError> {
        let names = || -> Result<Vec<Vec<u8>>, Errno> {
            let mut names = Vec::new();
            for entry in Dir::read_from(open_directory(side, path)?)? {
                let name = entry?.file_name().to_bytes().to_vec();
                if name != b"." && name != b".." {
                    names.push(name);
                }
            }
            names.sort();
            Ok(names)
        };
        names().map_err(|errno| failed(path, errno))
    }

    fn is_opaque(&self, path: &Path) -> bool {
        let mut value = [0_u8; 8];
        let open = open_directory(&self.changes.upper, path);
        let length = open.and_then(|fd| rustix::fs::fgetxattr(&fd, OPAQUE, &mut value[..]));
        length.is_ok_and(|length| value.get(..length) == Some(b"y"))
    }

    fn entry(&self, side: &OwnedFd, path: &Path) -> Result<Option<Found>, ChangesError> {
        let (parent, name) = (path.parent().unwrap_or(Path::new("")), path.file_name());
        let name = name.unwrap_or_default();
        let look = || -> Result<Found, Errno> {
            let parent = open_directory(side, parent)?;
            let stat = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Found::new(&parent, name, &stat)
        };
        match look() {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(failed(path, errno)),
        }
    }
}

fn failed(path: &Path, errno: Errno) -> ChangesError {
    ChangesError::Read { path: path.to_owned(), source: errno.into() }
}

pub(crate) fn open_directory(side: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    rustix::fs::openat2(side, path, flags, Mode::empty(), beneath())
}

enum Found {
    Entry(Entry),
    /// The mark for something that was removed.
    Removed,
}

impl Found {
    fn new(parent: &impl AsFd, name: &OsStr, stat: &Stat) -> Result<Found, Errno> {
        let mode = stat.st_mode & 0o7777;
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                Found::Entry(Entry::File { mode, size: stat.st_size.unsigned_abs() })
            }
            FileType::Directory => Found::Entry(Entry::Directory { mode }),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(parent, name, Vec::new())?;
                let target = PathBuf::from(OsStr::from_bytes(target.as_bytes()));
                Found::Entry(Entry::Link { target })
            }
            FileType::CharacterDevice if stat.st_rdev == 0 => Found::Removed,
            _ => Found::Entry(Entry::Other),
        })
    }

    fn entry(self) -> Option<Entry> {
        match self {
            Found::Entry(entry) => Some(entry),
            Found::Removed => None,
        }
    }
}
