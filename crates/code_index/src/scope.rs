//! Where a search looks and how far it goes.

use std::time::{Duration, Instant};

use workspace::{RelPath, WalkOptions};

use crate::FileFilter;

/// The part of the project that a search covers, and its bounds.
#[derive(Debug, Clone)]
pub struct SearchScope {
    /// The directory, or for text the single file, to search.
    pub start: RelPath,
    /// Which files count.
    pub filter: FileFilter,
    /// Whether names that begin with a dot count.
    pub hidden: bool,
    /// How deep to go.
    pub max_depth: usize,
    /// Entries after which to stop.
    pub max_entries: usize,
    /// When to answer with what there is.
    pub deadline: Instant,
    /// The most results to return; all are counted.
    pub max_results: usize,
    /// Size in bytes above which text search skips a file.
    pub max_file_bytes: u64,
    /// The time one file may cost.
    pub file_time: Duration,
}

impl SearchScope {
    /// Whether the file at `path` is in it.
    pub(crate) fn covers(&self, path: &RelPath) -> bool {
        path.starts_with(&self.start)
            && (*path == self.start || self.filter.accepts(path, &self.start))
    }

    pub(crate) fn walk_options(&self) -> WalkOptions {
        WalkOptions {
            start: self.start.clone(),
            hidden: self.hidden,
            respect_ignore: true,
            max_depth: self.max_depth,
            max_entries: self.max_entries,
            deadline: Some(self.deadline),
            exclude_dirs: self.filter.excluded_names().to_vec(),
            threads: 0,
        }
    }
}
