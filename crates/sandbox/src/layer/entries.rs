//! What layers are made of: directories, files, links, and marks for what was removed.

use std::ffi::{CStr, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

/// Marks a directory that hides all of what lies below it.
const OPAQUE: &CStr = c"user.overlay.opaque";

/// Bytes of a block as `stat` counts them.
const BLOCK: u64 = 512;

/// Sets the time stamps of a file to the present.
pub(super) const NOW: Timestamps = {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW as _ };
    Timestamps { last_access: now, last_modification: now }
};

/// Whether this is the mark for something that was removed.
pub(crate) fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

/// Whether a directory hides all of what lies below it.
pub(crate) fn is_opaque(directory: &impl AsFd) -> bool {
    let mut value = [0_u8; 8];
    let length = rustix::fs::fgetxattr(directory, OPAQUE, &mut value[..]);
    length.is_ok_and(|length| value.get(..length) == Some(b"y"))
}

pub(super) fn make_opaque(directory: &impl AsFd) -> Result<(), Errno> {
    rustix::fs::fsetxattr(directory, OPAQUE, b"y", rustix::fs::XattrFlags::empty())
}

pub(super) fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

pub(super) fn stat_at(parent: &impl AsFd, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

pub(super) fn open_directory_at(
    parent: impl AsFd,
    name: impl rustix::path::Arg,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

/// Opens a directory of a layer to change what is in it, whatever permissions a command gave it.
pub(super) fn open_own_directory(parent: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    match open_directory_at(parent, name) {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            open_directory_at(parent, name)
        }
        Ok(directory) => {
            let mode = rustix::fs::fstat(&directory)?.st_mode & 0o7777;
            if mode & 0o700 != 0o700 {
                rustix::fs::fchmod(&directory, Mode::from_raw_mode(mode | 0o700))?;
            }
            Ok(directory)
        }
        other => other,
    }
}

pub(super) fn names_in(directory: &impl AsFd) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

/// Opens the directory that a path lies in; none if it is not there.
pub(super) fn parent_of(top: &OwnedFd, path: &Path) -> io::Result<Option<OwnedFd>> {
    let mut directory = top.try_clone()?;
    for part in path.parent().into_iter().flat_map(Path::iter) {
        match open_own_directory(&directory, part) {
            Ok(next) => directory = next,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(Some(directory))
}

/// How much room something takes, but for what is in it.
pub(super) fn block_bytes(stat: &Stat) -> u64 {
    stat.st_blocks.unsigned_abs() * BLOCK
}

/// How much room everything in a directory takes. What is kept is never nested deep.
pub(super) fn disk_bytes(directory: &OwnedFd) -> io::Result<u64> {
    let mut bytes = 0;
    for name in names_in(directory)? {
        let Some(stat) = stat_at(directory, &name)? else { continue };
        bytes += block_bytes(&stat);
        if is_directory(&stat) {
            bytes += disk_bytes(&open_own_directory(directory, &name)?)?;
        }
    }
    Ok(bytes)
}
