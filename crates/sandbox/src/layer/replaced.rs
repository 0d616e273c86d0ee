//! Directories of the project that the layer replaces as a whole, and what they were at that time.
//!
//! A build compares time stamps and finds out by itself what its user has built meanwhile. A
//! program that reads installed packages does not: if the user installs them anew, what a command
//! had made of them before must no longer lie over that.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat};
use serde::{Deserialize, Serialize};

use super::entries::{
    self, is_directory, is_opaque, is_whiteout, names_in, open_directory_at, stat_at,
};
use super::removal::Removal;

const LIST: &str = "replaced";
const UNFINISHED: &str = "replaced.new";
/// Directories that package managers fill.
const PACKAGES: [&str; 2] = ["node_modules", ".venv"];
/// A directory with more entries is not looked into: those of packages.
const MAX_ENTRIES: usize = 16;
/// So deep are the packages of a virtual environment of Python.
const DEPTH: usize = 3;

/// A path of the project that the layer replaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Replaced {
    path: PathBuf,
    /// When something in it last changed, in seconds and nanoseconds; nothing if it was not there.
    changed: Option<(i64, u64)>,
}

/// Notes which of these paths of `upper` replace something of the project.
pub(super) fn note(
    top: &OwnedFd,
    upper: &OwnedFd,
    paths: &[PathBuf],
    project: &OwnedFd,
) -> io::Result<()> {
    let replacing: Vec<&PathBuf> = paths.iter().filter(|path| replaces(upper, path)).collect();
    if replacing.is_empty() {
        return Ok(());
    }
    let mut list = read(top);
    for path in replacing {
        if !list.iter().any(|one| one.path == *path) {
            list.push(Replaced { path: path.clone(), changed: last_change(project, path) });
        }
    }
    write(top, &list)
}

/// Forgets what is kept at paths that have changed in the project since they were replaced. No
/// running command may use `kept`.
pub(super) fn forget_outdated(
    top: &OwnedFd,
    kept: &OwnedFd,
    project: &OwnedFd,
    removal: &Removal,
) -> io::Result<()> {
    let list = read(top);
    let (same, outdated): (Vec<Replaced>, Vec<Replaced>) =
        list.into_iter().partition(|one| last_change(project, &one.path) == one.changed);
    if outdated.is_empty() {
        return Ok(());
    }
    for one in &outdated {
        if let (Some(parent), Some(name)) =
            (entries::parent_of(kept, &one.path)?, one.path.file_name())
        {
            removal.remove(&parent, name)?;
        }
    }
    write(top, &same)
}

/// Whether anything that was replaced has changed in the project.
pub(super) fn is_outdated(top: &OwnedFd, project: &OwnedFd) -> bool {
    read(top).iter().any(|one| last_change(project, &one.path) != one.changed)
}

/// Nothing is replaced any more.
pub(super) fn clear(top: &OwnedFd) -> io::Result<()> {
    if read(top).is_empty() { Ok(()) } else { write(top, &[]) }
}

fn replaces(upper: &OwnedFd, path: &Path) -> bool {
    let Some((parent, name)) = parent_of(upper, path) else { return false };
    let Ok(Some(stat)) = stat_at(&parent, name) else { return false };
    PACKAGES.iter().any(|known| name == OsStr::new(known))
        || is_whiteout(&stat)
        || is_directory(&stat) && open_directory_at(&parent, name).is_ok_and(|it| is_opaque(&it))
}

fn last_change(project: &OwnedFd, path: &Path) -> Option<(i64, u64)> {
    let (parent, name) = parent_of(project, path)?;
    let stat = stat_at(&parent, name).ok().flatten()?;
    Some(newest(&parent, name, &stat, DEPTH))
}

fn newest(parent: &OwnedFd, name: &OsStr, stat: &Stat, depth: usize) -> (i64, u64) {
    let own = (stat.st_ctime, stat.st_ctime_nsec);
    if depth == 0 || !is_directory(stat) {
        return own;
    }
    let Ok(directory) = open_directory_at(parent, name) else { return own };
    let names = names_in(&directory).unwrap_or_default();
    if names.len() > MAX_ENTRIES {
        return own;
    }
    let inner = names.iter().filter_map(|name| {
        let stat = stat_at(&directory, name).ok().flatten()?;
        Some(newest(&directory, name, &stat, depth - 1))
    });
    inner.fold(own, Ord::max)
}

/// The directory that a path lies in, reached without following links.
fn parent_of<'p>(top: &OwnedFd, path: &'p Path) -> Option<(OwnedFd, &'p OsStr)> {
    let mut directory = top.try_clone().ok()?;
    for part in path.parent()? {
        directory = open_directory_at(&directory, part).ok()?;
    }
    Some((directory, path.file_name()?))
}

fn read(top: &OwnedFd) -> Vec<Replaced> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat(top, LIST, flags, Mode::empty()) else { return Vec::new() };
    let mut text = Vec::new();
    let read = File::from(file).read_to_end(&mut text);
    read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

fn write(top: &OwnedFd, list: &[Replaced]) -> io::Result<()> {
    let text = serde_json::to_vec(list)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = rustix::fs::openat(top, UNFINISHED, flags, Mode::RUSR | Mode::WUSR)?;
    File::from(file).write_all(&text)?;
    Ok(rustix::fs::renameat(top, UNFINISHED, top, LIST)?)
}
