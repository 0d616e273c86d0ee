//! What people can ask about an index.

use std::time::{Duration, SystemTime};

use super::{LiveIndex, Phase, build};

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexProgress {
    pub(super) done: u64,
    pub(super) total: u64,
}

/// The state of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexStatus {
    /// The index that is in use; none if there is none.
    pub index: Option<IndexFacts>,
    /// Whether questions are answered from it at this moment.
    pub in_use: bool,
    /// Files of the project, as far as they are known.
    pub files: u64,
    /// How many of them have changed since the index was built.
    pub changed: u64,
    /// Directories that the file watcher watches; none if there is no file watcher.
    pub watched: Option<usize>,
    /// Files indexed so far and in all, while an index is being built.
    pub building: Option<(u64, u64)>,
    /// Why the last attempt to use or build it failed.
    pub trouble: Option<String>,
}

/// What an index says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFacts {
    pub files: u64,
    pub text_bytes: u64,
    /// Its own size in bytes.
    pub bytes: u64,
    /// When it was built.
    pub built: SystemTime,
}

impl LiveIndex {
    pub(crate) fn status(&self) -> IndexStatus {
        let state = self.shared.state();
        let index = state.files.base().and_then(|base| {
            let about = build::About::of(base)?;
            Some(IndexFacts {
                files: base.len() as u64,
                text_bytes: about.text_bytes,
                bytes: base.bytes() as u64,
                built: SystemTime::UNIX_EPOCH + Duration::from_secs(about.built),
            })
        });
        IndexStatus {
            index,
            in_use: state.phase == Phase::Ready && state.complete,
            files: state.files.len() as u64,
            changed: state.files.fresh() as u64,
            watched: state.watcher.as_ref().map(|watcher| watcher.len()),
            building: state.progress.map(|progress| (progress.done, progress.total)),
            trouble: state.trouble.clone(),
        }
    }
}
