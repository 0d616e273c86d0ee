//! The project as searches see it: its files, by a walk or narrowed by an index.

mod header_language;
mod listed;

pub(crate) use header_language::project_headers;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use workspace::{
    EntryKind, EntryMeta, Error, Flow, OpenFile, Opener, RelPath, Visitor, WalkEntry, WalkReport,
    Workspace,
};

use crate::index::TrigramPlan;
use crate::live::{Built, IndexOptions, IndexStatus, ListedFiles, LiveIndex, MappedTable};
use crate::lookup::TableReport;
use crate::{Language, SearchScope};

/// The files of a project, ready to be searched.
pub struct CodeBase {
    workspace: Arc<Workspace>,
    index: Option<LiveIndex>,
    /// What headers are that could be C or C++; see `header_language.rs`.
    headers: OnceLock<Language>,
}

impl CodeBase {
    /// A project without an index: every search walks.
    pub fn new(workspace: Arc<Workspace>) -> CodeBase {
        CodeBase { workspace, index: None, headers: OnceLock::new() }
    }

    /// A project with an index in the directory `cache`, which must lie outside of it. Nothing is
    /// opened or made before the first search.
    pub fn with_index(
        workspace: Arc<Workspace>,
        cache: PathBuf,
        options: IndexOptions,
    ) -> CodeBase {
        let index = LiveIndex::new(Arc::clone(&workspace), cache, options);
        CodeBase { workspace, index: Some(index), headers: OnceLock::new() }
    }

    /// The project.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// How the index is; none if the project was opened without.
    pub fn index_status(&self) -> Option<IndexStatus> {
        self.index.as_ref().map(LiveIndex::status)
    }

