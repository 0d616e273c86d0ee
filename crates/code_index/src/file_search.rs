//! Files by name.

use workspace::{Entry, EntryKind, Error, Flow, RelPath, Visitor, WalkReport, Workspace};

use crate::SearchScope;
use crate::first_by_path::FirstByPath;

/// The first files in path order, and how many there are.
#[derive(Debug, Clone, Default)]
pub struct FoundFiles {
    /// The files, by path.
    pub files: Vec<RelPath>,
    /// All that match.
    pub total: u64,
    /// What the walk covered.
    pub walk: WalkReport,
}

/// The files of `scope` that its filter accepts. `cancel` is asked often.
pub fn find_files(
    workspace: &Workspace,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<FoundFiles, Error> {
    let worker = || Worker { scope, first: FirstByPath::new(scope.max_results), total: 0 };
    let (walk, workers) = workspace.walk(&scope.walk_options(), cancel, worker)?;
    let total = workers.iter().map(|worker| worker.total).sum();
    let parts = workers.into_iter().map(|worker| worker.first);
    Ok(FoundFiles { files: FirstByPath::merge(parts, scope.max_results), total, walk })
}

struct Worker<'a> {
    scope: &'a SearchScope,
    first: FirstByPath<RelPath>,
    total: u64,
}

impl Visitor for Worker<'_> {
    fn visit(&mut self, entry: &Entry<'_>) -> Flow {
        if entry.kind() == EntryKind::File {
            let path = entry.path();
            if self.scope.filter.accepts(&path, &self.scope.start) {
                self.total += 1;
                if self.first.room_for(&path) > 0 {
                    self.first.add(path.clone(), vec![path]);
                }
            }
        }
        Flow::Continue
    }
}
