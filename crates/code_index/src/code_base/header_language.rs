//! The language of a project's files, headers included.

use std::time::{Duration, Instant};

use workspace::{EntryKind, Flow, RelPath, Visitor, WalkEntry, WalkOptions, Workspace};

use super::CodeBase;
use crate::language::{BUILD_FILE_BYTES, SourceCount};
use crate::{FileFilter, Language, SearchScope};

/// Entries that are looked at where there is no index to list the files.
const MAX_ENTRIES: usize = 20_000;
/// The time that may take.
const MAX_TIME: Duration = Duration::from_millis(500);

impl CodeBase {
    /// The language of a file with this text, if its grammar is built in. A header that could be C or
    /// C++ is what the sources of the project are; that is found out when the first such header is
    /// met, and kept.
    pub fn language_of(&self, path: &RelPath, text: &[u8]) -> Option<Language> {
        Language::in_project(path, text, || self.header_language())
            .filter(|language| language.grammar().is_some())
    }

    /// What headers are that do not say it themselves.
    pub(crate) fn header_language(&self) -> Language {
        *self.headers.get_or_init(|| project_headers(&self.count_sources(), &self.workspace))
    }

    fn count_sources(&self) -> SourceCount {
        let mut count = SourceCount::default();
        let mut add = |path: &[u8]| if count.add(path) { Flow::Stop } else { Flow::Continue };
        if self.list(&self.everything(), &mut add).is_some() {
            return count;
        }
        let options = WalkOptions {
            max_entries: MAX_ENTRIES,
            deadline: Some(Instant::now() + MAX_TIME),
            // In one thread, entries come in a fixed order.
            threads: 1,
            ..WalkOptions::default()
        };
        // A project that cannot be walked has no headers to ask about.
        let walked = self.workspace.walk(&options, &|| false, SourceCount::default);
        walked.ok().and_then(|(_, counts)| counts.into_iter().next()).unwrap_or_default()
    }

    fn everything(&self) -> SearchScope {
        let walk = WalkOptions::default();
        SearchScope {
            start: RelPath::root(),
            filter: FileFilter::default(),
            hidden: false,
            max_depth: self.indexed_depth().unwrap_or(walk.max_depth),
            max_entries: walk.max_entries,
            deadline: Instant::now() + MAX_TIME,
            max_results: 0,
            max_file_bytes: 0,
            file_time: MAX_TIME,
        }
    }
}

impl Visitor for SourceCount {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        let is_enough = entry.kind() == EntryKind::File && self.add(entry.path().as_bytes());
        if is_enough { Flow::Stop } else { Flow::Continue }
    }
}

/// What `count` or, without sources, the build files at the root of the project say.
pub(crate) fn project_headers(count: &SourceCount, workspace: &Workspace) -> Language {
    count.language(|path| workspace.open_file(path).ok()?.read_all(BUILD_FILE_BYTES).ok())
}
