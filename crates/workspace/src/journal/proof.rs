//! Reading and hashing large files while new content is written and the disk is busy anyway.
//!
//! Size and mode of every base are compared before anything is written. The bytes of a large file
//! are compared by a thread of their own meanwhile; no name changes before their hash is known to
//! be the expected one. "edit of 10 lines in 1 MB, overhead of the journal" of `cargo xtask bench changes` needs it.

use std::os::fd::{AsFd, OwnedFd};

use protocol::{Base, ContentHash};
use rustix::fs::fstat;

use super::entry::JournalStep;
use super::image::EntryImage;
use super::old_bytes::{OldBytes, has_at};
use super::plan::JournalPlan;
use crate::metadata::Metadata;
use crate::ops::{Name, Ops};
use crate::{EntryKind, EntryMeta, Error, RelPath};

/// Reading or comparing less takes no longer than starting a thread.
pub(super) const THREAD_BYTES: usize = 256 * 1024;

/// How many proofs wait at most, because each holds a file open.
pub(super) const MAX_WAITING: usize = 64;

/// A large file that is still to be compared with its base.
pub(super) struct UnprovenFile {
    file: OwnedFd,
    hash: ContentHash,
    size: u64,
    mode: u32,
}

impl UnprovenFile {
    /// None if there is no need or no reason to wait: the base is not a large file, what is there has
    /// another size or mode, or `new` would change nothing.
    pub(super) fn open(
        ops: &Ops,
        at: Name<'_>,
        (base, max_bytes): (&Base, u64),
        new: &[u8],
    ) -> rustix::io::Result<Option<(UnprovenFile, Metadata)>> {
        let Base::File { hash, size, mode } = *base else { return Ok(None) };
        if !(THREAD_BYTES as u64..=max_bytes).contains(&size) {
            return Ok(None);
        }
        // If anything is wrong, the immediate comparison finds and describes it.
        let Ok(file) = ops.open_read(at.dir, at.name) else { return Ok(None) };
        let candidate = UnprovenFile { file, hash, size, mode };
        let (file, stat) = (candidate.file.as_fd(), fstat(&candidate.file)?);
        let changes_nothing = || Ok(new.len() as u64 == size && has_at(file, new, 0)?);
        if !candidate.resembles(&EntryMeta::from_stat(&stat)) || changes_nothing()? {
            return Ok(None);
        }
        let metadata = Metadata::of(file, &stat)?;
        Ok(Some((candidate, metadata)))
    }

    fn resembles(&self, meta: &EntryMeta) -> bool {
        meta.kind == EntryKind::File && meta.size == self.size && meta.mode == self.mode
    }

    /// The bytes; none if the file is known to be another one.
    fn read<'s>(&self, new: &'s [u8]) -> rustix::io::Result<Option<OldBytes<'s>>> {
        match (usize::try_from(self.size), EntryMeta::from_stat(&fstat(&self.file)?)) {
            (Ok(size), meta) if self.resembles(&meta) => {
                OldBytes::read(self.file.as_fd(), size, new).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The comparison that a step needs before it may be taken.
pub(super) struct Proof<'s> {
    /// The place of the step in the plan.
    pub(super) index: usize,
    pub(super) path: RelPath,
    pub(super) candidate: UnprovenFile,
    pub(super) new: &'s [u8],
}

/// What a step lacked.
pub(super) struct Proven<'s> {
    index: usize,
    old: OldBytes<'s>,
    new_hash: ContentHash,
}

impl<'s> Proof<'s> {
    /// Fails if the base is not what it was said to be.
    pub(super) fn run(&self) -> Result<Proven<'s>, Error> {
        let failed = |errno| Error::from_errno(&self.path, errno);
        let conflict = || Error::conflict(&self.path, "was changed in the meantime");
        let old = self.candidate.read(self.new).map_err(failed)?.ok_or_else(conflict)?;
        let (old_hash, new_hash) = hashes(&old, self.new);
        match old_hash == self.candidate.hash {
            true => Ok(Proven { index: self.index, old, new_hash }),
            false => Err(conflict()),
        }
    }
}

impl<'s> Proven<'s> {
    /// Gives the step its image and the hash of its new content.
    pub(super) fn enter(self, plan: &mut JournalPlan<'s>) {
        let Proven { index, old, new_hash } = self;
        let Some(planned) = plan.planned.get_mut(index) else { return };
        if let JournalStep::Put { after: Base::File { hash, .. }, image, .. } = &mut planned.step {
            (*hash, *image) = (new_hash, Some(EntryImage::store(&old, &mut plan.images)));
        }
        planned.old = plan.room.keep(old);
    }
}

/// The hashes of old and new content. The start that both share is gone through only once.
fn hashes(old: &OldBytes<'_>, new: &[u8]) -> (ContentHash, ContentHash) {
    let finish = |hasher: &blake3::Hasher| ContentHash::from_bytes(*hasher.finalize().as_bytes());
    let mut shared = blake3::Hasher::new();
    shared.update(old.start);
    let mut of_old = shared.clone();
    of_old.update(&old.middle).update(old.end);
    shared.update(&new[old.start.len()..]);
    (finish(&of_old), finish(&shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_whole_contents() {
        let new: Vec<u8> = (0..10_000u32).flat_map(u32::to_le_bytes).collect();
        for (start, end) in [(0, 0), (1, 5000), (12_345, 1), (40_000, 0), (20_000, 20_000)] {
            let old = OldBytes {
                start: &new[..start],
                middle: b"in between".to_vec(),
                end: &new[new.len() - end..],
            };
            let whole = [old.start, &old.middle, old.end].concat();
            assert_eq!(hashes(&old, &new), (ContentHash::of(&whole), ContentHash::of(&new)));
        }
    }
}
