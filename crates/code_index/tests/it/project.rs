//! A throw-away project with a cache beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use code_index::{
    CodeBase, FileFilter, FileQuery, IndexOptions, RankedQuery, SearchScope, TextQuery, find_files,
    search_ranked, search_text,
};
use tempfile::TempDir;
use workspace::{RelPath, Workspace};

pub(crate) struct Project {
    dir: TempDir,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Project {
        let project = Project { dir: TempDir::new().unwrap() };
        fs::create_dir(project.root()).unwrap();
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    /// The project as a process sees it that stays, with an index that is built already.
    pub(crate) fn indexed(&self) -> CodeBase {
        let code = self.open(true);
        code.build_index(&|_, _| {}).unwrap().unwrap();
        code
    }

    pub(crate) fn open(&self, stays: bool) -> CodeBase {
        let workspace = Arc::new(Workspace::open(&self.root()).unwrap());
        CodeBase::with_index(workspace, self.cache(), options(stays))
    }

    pub(crate) fn plain(&self) -> CodeBase {
        CodeBase::new(Arc::new(Workspace::open(&self.root()).unwrap()))
    }
}

pub(crate) fn options(stays: bool) -> IndexOptions {
    IndexOptions {
        min_files: 1,
        max_file_bytes: 1 << 20,
        max_depth: 32,
        max_entries: 1_000_000,
        stays,
    }
}

pub(crate) fn scope(start: &str) -> SearchScope {
    SearchScope {
        start: RelPath::parse(start).unwrap(),
        filter: FileFilter::default(),
        hidden: false,
        max_depth: 32,
        max_entries: 1_000_000,
        deadline: Instant::now() + Duration::from_secs(60),
        max_results: 2000,
        max_file_bytes: 1 << 20,
        file_time: Duration::from_secs(10),
    }
}

/// `path:line` of every match.
pub(crate) fn grep(code: &CodeBase, pattern: &str, start: &str) -> Vec<String> {
    let query = TextQuery {
        pattern: pattern.into(),
        case_sensitive: true,
        max_line_chars: 100,
        ..TextQuery::default()
    };
    let found = search_text(code, &query, &scope(start), &|| false).unwrap().unwrap();
    assert_eq!(found.total as usize, found.matches.len());
    found.matches.iter().map(|found| format!("{}:{}", found.path, found.line)).collect()
}

/// The best files with their lines, and how many there are. Scores are the same, too.
pub(crate) fn ranked(code: &CodeBase, text: &str, start: &str) -> (Vec<String>, u64) {
    let query = RankedQuery {
        text: text.into(),
        snippet_lines: 3,
        max_line_chars: 80,
        ..RankedQuery::default()
    };
    let found = search_ranked(code, &query, &scope(start), &|| false).unwrap();
    (found.files.iter().map(|file| format!("{file:?}")).collect(), found.total)
}

/// The path of every file.
pub(crate) fn files(code: &CodeBase, start: &str) -> Vec<String> {
    let found = find_files(code, &FileQuery::default(), &scope(start), &|| false).unwrap();
    assert_eq!(found.total as usize, found.files.len());
    found.files.iter().map(|file| file.path.to_text()).collect()
}

/// Whether `path` exists.
pub(crate) fn exists(path: &Path) -> bool {
    path.exists()
}
