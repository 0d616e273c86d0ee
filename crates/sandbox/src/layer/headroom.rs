//! How much of the disk commands may use.

use std::os::fd::AsFd;

use rustix::fs::StatVfs;

/// The unit of the bounds below.
const GIB: u64 = 1 << 30;
/// Bytes that stay free on a disk, or this part of it if that is less.
const SPARE_BYTES: u64 = GIB;
const SPARE_PART: u64 = 20;
/// Files that can still be made on a disk, where it has such a limit.
const SPARE_FILES: u64 = 10_000;
/// Bytes that may be gone from the disk while one command runs.
const MAX_USED_BYTES: u64 = 32 * GIB;

/// The room on a disk when a command began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Headroom {
    free: u64,
}

impl Headroom {
    pub(crate) fn of(disk: &impl AsFd) -> Headroom {
        Headroom { free: room(disk).map_or(u64::MAX, |room| free_bytes(&room)) }
    }

    /// Whether a command has to end because the disk is full. Whatever else uses the disk counts too.
    pub(crate) fn is_used_up(&self, disk: &impl AsFd) -> bool {
        let is_used_up = |room: StatVfs| {
            !has_room(&room, 0) || self.free.saturating_sub(free_bytes(&room)) > MAX_USED_BYTES
        };
        room(disk).is_some_and(is_used_up)
    }
}

/// Whether so many bytes can be written and enough stays free.
pub(super) fn has_room_for(disk: &impl AsFd, bytes: u64) -> bool {
    room(disk).is_none_or(|room| has_room(&room, bytes))
}

fn room(disk: &impl AsFd) -> Option<StatVfs> {
    rustix::fs::fstatvfs(disk).ok()
}

fn free_bytes(room: &StatVfs) -> u64 {
    room.f_bavail.saturating_mul(room.f_frsize)
}

fn has_room(room: &StatVfs, bytes: u64) -> bool {
    let total = room.f_blocks.saturating_mul(room.f_frsize);
    let spare = SPARE_BYTES.min(total / SPARE_PART);
    let has_files =
        room.f_files == 0 || room.f_favail >= SPARE_FILES.min(room.f_files / SPARE_PART);
    has_files && free_bytes(room) >= spare.saturating_add(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(total: u64, free: u64, files: u64, free_files: u64) -> StatVfs {
        let here = rustix::fs::statvfs("/").unwrap();
        StatVfs {
            f_frsize: 1,
            f_blocks: total,
            f_bavail: free,
            f_files: files,
            f_favail: free_files,
            ..here
        }
    }

    #[test]
    fn something_always_stays_free() {
        let cases = [
            (disk(100 * GIB, 2 * GIB, 0, 0), 0, true),
            (disk(100 * GIB, 2 * GIB, 0, 0), 2 * GIB, false),
            (disk(100 * GIB, GIB - 1, 0, 0), 0, false),
            // A small disk keeps a part of it.
            (disk(2 * GIB, GIB / 2, 0, 0), 0, true),
            (disk(2 * GIB, GIB / 20, 0, 0), 0, false),
            (disk(100 * GIB, 50 * GIB, 1_000_000, 9_999), 0, false),
            (disk(100 * GIB, 50 * GIB, 1_000, 900), 0, true),
        ];
        for (room, bytes, has) in cases {
            assert_eq!(has_room(&room, bytes), has, "{} {bytes}", room.f_bavail);
        }
    }
}
