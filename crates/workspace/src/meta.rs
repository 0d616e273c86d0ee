//! What a directory entry is.

use std::time::{Duration, SystemTime};

use rustix::fs::{FileType, Stat};
use serde::Serialize;

/// The permission bits of a mode, without the file type.
const PERMISSION_BITS: u32 = 0o7777;

/// The kinds of things a directory can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, strum::Display)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    #[strum(to_string = "a regular file")]
    File,
    #[strum(to_string = "a directory")]
    Directory,
    /// A symbolic link, whatever it points to.
    #[strum(to_string = "a symbolic link")]
    Symlink,
    /// A named pipe.
    #[strum(to_string = "a named pipe")]
    Fifo,
    /// A Unix socket.
    #[strum(to_string = "a socket")]
    Socket,
    /// A character or block device.
    #[strum(to_string = "a device")]
    Device,
}

impl EntryKind {
    /// The kind a directory listing or a mode reports; none if the file system does not say.
    pub(crate) fn from_file_type(file_type: FileType) -> Option<EntryKind> {
        match file_type {
            FileType::RegularFile => Some(EntryKind::File),
            FileType::Directory => Some(EntryKind::Directory),
            FileType::Symlink => Some(EntryKind::Symlink),
            FileType::Fifo => Some(EntryKind::Fifo),
            FileType::Socket => Some(EntryKind::Socket),
            FileType::CharacterDevice | FileType::BlockDevice => Some(EntryKind::Device),
            FileType::Unknown => None,
        }
    }
}

/// What the system knows about one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryMeta {
    /// What it is.
    pub kind: EntryKind,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the content.
    pub modified: SystemTime,
    /// Time of the last change of the content or of anything else; programs cannot choose it.
    pub changed: SystemTime,
    /// Permission bits, including set-user-id and the like.
    pub mode: u32,
    /// Number of hard links.
    pub nlink: u64,
    /// The device it is on. Together with `ino` it identifies the entry.
    pub dev: u64,
    /// The inode number.
    pub ino: u64,
}

impl EntryMeta {
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the widths of these fields differ between architectures"
    )]
    pub(crate) fn from_stat(stat: &Stat) -> EntryMeta {
        EntryMeta {
            // A mode that is none of the known kinds is nothing that can be read as a file.
            kind: EntryKind::from_file_type(FileType::from_raw_mode(stat.st_mode))
                .unwrap_or(EntryKind::Device),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
            changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
            mode: u32::from(stat.st_mode) & PERMISSION_BITS,
            nlink: stat.st_nlink as u64,
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
        }
    }
}

/// Times before 1970 are legal on disk. A time the clock cannot express becomes 1970.
fn time(seconds: i64, nanoseconds: u64) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let base = match seconds {
        ..0 => SystemTime::UNIX_EPOCH.checked_sub(whole),
        0.. => SystemTime::UNIX_EPOCH.checked_add(whole),
    };
    base.and_then(|base| base.checked_add(Duration::from_nanos(nanoseconds)))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_the_epoch_are_kept() {
        let half = 500_000_000;
        assert_eq!(time(0, 0), SystemTime::UNIX_EPOCH);
        assert_eq!(time(-1, half), SystemTime::UNIX_EPOCH - Duration::from_millis(500));
        assert_eq!(time(1, half), SystemTime::UNIX_EPOCH + Duration::from_millis(1500));
        assert_eq!(time(i64::MAX, 0), time(i64::MAX, 0));
    }
}
