//! What a command changed in its copy of the project.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::layer::{RunSpace, is_opaque, is_whiteout};

/// By this file, with this beginning, programs mark directories that hold nothing worth keeping
/// (see <https://bford.info/cachedir/>).
const CACHE_TAG: &str = "CACHEDIR.TAG";
const CACHE_SIGNATURE: &[u8; 43] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Directories may be nested so deep.
pub(crate) const MAX_NESTING: usize = 128;

/// The changes of a command. They are thrown away when this is dropped.
#[derive(Debug)]
pub struct CommandChanges {
    upper: OwnedFd,
    project: OwnedFd,
    space: Option<RunSpace>,
}

/// What becomes of a changed path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is a change to the project.
    Change,
    /// It belongs, with all that is in it, to the project's private layer.
    Private,
}

/// The changes of a command, by what becomes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Changes to the project, each directory before what is in it, in the order of their names.
    pub changed: Vec<Changed>,
    /// The outermost paths that belong to the private layer.
    pub private: Vec<PathBuf>,
}

/// One path that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The path from the project root.
    pub path: PathBuf,
    /// What is there after the command; nothing if it was removed.
    pub now: Option<ChangedEntry>,
    /// What is there in the project; nothing if it is new.
    pub before: Option<ChangedEntry>,
}

/// What can be at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedEntry {
    /// A regular file.
    File {
        /// Its permission bits.
        mode: u32,
        /// Its length.
        size: u64,
    },
    Directory {
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as stored.
        target: PathBuf,
    },
    /// A socket, a pipe or a device, which cannot be copied back.
    Other,
}

impl ChangedEntry {
    pub fn is_directory(&self) -> bool {
        matches!(self, ChangedEntry::Directory { .. })
    }
}

/// The changes cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    /// There are more than the caller's limit.
    #[error("the command changed more than {0} files and directories")]
    TooMany(usize),
    /// Directories are nested deeper than the limit.
    #[error("the command nested directories more than {MAX_NESTING} deep")]
    TooDeep,
    /// A directory cannot be read.
    #[error("cannot read what the command changed in `{}`: {source}", path.display())]
    Read {
        /// The directory, from the project root.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl CommandChanges {
    pub(crate) fn new(upper: OwnedFd, project: OwnedFd, space: Option<RunSpace>) -> CommandChanges {
        CommandChanges { upper, project, space }
    }

    pub(crate) fn project(&self) -> &OwnedFd {
        &self.project
    }

    /// All changes. `fate` tells what becomes of a path, which is a directory if the second argument
    /// says so. Directories that are only on the way to a change are left out, and so are those that
    /// differ in nothing but their time stamps, and those that were removed but hold private paths.
    /// At most `most` are listed.
    pub fn list(
        &self,
        most: usize,
        fate: &mut dyn FnMut(&Path, bool) -> Fate,
    ) -> Result<Listed, ChangesError> {
        let mut walk = Walk { changes: self, found: Listed::default(), most, fate };
        walk.directory(Path::new(""), Side::Both)?;
        walk.found.changed.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(walk.found)
    }

    /// The changes at `path` and beneath it, whatever else becomes of them.
    pub fn list_at(&self, path: &Path, most: usize) -> Result<Vec<Changed>, ChangesError> {
        let mut fate = |_: &Path, _: bool| Fate::Change;
        let mut walk = Walk { changes: self, found: Listed::default(), most, fate: &mut fate };
        walk.entry_at(path.to_owned(), Side::Both)?;
        walk.found.changed.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(walk.found.changed)
    }

    /// Keeps these paths, which [`CommandChanges::list`] gave, in the project's private layer.
    /// Without a layer they are thrown away with the rest.
    pub fn keep_private(&self, paths: &[PathBuf]) -> io::Result<()> {
        match &self.space {
            Some(space) if !paths.is_empty() => space.keep(&self.upper, paths, &self.project),
            _ => Ok(()),
        }
    }

    /// Lets the private layer be changed, which is locked for as long as a command shows it. What is
    /// kept must have been looked at before.
    pub fn release(&self) {
        if let Some(space) = &self.space {
            space.release();
        }
    }

    /// What the private layer holds, as changes to the project. None without a layer.
    pub fn kept(&self) -> io::Result<Option<CommandChanges>> {
        let Some(space) = &self.space else { return Ok(None) };
        Ok(Some(CommandChanges::new(space.kept()?, self.project.try_clone()?, None)))
    }

    /// Whether the command had no room left for what it wrote.
    pub fn is_full(&self) -> bool {
        let is_full = |room: rustix::fs::StatVfs| {
            room.f_bavail == 0 || room.f_files > 0 && room.f_favail == 0
        };
        rustix::fs::fstatvfs(&self.upper).is_ok_and(is_full)
    }

    /// Whether a directory calls itself a cache, in the copy, the private layer or the project.
    pub fn is_cache(&self, directory: &Path) -> bool {
        let tag = directory.join(CACHE_TAG);
        let says_so = |side: &OwnedFd| {
            let mut text = [0; CACHE_SIGNATURE.len()];
            let read = open_regular(side, &tag)
                .and_then(|mut file| io::Read::read_exact(&mut file, &mut text));
            read.is_ok() && text == *CACHE_SIGNATURE
        };
        let kept = self.space.as_ref().and_then(|space| space.kept().ok());
        says_so(&self.upper) || kept.is_some_and(|kept| says_so(&kept)) || says_so(&self.project)
    }

    /// Opens a regular file as the command left it. No link is followed, whatever the command put
    /// there.
    pub fn open_file(&self, path: &Path) -> io::Result<File> {
        open_regular(&self.upper, path)
    }
}

