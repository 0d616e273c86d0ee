//! Hashing large files while the disk is busy anyway.
//!
//! Size and mode of every base are compared before anything is written. For large files the hash
//! follows while the new content, already written beside its target, is on its way to the disk; no
//! name changes before the hashes are known to agree.

use std::sync::Arc;

use protocol::{Base, ContentHash};

use super::entry::Step;
use super::plan::Planned;
use crate::{Error, RelPath};

/// Hashing or comparing less takes no longer than starting a thread.
pub(super) const THREAD_BYTES: usize = 256 * 1024;

/// A base that is still to be compared, with the new content that is still to be hashed.
pub(super) struct Proof<'s> {
    /// The place of the step in the plan.
    pub(super) index: usize,
    pub(super) path: RelPath,
    /// What the base must have.
    pub(super) hash: ContentHash,
    pub(super) old: Arc<Vec<u8>>,
    pub(super) new: &'s [u8],
}

impl Proof<'_> {
    /// Fails if the base is not what it was said to be.
    pub(super) fn check_old(&self) -> Result<(), Error> {
        match ContentHash::of(&self.old) == self.hash {
            true => Ok(()),
            false => Err(Error::conflict(&self.path, "was changed by someone else")),
        }
    }

    /// Completes the step with the hash of its new content.
    pub(super) fn enter_new(&self, planned: &mut [Planned<'_>]) {
        let step = planned.get_mut(self.index).map(|planned| &mut planned.step);
        if let Some(Step::Put { after: Base::File { hash, .. }, .. }) = step {
            *hash = ContentHash::of(self.new);
        }
    }
}
