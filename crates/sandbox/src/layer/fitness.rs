//! What a command wrote is made fit to be kept.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode};

use super::entries::{
    block_bytes, is_directory, is_whiteout, names_in, open_own_directory, parent_of, stat_at,
};
use crate::changes::MAX_NESTING;

/// The bits for set-user-id, set-group-id and sticky.
const SET_ID: u32 = 0o7000;

/// Removes what cannot be kept at `path`: sockets, pipes, devices, and the set-id bits. Returns how
/// many bytes a copy would take. Refuses what lies deeper than anything that is listed.
pub(super) fn make_fit(upper: &OwnedFd, path: &Path) -> io::Result<u64> {
    let (Some(parent), Some(name)) = (parent_of(upper, path)?, path.file_name()) else {
        return Ok(0);
    };
    entry(&parent, name, path.iter().count())
}

fn entry(parent: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<u64> {
    let Some(stat) = stat_at(parent, name)? else { return Ok(0) };
    let mut bytes = block_bytes(&stat);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory | FileType::RegularFile if stat.st_mode & SET_ID != 0 => {
            let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
            rustix::fs::chmodat(parent, name, mode, AtFlags::empty())?;
        }
        FileType::Directory | FileType::RegularFile | FileType::Symlink => {}
        _ if is_whiteout(&stat) => {}
        _ => rustix::fs::unlinkat(parent, name, AtFlags::empty())?,
    }
    if is_directory(&stat) {
        if depth >= MAX_NESTING {
            let message = format!("directories are nested more than {MAX_NESTING} deep");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let directory = open_own_directory(parent, name)?;
        for inner in names_in(&directory)? {
            bytes += entry(&directory, &inner, depth + 1)?;
        }
        if stat.st_mode & 0o700 != 0o700 {
            rustix::fs::fchmod(&directory, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        }
    }
    Ok(bytes)
}
