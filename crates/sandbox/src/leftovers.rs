//! What earlier versions left in projects.
//!
//! They held the places of protected names that did not exist by empty directories and sockets, which
//! stayed when they were killed. Nothing else has their permissions.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode};

const NAMES: [&str; 7] =
    [".git", ".toolkiln", ".vscode", ".idea", ".envrc", ".mcp.json", ".gitmodules"];
const MARK: Mode = Mode::SVTX;

/// Removes them from the root of a project. What is not empty cannot be one.
pub(crate) fn remove(root: &OwnedFd) {
    for name in NAMES {
        let Ok(stat) = rustix::fs::statat(root, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if Mode::from_raw_mode(stat.st_mode) != MARK {
            continue;
        }
        let flags = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => AtFlags::REMOVEDIR,
            FileType::Socket => AtFlags::empty(),
            FileType::RegularFile if stat.st_size == 0 => AtFlags::empty(),
            _ => continue,
        };
        let _ = rustix::fs::unlinkat(root, name, flags);
    }
}
