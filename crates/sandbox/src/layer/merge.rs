//! Moving what a command wrote from one layer to another.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid};
use rustix::io::Errno;

use super::entries::{
    is_directory, is_opaque, is_whiteout, make_opaque, names_in, open_own_directory, stat_at,
};
use super::removal::Removal;
use crate::holes;

/// Moves everything in `upper` into `kept`, over what is there. `project` is what both lie over.
pub(super) fn into(
    upper: &OwnedFd,
    kept: &OwnedFd,
    project: &OwnedFd,
    removal: &Removal,
) -> io::Result<()> {
    for name in names_in(upper)? {
        merge((upper, kept), Some(project), &name, removal)?;
    }
    Ok(())
}

fn merge(
    (from, to): (&OwnedFd, &OwnedFd),
    project: Option<&OwnedFd>,
    name: &OsStr,
    removal: &Removal,
) -> io::Result<()> {
    let Some(new) = stat_at(from, name)? else { return Ok(()) };
    let old = stat_at(to, name)?;
    let below = match project {
        Some(project) => stat_at(project, name)?,
        None => None,
    };
    if is_whiteout(&new) && below.is_none() {
        // There is nothing to hide but what was kept.
        return removal.remove(to, name);
    }
    if is_directory(&new) && old.as_ref().is_some_and(is_directory) {
        let (source, target) = (open_own_directory(from, name)?, open_own_directory(to, name)?);
        if !is_opaque(&source) {
            let below = below.filter(is_directory).and_then(|_| {
                project.and_then(|project| super::open_directory_at(project, name).ok())
            });
            for inner in names_in(&source)? {
                merge((&source, &target), below.as_ref(), &inner, removal)?;
            }
            return Ok(rustix::fs::fchmod(&target, mode_of(&new))?);
        }
    }
    if is_directory(&new) && old.as_ref().is_some_and(is_whiteout) {
        // It goes on hiding what the mark did, also if we are killed after the mark is gone.
        make_opaque(&open_own_directory(from, name)?)?;
    }
    if old.is_some() {
        removal.remove(to, name)?;
    }
    move_entry(from, to, name, &new)
}

/// Moves what lies at `path` in `upper` to the same path in `target`, with copies of the directories
/// on the way, which belong to `owner`.
pub(super) fn take(
    upper: &OwnedFd,
    target: &OwnedFd,
    path: &Path,
    owner: Option<(Uid, Gid)>,
) -> io::Result<()> {
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let (mut from, mut to) = (upper.try_clone()?, target.try_clone()?);
    for part in path.parent().into_iter().flat_map(Path::iter) {
        from = open_own_directory(&from, part)?;
        let mode = mode_of(&rustix::fs::fstat(&from)?);
        match rustix::fs::mkdirat(&to, part, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        to = open_own_directory(&to, part)?;
        if let Some((uid, gid)) = owner {
            rustix::fs::fchown(&to, Some(uid), Some(gid))?;
        }
        rustix::fs::fchmod(&to, mode)?;
    }
    let Some(stat) = stat_at(&from, name)? else { return Ok(()) };
    move_entry(&from, &to, name, &stat)
}

/// Moves a file, a link, a mark or a whole directory to where nothing is.
fn move_entry(from: &OwnedFd, to: &OwnedFd, name: &OsStr, stat: &Stat) -> io::Result<()> {
    match rustix::fs::renameat(from, name, to, name) {
        Ok(()) => Ok(()),
        Err(Errno::XDEV) => copy_entry(from, to, name, stat),
        // Only root can move a directory without the right to write in it.
        Err(Errno::ACCESS) if is_directory(stat) => {
            rustix::fs::chmodat(from, name, Mode::RWXU, AtFlags::empty())?;
            rustix::fs::renameat(from, name, to, name)?;
            Ok(rustix::fs::chmodat(to, name, mode_of(stat), AtFlags::empty())?)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Copies what lies on another file system, with permissions, owners and time stamps: builds compare
/// them. What is neither file, directory, link nor mark is left out.
fn copy_entry(from: &OwnedFd, to: &OwnedFd, name: &OsStr, stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            let source = open_own_directory(from, name)?;
            rustix::fs::mkdirat(to, name, Mode::RWXU)?;
            let target = open_own_directory(to, name)?;
            for inner in names_in(&source)? {
                if let Some(stat) = stat_at(&source, &inner)? {
                    copy_entry(&source, &target, &inner, &stat)?;
                }
            }
            if is_opaque(&source) {
                make_opaque(&target)?;
            }
            finish(&target, stat)
        }
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let open = || rustix::fs::openat(from, name, flags, Mode::empty());
            let source = open().or_else(|_| {
                rustix::fs::chmodat(from, name, Mode::RUSR, AtFlags::empty())?;
                open()
            })?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let target = rustix::fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)?;
            let mut target = File::from(target);
            holes::copy(&mut File::from(source), &mut target)?;
            finish(&target.into(), stat)
        }
        FileType::Symlink => {
            let link = rustix::fs::readlinkat(from, name, Vec::new())?;
            Ok(rustix::fs::symlinkat(link, to, name)?)
        }
        FileType::CharacterDevice if is_whiteout(stat) => {
            let (kind, no_device) = (FileType::CharacterDevice, 0);
            Ok(rustix::fs::mknodat(to, name, kind, Mode::empty(), no_device)?)
        }
        _ => Ok(()),
    }
}

fn finish(made: &OwnedFd, stat: &Stat) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        rustix::fs::fchown(made, Some(owner), Some(group))?;
    }
    rustix::fs::fchmod(made, mode_of(stat))?;
    let time = |seconds: i64, nanoseconds: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or(0),
    };
    let times = Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    };
    Ok(rustix::fs::futimens(made, &times)?)
}

/// Permissions, without the set-id bits.
fn mode_of(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode & 0o777)
}
