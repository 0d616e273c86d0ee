//! The bytes that a step replaces, kept to compare what comes out of the rename with.
//!
//! Of a large file of which little changes only the difference is kept; the rest is borrowed from
//! the new content. So a small edit needs no second copy of a large file.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::fstat;
use rustix::io::{Errno, Result, pread};

use crate::ops::{Name, Ops};
use crate::{EntryKind, EntryMeta};

/// How much of a file is read at once: small enough to stay in the processor's cache.
const PIECE: usize = 64 * 1024;

/// How much of two pieces is compared at once before the first difference is searched for.
const STRIDE: usize = 4096;

/// A start and an end that are those of the new content, and what is between them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct OldBytes<'s> {
    pub(crate) start: &'s [u8],
    pub(crate) middle: Vec<u8>,
    pub(crate) end: &'s [u8],
}

impl<'s> OldBytes<'s> {
    /// Bytes that stand on their own.
    pub(crate) fn whole(bytes: Vec<u8>) -> OldBytes<'s> {
        OldBytes { middle: bytes, ..OldBytes::default() }
    }

    /// Reads the first `size` bytes of a file that `new` will replace. If another process writes
    /// meanwhile, the answer is a mixture, so the caller compares its hash.
    pub(crate) fn read(file: BorrowedFd<'_>, size: usize, new: &'s [u8]) -> Result<OldBytes<'s>> {
        let limit = size.min(new.len());
        let mut piece = vec![0; PIECE.min(limit)];
        let mut start = 0;
        while start < limit {
            let room = PIECE.min(limit - start);
            let filled = read_at(file, &mut piece[..room], start)?;
            let same = shared_start(&piece[..filled], &new[start..start + filled]);
            start += same;
            if same < room {
                break;
            }
        }
        let mut end = 0;
        while start + end < limit {
            let room = PIECE.min(limit - start - end);
            let filled = read_at(file, &mut piece[..room], size - end - room)?;
            if filled < room {
                break;
            }
            let same = shared_end(&piece[..room], &new[..new.len() - end]);
            end += same;
            if same < room {
                break;
            }
        }
        if start + end < size / 2 {
            // Most of it differs, and what stands on its own is easier to bring back.
            (start, end) = (0, 0);
        }
        let mut middle = vec![0; size - start - end];
        let filled = read_at(file, &mut middle, start)?;
        middle.truncate(filled);
        Ok(OldBytes { start: &new[..start], middle, end: &new[new.len() - end..] })
    }

    pub(crate) fn len(&self) -> usize {
        self.start.len() + self.middle.len() + self.end.len()
    }

    /// Whether a file has exactly these bytes and this mode.
    pub(crate) fn are_in(&self, ops: &Ops, at: Name<'_>, mode: u32) -> Result<bool> {
        let file = match ops.open_read(at.dir, at.name) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::NODEV) => return Ok(false),
            Err(errno) => return Err(errno),
        };
        let meta = EntryMeta::from_stat(&fstat(&file)?);
        if meta.kind != EntryKind::File || meta.mode != mode || meta.size != self.len() as u64 {
            return Ok(false);
        }
        let mut at = 0;
        for part in [self.start, &self.middle, self.end] {
            if !has_at(file.as_fd(), part, at)? {
                return Ok(false);
            }
            at += part.len();
        }
        // It may have grown meanwhile.
        Ok(read_at(file.as_fd(), &mut [0], at)? == 0)
    }
}

/// Whether a file has these bytes at an offset. Reads no further than the first difference.
pub(super) fn has_at(file: BorrowedFd<'_>, mut bytes: &[u8], mut at: usize) -> Result<bool> {
    let mut piece = vec![0; PIECE.min(bytes.len())];
    while !bytes.is_empty() {
        let room = PIECE.min(bytes.len());
        let filled = read_at(file, &mut piece[..room], at)?;
        if piece[..filled] != bytes[..room] {
            return Ok(false);
        }
        (bytes, at) = (&bytes[room..], at + room);
    }
    Ok(true)
}

/// Fills the buffer as far as the file reaches.
fn read_at(file: BorrowedFd<'_>, buffer: &mut [u8], at: usize) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match pread(file, &mut buffer[filled..], (at + filled) as u64) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

/// How many bytes at the start are the same.
fn shared_start(a: &[u8], b: &[u8]) -> usize {
    let strides = a.chunks_exact(STRIDE).zip(b.chunks_exact(STRIDE));
    let whole = STRIDE * strides.take_while(|(a, b)| a == b).count();
    whole + a[whole..].iter().zip(&b[whole..]).take_while(|(a, b)| a == b).count()
}

/// How many bytes at the end are the same.
fn shared_end(a: &[u8], b: &[u8]) -> usize {
    let strides = a.rchunks_exact(STRIDE).zip(b.rchunks_exact(STRIDE));
    let whole = STRIDE * strides.take_while(|(a, b)| a == b).count();
    let rest = |bytes: &[u8]| bytes.len() - whole;
    let (a, b) = (&a[..rest(a)], &b[..rest(b)]);
    whole + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn read<'s>(old: &[u8], size: usize, new: &'s [u8]) -> OldBytes<'s> {
        let mut file = tempfile::tempfile_in("/dev/shm").or_else(|_| tempfile::tempfile()).unwrap();
        file.write_all(old).unwrap();
        OldBytes::read(file.as_fd(), size, new).unwrap()
    }

    fn joined(old: &OldBytes<'_>) -> Vec<u8> {
        [old.start, &old.middle, old.end].concat()
    }

    proptest! {
        #[test]
        fn what_is_kept_makes_the_old_bytes(
            old in prop::collection::vec(0u8..3, 0..300),
            new in prop::collection::vec(0u8..3, 0..300),
            repeat in prop::sample::select(vec![1usize, 700, 2000]),
        ) {
            let (old, new) = (old.repeat(repeat), new.repeat(repeat));
            prop_assert_eq!(joined(&read(&old, old.len(), &new)), old);
        }

        #[test]
        fn an_edit_keeps_little_wherever_it_is(
            size in 8usize..400_000,
            at in any::<prop::sample::Index>(),
            removed in 0usize..4,
            inserted in "[a-z]{0,4}",
        ) {
            let old: Vec<u8> = (0..size).map(|n| (n * 31 % 251) as u8).collect();
            let at = at.index(size - removed.min(size));
            let mut new = old.clone();
            new.splice(at..at + removed, inserted.into_bytes());
            let kept = read(&old, size, &new);
            prop_assert_eq!(joined(&kept), old);
            prop_assert!(kept.middle.len() <= removed + 4, "{} bytes", kept.middle.len());
        }
    }

    #[test]
    fn a_file_that_is_shorter_than_it_was_gives_other_bytes() {
        let new = vec![b'x'; 200_000];
        let kept = read(&new[..150_000], 200_000, &new);
        assert!(kept.len() < 200_000, "{}", kept.len());
    }
}