pub(crate) fn open_regular(side: &OwnedFd, path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat2(side, path, flags, Mode::empty(), beneath())?;
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL.into());
    }
    Ok(File::from(file))
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

struct Walk<'a, 'f> {
    changes: &'a CommandChanges,
    found: Listed,
    most: usize,
    fate: &'f mut dyn FnMut(&Path, bool) -> Fate,
}

/// Whether a directory of the project lost everything that was in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Emptied {
    Wholly,
    /// Something private is still there.
    InPart,
}

impl Walk<'_, '_> {
    /// Lists what changed in a directory that exists in the copy.
    fn directory(&mut self, path: &Path, side: Side) -> Result<(), ChangesError> {
        for name in self.read(&self.changes.upper, path)? {
            self.entry_at(path.join(OsStr::from_bytes(&name)), side)?;
        }
        Ok(())
    }

    /// Lists what changed at a path.
    fn entry_at(&mut self, path: PathBuf, side: Side) -> Result<(), ChangesError> {
        let Some(now) = self.entry(&self.changes.upper, &path)? else { return Ok(()) };
        let before = match side {
            Side::Both => self.entry(&self.changes.project, &path)?.and_then(UpperEntry::entry),
            Side::CopyOnly => None,
        };
        let is_directory = match (&now, &before) {
            (UpperEntry::Entry(now), _) => now.is_directory(),
            (UpperEntry::Removed, Some(before)) => before.is_directory(),
            // It was in the private layer, whatever it was.
            (UpperEntry::Removed, None) => true,
        };
        if (self.fate)(&path, is_directory) == Fate::Private {
            self.found.private.push(path);
            return Ok(());
        }
        match now {
            UpperEntry::Removed if before.is_some() => self.removed(path, before).map(drop),
            UpperEntry::Removed => Ok(()),
            UpperEntry::Entry(now) => self.present(path, now, before, side),
        }
    }

