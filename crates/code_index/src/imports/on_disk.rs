//! [`ProjectFiles`] on a real project, through the workspace's confined handle.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use workspace::{EntryKind, Flow, RelPath, WalkReport};

use super::project_files::{PathList, ProjectFiles};
use crate::code_base::{FileVisitor, FoundFile};
use crate::index::TrigramPlan;
use crate::{CodeBase, SearchScope};

/// A project on disk, within the bounds of one question.
pub struct FilesOnDisk {
    code: Arc<CodeBase>,
    scope: SearchScope,
    cancel: Box<dyn Fn() -> bool + Send + Sync>,
    paths: OnceLock<PathList>,
    /// What was looked for before. The same few places are tried for every import, mostly in vain.
    kinds: Mutex<HashMap<RelPath, Option<EntryKind>>>,
    report: Mutex<WalkReport>,
    too_large: Mutex<Vec<RelPath>>,
}

impl FilesOnDisk {
    /// The files of `code` that `scope` covers. `cancel` is asked often.
    pub fn new(
        code: Arc<CodeBase>,
        scope: SearchScope,
        cancel: impl Fn() -> bool + Send + Sync + 'static,
    ) -> FilesOnDisk {
        FilesOnDisk {
            code,
            scope,
            cancel: Box::new(cancel),
            paths: OnceLock::new(),
            kinds: Mutex::default(),
            report: Mutex::default(),
            too_large: Mutex::default(),
        }
    }

    /// What the last walk covered.
    pub fn report(&self) -> WalkReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The files that were too large to look into, by path.
    pub fn too_large(&self) -> Vec<RelPath> {
        let mut paths = self.too_large.lock().unwrap_or_else(PoisonError::into_inner).clone();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The one place where files are visited.
    fn look_at(&self, start: &RelPath, plan: &TrigramPlan, look: &(dyn Fn(&FoundFile<'_>) + Sync)) {
        let scope = SearchScope { start: start.clone(), ..self.scope.clone() };
        let visited = self.code.visit_matching(&scope, plan, &self.cancel, || ImportScan { look });
        // A start that is not a directory has no files.
        if let Ok((report, _)) = visited
            && start.is_root()
        {
            *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
        }
    }
}

struct ImportScan<'a> {
    look: &'a (dyn Fn(&FoundFile<'_>) + Sync),
}

impl FileVisitor for ImportScan<'_> {
    fn visit(&mut self, file: &FoundFile<'_>) -> Flow {
        (self.look)(file);
        Flow::Continue
    }
}

impl ProjectFiles for FilesOnDisk {
    fn kind(&self, path: &RelPath) -> Option<EntryKind> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kind) = kinds.get(path) {
            return *kind;
        }
        let kind = self.code.workspace().metadata(path).ok().map(|meta| meta.kind);
        kinds.insert(path.clone(), kind);
        kind
    }

    fn read_link(&self, path: &RelPath) -> Option<Vec<u8>> {
        self.code.workspace().read_link(path).ok()
    }

    fn read(&self, path: &RelPath) -> Option<Vec<u8>> {
        let mut file = self.code.workspace().open_file(path).ok()?;
        file.read_all(self.scope.max_file_bytes).ok()
    }

    fn paths(&self) -> &PathList {
        self.paths.get_or_init(|| {
            let found = Mutex::new(Vec::new());
            self.look_at(&self.scope.start, &TrigramPlan::All, &|file| {
                found.lock().unwrap_or_else(PoisonError::into_inner).push(file.path());
            });
            PathList::new(found.into_inner().unwrap_or_else(PoisonError::into_inner))
        })
    }

    fn visit(
        &self,
        start: &RelPath,
        pattern: Option<&str>,
        wanted: &(dyn Fn(&RelPath) -> bool + Sync),
        look: &(dyn Fn(RelPath, Vec<u8>) + Sync),
    ) {
        // Patterns may span lines, so that the plan must not count on ends of lines.
        let plan = pattern.map_or(TrigramPlan::All, |pattern| TrigramPlan::of(pattern, true, true));
        self.look_at(start, &plan, &|found| {
            let path = found.path();
            if !wanted(&path) {
                return;
            }
            let Ok(mut file) = found.open() else { return };
            match file.read_all(self.scope.max_file_bytes) {
                Ok(bytes) => look(path, bytes),
                Err(workspace::Error::TooLarge { .. }) => {
                    self.too_large.lock().unwrap_or_else(PoisonError::into_inner).push(path);
                }
                // A file that cannot be read is skipped, as in every search.
                Err(_) => {}
            }
        });
    }

    fn is_over(&self) -> bool {
        (self.cancel)() || Instant::now() >= self.scope.deadline
    }
}

impl fmt::Debug for FilesOnDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilesOnDisk").field("scope", &self.scope).finish_non_exhaustive()
    }
}
