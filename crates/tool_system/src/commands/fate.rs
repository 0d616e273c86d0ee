//! Which of the paths that a command changed are changes to the project, and which are kept apart.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use sandbox::{CommandChanges, Fate, WorktreeIndex};
use workspace::{GitIndexStamp, Ignored, MAX_INDEX_BYTES, RelPath, Tracked, Workspace};

use crate::locked::locked;

/// Directories and files that programs make for themselves, whether or not the project ignores them.
const CACHES: [&[u8]; 13] = [
    b"__pycache__",
    b".pytest_cache",
    b".mypy_cache",
    b".ruff_cache",
    b".hypothesis",
    b".tox",
    b".nox",
    b".coverage",
    b".nyc_output",
    b".eslintcache",
    b".parcel-cache",
    b".turbo",
    b".gradle",
];
/// Directories that package managers fill.
const PACKAGES: [&[u8]; 2] = [b".venv", b"node_modules"];
const BYTECODE: &[u8] = b".pyc";

/// What git holds, read again when its index has changed.
#[derive(Debug, Default)]
pub(super) struct TrackedNow(Mutex<Option<(Stamp, Arc<Tracked>)>>);

/// The index of the project itself, and that of a linked worktree.
type Stamp = (GitIndexStamp, Option<(SystemTime, u64)>);

impl TrackedNow {
    pub(super) fn get(&self, workspace: &Workspace) -> Arc<Tracked> {
        let elsewhere = WorktreeIndex::of(workspace.canonical_path());
        let stamp = (workspace.index_stamp(), elsewhere.as_ref().and_then(WorktreeIndex::stamp));
        let mut known = locked(&self.0);
        if let Some((of, tracked)) = &*known
            && *of == stamp
        {
            return Arc::clone(tracked);
        }
        let elsewhere = elsewhere.and_then(|index| index.read(MAX_INDEX_BYTES));
        let tracked = Arc::new(match elsewhere {
            Some(bytes) => Tracked::from_index(&bytes),
            None => workspace.tracked(),
        });
        *known = Some((stamp, Arc::clone(&tracked)));
        tracked
    }
}

/// Decides about the paths of one run.
pub(super) struct Fates<'a> {
    workspace: &'a Workspace,
    changes: &'a CommandChanges,
    ignored: Ignored<'a>,
    tracked: &'a TrackedNow,
    /// Read when the first path is in question.
    held: Option<Arc<Tracked>>,
}

impl<'a> Fates<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        changes: &'a CommandChanges,
        tracked: &'a TrackedNow,
    ) -> Self {
        Self { workspace, changes, ignored: Ignored::new(workspace), tracked, held: None }
    }

    /// Ignored files and caches are private, unless git holds them.
    pub(super) fn of(&mut self, path: &Path, is_dir: bool) -> Fate {
        let Ok(rel) = RelPath::from_bytes(path.as_os_str().as_bytes()) else { return Fate::Change };
        let is_apart = is_cache_name(&rel)
            || rel.file_name().is_some_and(|name| PACKAGES.contains(&name))
            || self.ignored.covers(&rel, is_dir)
            || is_dir && self.changes.is_cache(path);
        if is_apart && !self.held().holds(&rel) { Fate::Private } else { Fate::Change }
    }

    fn held(&mut self) -> &Tracked {
        let (tracked, workspace) = (self.tracked, self.workspace);
        self.held.get_or_insert_with(|| tracked.get(workspace))
    }
}

/// Whether programs give this name to their caches, which are not worth reporting.
pub(super) fn is_cache_name(path: &RelPath) -> bool {
    path.file_name().is_some_and(|name| CACHES.contains(&name) || name.ends_with(BYTECODE))
}
