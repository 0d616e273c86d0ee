//! The repository of a project that is one of its linked worktrees: it lies elsewhere.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// More than any path has.
const MAX_GITFILE_BYTES: u64 = 8 * 1024;

/// The git directory of the repository that the project at `root` is a worktree of.
///
/// What the project says of it is not trusted: a process that can write the project could name the
/// repository of another one. Git keeps a note of each worktree in the repository, and that must name
/// this project.
pub(crate) fn of_worktree(root: &Path) -> Option<PathBuf> {
    own_and_common(root).map(|(_, common)| common)
}

/// The index of a linked worktree, which lies in its repository.
#[derive(Clone, Debug)]
pub struct WorktreeIndex(PathBuf);

impl WorktreeIndex {
    /// The index of the project at `root`, if the repository says that it is one of its worktrees.
    pub fn of(root: &Path) -> Option<WorktreeIndex> {
        own_and_common(root).map(|(own, _)| WorktreeIndex(own.join("index")))
    }

    /// By this it is known not to have changed.
    pub fn stamp(&self) -> Option<(SystemTime, u64)> {
        let meta = std::fs::symlink_metadata(&self.0).ok()?;
        Some((meta.modified().ok()?, meta.len()))
    }

    /// Its bytes, if it is a regular file with at most so many.
    pub fn read(&self, most: u64) -> Option<Vec<u8>> {
        let meta = std::fs::symlink_metadata(&self.0).ok()?;
        let is_usable = meta.is_file() && meta.len() <= most;
        std::fs::read(&self.0).ok().filter(|_| is_usable)
    }
}

/// The git directory of a worktree and that of its repository.
fn own_and_common(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let link = root.join(".git");
    let named = first_line(&link)?;
    let own = root.join(named.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let noted = own.join(first_line(&own.join("gitdir"))?).canonicalize().ok()?;
    let common = own.join(first_line(&own.join("commondir"))?).canonicalize().ok()?;
    let is_noted = noted == link.canonicalize().ok()?;
    let is_its_own = own.parent() == Some(&common.join("worktrees"));
    let is_repository = ["objects", "refs"].iter().all(|name| common.join(name).is_dir());
    (is_noted && is_its_own && is_repository).then_some((own, common))
}

/// The first line of a small regular file.
fn first_line(file: &Path) -> Option<String> {
    let meta = std::fs::symlink_metadata(file).ok()?;
    let is_small = meta.is_file() && meta.len() <= MAX_GITFILE_BYTES;
    let text = std::fs::read_to_string(file).ok().filter(|_| is_small)?;
    text.lines().next().map(str::to_owned)
}
