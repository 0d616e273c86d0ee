//! Hashing large files while the disk is busy anyway.
//!
//! Size and mode of every base are compared before anything is written. For large files the hash
//! follows while the new content is already being written beside its target; no name changes
//! before the hashes are known to agree.

use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};

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

/// The hash of the new content of a step.
pub(super) struct Proven {
    index: usize,
    hash: ContentHash,
}

impl Proof<'_> {
    /// Fails if the base is not what it was said to be.
    pub(super) fn check_old(&self) -> Result<(), Error> {
        match ContentHash::of(&self.old) == self.hash {
            true => Ok(()),
            false => Err(Error::conflict(&self.path, "was changed by someone else")),
        }
    }

    fn hash_new(&self) -> Proven {
        Proven { index: self.index, hash: ContentHash::of(self.new) }
    }
}

/// Proofs that are being made: the bases are compared and the new contents hashed.
pub(super) struct Proving<'scope> {
    checked: ScopedJoinHandle<'scope, Result<(), Error>>,
    hashed: ScopedJoinHandle<'scope, Vec<Proven>>,
}

impl<'scope> Proving<'scope> {
    pub(super) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        proofs: &'env [Proof<'env>],
    ) -> Proving<'scope> {
        Proving {
            checked: scope.spawn(|| proofs.iter().try_for_each(Proof::check_old)),
            hashed: scope.spawn(|| proofs.iter().map(Proof::hash_new).collect()),
        }
    }

    /// Waits for the outcome.
    pub(super) fn finish(self) -> Result<Vec<Proven>, Error> {
        // Hashing does not panic; if it did, the base would count as changed.
        let lost = || Error::conflict(&RelPath::root(), "could not be compared");
        self.checked.join().unwrap_or_else(|_| Err(lost()))?;
        self.hashed.join().map_err(|_| lost())
    }
}

impl Proven {
    /// Completes the step.
    pub(super) fn enter(&self, planned: &mut [Planned<'_>]) {
        let step = planned.get_mut(self.index).map(|planned| &mut planned.step);
        if let Some(Step::Put { after: Base::File { hash, .. }, .. }) = step {
            *hash = self.hash;
        }
    }
}
