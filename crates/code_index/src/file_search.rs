//! Files by name.

use std::cmp::Reverse;
use std::time::SystemTime;

use workspace::{Error, Flow, RelPath, WalkReport};

use crate::SearchScope;
use crate::code_base::{CodeBase, FileVisitor, FoundFile};
use crate::first_by_path::First;
use crate::index::path_order;

/// How to go through the files that are found.
#[derive(Debug, Clone, Default)]
pub struct FileQuery {
    /// In which order they come.
    pub order: FileOrder,
    /// Return only what comes after this place.
    pub after: Option<FilePosition>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileOrder {
    #[default]
    Path,
    /// The latest change first, then by path.
    Modified,
}

/// A place in the order of files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePosition {
    /// When the file was changed, not before 1970, if that is part of the order; the latest come
    /// first.
    pub modified: Option<Reverse<SystemTime>>,
    /// The file.
    pub path: RelPath,
}

/// The first files in the wanted order, and how many there are.
#[derive(Debug, Clone, Default)]
pub struct FoundFiles {
    /// The files with their places.
    pub files: Vec<FilePosition>,
    /// Files in all.
    pub total: u64,
    /// Files up to the place after which to begin.
    pub earlier: u64,
    /// What the walk covered.
    pub walk: WalkReport,
}

/// The files of `scope` that its filter accepts. `cancel` is asked often.
pub fn find_files(
    code: &CodeBase,
    query: &FileQuery,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<FoundFiles, Error> {
    if query.order == FileOrder::Path
        && let Some(found) = listed_files(code, query, scope)
    {
        return Ok(found);
    }
    let worker =
        || FileWorker { query, first: First::new(scope.max_results), total: 0, earlier: 0 };
    let (walk, workers) = code.visit(scope, cancel, worker)?;
    let total = workers.iter().map(|worker| worker.total).sum();
    let earlier = workers.iter().map(|worker| worker.earlier).sum();
    let parts = workers.into_iter().map(|worker| worker.first);
    Ok(FoundFiles { files: First::merge(parts, scope.max_results), total, earlier, walk })
}

/// The files by path from a list of all paths; none if there is no such list.
fn listed_files(code: &CodeBase, query: &FileQuery, scope: &SearchScope) -> Option<FoundFiles> {
    let after = query.after.as_ref().map(|after| after.path.as_bytes());
    let mut found = FoundFiles::default();
    found.walk = code.list(scope, &mut |path| {
        found.total += 1;
        if after.is_some_and(|after| path_order(path, after).is_le()) {
            found.earlier += 1;
        } else if found.files.len() < scope.max_results
            && let Ok(path) = RelPath::from_bytes(path)
        {
            found.files.push(FilePosition { modified: None, path });
        }
        Flow::Continue
    })?;
    Some(found)
}

struct FileWorker<'a> {
    query: &'a FileQuery,
    first: First<FilePosition, FilePosition>,
    total: u64,
    earlier: u64,
}

impl FileVisitor for FileWorker<'_> {
    fn visit(&mut self, file: &FoundFile<'_>) -> Flow {
        self.total += 1;
        let modified = match self.query.order {
            FileOrder::Path => None,
            // A file that has gone in the meantime counts as the oldest.
            FileOrder::Modified => {
                let modified = file.meta().map_or(SystemTime::UNIX_EPOCH, |meta| meta.modified);
                Some(Reverse(modified.max(SystemTime::UNIX_EPOCH)))
            }
        };
        let place = FilePosition { modified, path: file.path() };
        if self.query.after.as_ref().is_some_and(|after| place <= *after) {
            self.earlier += 1;
        } else if self.first.room_for(&place) > 0 {
            self.first.add(place.clone(), vec![place]);
        }
        Flow::Continue
    }
}