    /// Builds the index and waits for it. `progress` is told how many files of how many are done.
    /// None if the project was opened without an index.
    pub fn build_index(
        &self,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Option<Result<Built, Error>> {
        self.index.as_ref().map(|index| index.build(progress))
    }

    /// Makes the table of all symbols and waits for it. None if the project was opened without an
    /// index.
    pub fn build_symbols(
        &self,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Option<Result<TableReport, Error>> {
        self.index.as_ref().map(|index| index.build_symbols(progress))
    }

    /// The table of all symbols with the files of which it does not know everything, if it is
    /// there.
    pub(crate) fn symbols(&self, scope: &SearchScope) -> Option<(Arc<MappedTable>, Vec<RelPath>)> {
        self.index.as_ref()?.symbols(scope)
    }

    /// How deep an index covers the project, if there is one to be.
    pub(crate) fn indexed_depth(&self) -> Option<usize> {
        self.index.as_ref().map(LiveIndex::max_depth)
    }

    /// Whether an index is being looked for or made.
    pub(crate) fn index_is_at_work(&self) -> bool {
        self.index.as_ref().is_some_and(LiveIndex::is_at_work)
    }

    /// Finds the index and compares it with the files as they are.
    pub fn check_index(&self) -> Option<IndexStatus> {
        self.index.as_ref().map(LiveIndex::check)
    }

    /// Waits until nothing is done in the background any more.
    pub fn wait_for_index(&self) {
        if let Some(index) = &self.index {
            index.wait_until_idle();
        }
    }

    /// Shows the paths of all files that `scope` covers and its filter accepts, in path order,
    /// until told to stop, and reports as a walk does; none if only a walk can tell.
    pub(crate) fn list(
        &self,
        scope: &SearchScope,
        visit: &mut dyn FnMut(&[u8]) -> Flow,
    ) -> Option<WalkReport> {
        self.index.as_ref()?.list(scope, visit)
    }

    /// Shows the paths of all files that `scope` covers and its filter accepts, each with those of
    /// `plans`, one bit each, that it can match, or with nothing where nothing is known of its text;
    /// none if only reading can tell.
    pub(crate) fn list_with_plans(
        &self,
        plans: &[TrigramPlan],
        scope: &SearchScope,
        visit: &mut dyn FnMut(&[u8], Option<u32>),
    ) -> Option<WalkReport> {
        self.index.as_ref()?.list_with_plans(plans, scope, visit)
    }

    /// Visits files whose paths are known, as [`CodeBase::visit_matching`] does.
    pub(crate) fn visit_listed<V: FileVisitor>(
        &self,
        listed: ListedFiles,
        scope: &SearchScope,
        cancel: &(dyn Fn() -> bool + Sync),
        visitor: impl FnMut() -> V,
    ) -> (WalkReport, Vec<V>) {
        listed::visit(&self.workspace, listed, scope, cancel, visitor)
    }

    /// Whether there is any file that `scope` covers and its filter accepts.
    pub fn has_files(
        &self,
        scope: &SearchScope,
        cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<bool, Error> {
        let mut any = false;
        let mut first = |_: &[u8]| {
            any = true;
            Flow::Stop
        };
        if self.list(scope, &mut first).is_some() {
            return Ok(any);
        }
        let (_, threads) = self.visit(scope, cancel, || FirstOnly(false))?;
        Ok(threads.iter().any(|FirstOnly(found)| *found))
    }

    /// Visits all files that `scope` covers and its filter accepts: see
    /// [`CodeBase::visit_matching`].
    pub(crate) fn visit<V: FileVisitor>(
        &self,
        scope: &SearchScope,
        cancel: &(dyn Fn() -> bool + Sync),
        visitor: impl FnMut() -> V,
    ) -> Result<(WalkReport, Vec<V>), Error> {
        self.visit_matching(scope, &TrigramPlan::All, cancel, visitor)
    }

    /// Visits the files that `scope` covers and its filter accepts, as far as they can match
    /// `plan`, on several threads. `visitor` makes one visitor per thread; they are given back with
    /// what they gathered. If the scope starts at a single file, that file is visited whatever the
    /// filter says. `cancel` is asked often.
    pub(crate) fn visit_matching<V: FileVisitor>(
        &self,
        scope: &SearchScope,
        plan: &TrigramPlan,
        cancel: &(dyn Fn() -> bool + Sync),
        mut visitor: impl FnMut() -> V,
    ) -> Result<(WalkReport, Vec<V>), Error> {
        if let Some(listed) = self.index.as_ref().and_then(|index| index.narrow(plan, scope)) {
            return Ok(listed::visit(&self.workspace, listed, scope, cancel, visitor));
        }
        let walked = self
            .workspace
            .walk(&scope.walk_options(), cancel, || Walking { scope, visitor: visitor() });
        match walked {
            Ok((report, walking)) => {
                if let Some(index) = &self.index {
                    index.walked(&report, &scope.start);
                }
                Ok((report, walking.into_iter().map(|thread| thread.visitor).collect()))
            }
            Err(Error::NotADirectory { kind: EntryKind::File, .. }) => {
                let mut only = visitor();
                only.visit(&FoundFile::Named { workspace: &self.workspace, path: &scope.start });
                Ok((WalkReport::default(), vec![only]))
            }
            Err(error) => Err(error),
        }
    }
}

impl From<Arc<Workspace>> for CodeBase {
    fn from(workspace: Arc<Workspace>) -> CodeBase {
        CodeBase::new(workspace)
    }
}

impl fmt::Debug for CodeBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeBase").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// Looks at the files of a search. Each thread has its own.
pub(crate) trait FileVisitor: Send {
    /// Looks at one file.
    fn visit(&mut self, file: &FoundFile<'_>) -> Flow;
}

/// A file that a search has come to.
pub(crate) enum FoundFile<'a> {
    /// Met on a walk.
    Met(&'a WalkEntry<'a>),
    Listed {
        opener: &'a Opener<'a>,
        path: &'a RelPath,
    },
    /// Named by the caller, perhaps through a link.
    Named {
        workspace: &'a Workspace,
        path: &'a RelPath,
    },
}

impl FoundFile<'_> {
    pub(crate) fn path(&self) -> RelPath {
        match self {
            FoundFile::Met(entry) => entry.path(),
            FoundFile::Listed { path, .. } | FoundFile::Named { path, .. } => (*path).clone(),
        }
    }

    /// What the system knows about it at this moment.
    pub(crate) fn meta(&self) -> Result<EntryMeta, Error> {
        match self {
            FoundFile::Met(entry) => entry.meta(),
            FoundFile::Listed { opener, path } => opener.workspace().metadata(path),
            FoundFile::Named { workspace, path } => workspace.metadata(path),
        }
    }

    /// Opens it for reading.
    pub(crate) fn open(&self) -> Result<OpenFile, Error> {
        match self {
            FoundFile::Met(entry) => entry.open(),
            FoundFile::Listed { opener, path } => opener.open(path),
            FoundFile::Named { workspace, path } => workspace.open_file(path),
        }
    }
}

/// Stops at the first file.
struct FirstOnly(bool);

impl FileVisitor for FirstOnly {
    fn visit(&mut self, _: &FoundFile<'_>) -> Flow {
        self.0 = true;
        Flow::Stop
    }
}

struct Walking<'a, V> {
    scope: &'a SearchScope,
    visitor: V,
}

impl<V: FileVisitor> Visitor for Walking<'_, V> {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        let is_wanted = entry.kind() == EntryKind::File
            && self.scope.filter.accepts(&entry.path(), &self.scope.start);
        if is_wanted { self.visitor.visit(&FoundFile::Met(entry)) } else { Flow::Continue }
    }
}