    fn present(
        &mut self,
        path: PathBuf,
        now: ChangedEntry,
        before: Option<ChangedEntry>,
        side: Side,
    ) -> Result<(), ChangesError> {
        let is_directory = now.is_directory();
        let was_directory = before.as_ref().is_some_and(ChangedEntry::is_directory);
        let hides = is_directory && was_directory && self.hides(&path);
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
    fn removed(
        &mut self,
        path: PathBuf,
        before: Option<ChangedEntry>,
    ) -> Result<Emptied, ChangesError> {
        let is_directory = before.as_ref().is_some_and(ChangedEntry::is_directory);
        if is_directory && self.contents_removed(&path, false)? == Emptied::InPart {
            return Ok(Emptied::InPart);
        }
        self.push(Changed { path, now: None, before })?;
        Ok(Emptied::Wholly)
    }

    /// What was in a directory of the project and is not in the copy; `kept` says that the copy has
    /// a directory there, whose entries are found by themselves.
    fn contents_removed(&mut self, path: &Path, kept: bool) -> Result<Emptied, ChangesError> {
        let mut emptied = Emptied::Wholly;
        for name in self.read(&self.changes.project, path)? {
            let path = path.join(OsStr::from_bytes(&name));
            let now = if kept { self.entry(&self.changes.upper, &path)? } else { None };
            if matches!(now, Some(UpperEntry::Entry(_))) {
                continue;
            }
            let before = self.entry(&self.changes.project, &path)?.and_then(UpperEntry::entry);
            let is_directory = before.as_ref().is_some_and(ChangedEntry::is_directory);
            let is_private = (self.fate)(&path, is_directory) == Fate::Private;
            if is_private || self.removed(path, before)? == Emptied::InPart {
                emptied = Emptied::InPart;
            }
        }
        Ok(emptied)
    }

    fn push(&mut self, changed: Changed) -> Result<(), ChangesError> {
        if self.found.changed.len() == self.most {
            return Err(ChangesError::TooMany(self.most));
        }
        self.found.changed.push(changed);
        Ok(())
    }

    fn read(&self, side: &OwnedFd, path: &Path) -> Result<Vec<Vec<u8>>, ChangesError> {
        if path.iter().count() > MAX_NESTING {
            return Err(ChangesError::TooDeep);
        }
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

    /// Whether a directory of the copy hides all of what the project has there.
    fn hides(&self, path: &Path) -> bool {
        open_directory(&self.changes.upper, path).is_ok_and(|directory| is_opaque(&directory))
    }

    fn entry(&self, side: &OwnedFd, path: &Path) -> Result<Option<UpperEntry>, ChangesError> {
        let (parent, name) = (path.parent().unwrap_or(Path::new("")), path.file_name());
        let name = name.unwrap_or_default();
        let look = || -> Result<UpperEntry, Errno> {
            let parent = open_directory(side, parent)?;
            let stat = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
            UpperEntry::new(&parent, name, &stat)
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

enum UpperEntry {
    Entry(ChangedEntry),
    /// The mark for something that was removed.
    Removed,
}

impl UpperEntry {
    fn new(parent: &impl AsFd, name: &OsStr, stat: &Stat) -> Result<UpperEntry, Errno> {
        if is_whiteout(stat) {
            return Ok(UpperEntry::Removed);
        }
        let mode = stat.st_mode & 0o7777;
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                UpperEntry::Entry(ChangedEntry::File { mode, size: stat.st_size.unsigned_abs() })
            }
            FileType::Directory => UpperEntry::Entry(ChangedEntry::Directory { mode }),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(parent, name, Vec::new())?;
                let target = PathBuf::from(OsStr::from_bytes(target.as_bytes()));
                UpperEntry::Entry(ChangedEntry::Link { target })
            }
            _ => UpperEntry::Entry(ChangedEntry::Other),
        })
    }

    fn entry(self) -> Option<ChangedEntry> {
        match self {
            UpperEntry::Entry(entry) => Some(entry),
            UpperEntry::Removed => None,
        }
    }
}
