//! What a search tells besides its results: what was left out, and how to ask better.

use code_index::{FileFilter, PatternError, SearchScope};
use protocol::ToolError;
use std::time::Instant;
use workspace::{RelPath, WalkReport};

use crate::{ToolContext, Whole};

/// Directories that hold what others wrote or what was built, left out unless the caller names his
/// own exclusions. Ignore files cover most projects; these cover the rest.
const DEFAULT_EXCLUSIONS: &[&str] = &["node_modules", "bower_components", "dist", "__pycache__"];

/// The exclusions of a search: the caller's own, or the usual ones.
pub(crate) fn exclusions(asked: Option<Vec<String>>) -> Vec<String> {
    asked.unwrap_or_else(|| DEFAULT_EXCLUSIONS.iter().map(|name| (*name).to_owned()).collect())
}

/// Where a search looks, from the arguments that all searches share.
pub(crate) struct ScopeArgs {
    pub(crate) path: Option<String>,
    pub(crate) include: Vec<String>,
    pub(crate) exclude: Vec<String>,
    pub(crate) extensions: Vec<String>,
    pub(crate) hidden: bool,
    pub(crate) max_results: Option<Whole<1>>,
    pub(crate) default_results: u64,
}

impl ScopeArgs {
    /// The scope within the limits of `cx`.
    pub(crate) fn scope(self, cx: &ToolContext) -> Result<SearchScope, ToolError> {
        let limits = cx.limits();
        let as_size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let start = match &self.path {
            Some(path) => cx.workspace().resolve(path)?,
            None => RelPath::root(),
        };
        let filter = FileFilter::new(&self.include, &self.exclude, &self.extensions);
        Ok(SearchScope {
            start,
            filter: filter.map_err(|error: PatternError| ToolError::from(error))?,
            hidden: self.hidden,
            max_depth: as_size(limits.walk_depth),
            max_entries: as_size(limits.walk_entries),
            deadline: Instant::now() + limits.search_time(),
            max_results: limits
                .results(self.max_results.map(|asked| asked.0), self.default_results),
            max_file_bytes: limits.grep_file_bytes,
            file_time: limits.file_time(),
        })
    }
}

/// What kept a walk from covering everything.
pub(crate) fn walk_warnings(walk: &WalkReport, scope: &SearchScope) -> Vec<String> {
    let mut warnings = Vec::new();
    if walk.timed_out {
        warnings.push(format!(
            "Time ran out after {}; the results are those found so far. Search in a subdirectory.",
            counted(walk.files, "file", "files")
        ));
    }
    if walk.entries_limited {
        warnings.push(format!(
            "Stopped after {} entries. Search in a subdirectory.",
            scope.max_entries
        ));
    }
    if let Some(path) = &walk.depth_limited {
        warnings.push(format!(
            "Did not go deeper than {} levels, for example into {path}. Search there with path.",
            scope.max_depth
        ));
    }
    if let Some(path) = walk.unreadable.first() {
        let count = walk.unreadable.len();
        let directories = counted(count as u64, "directory", "directories");
        warnings.push(format!("{directories} could not be read, for example {path}."));
    }
    warnings
}

/// `3 files are …: a, b, c` with the names cut where there are many.
pub(crate) fn named_files(what: &str, (count, paths): &(u64, Vec<RelPath>)) -> Option<String> {
    let first = paths.first()?;
    let names =
        paths.iter().skip(1).fold(first.to_text(), |names, path| format!("{names}, {path}"));
    let more = if *count > paths.len() as u64 { ", …" } else { "" };
    Some(format!("{what}: {names}{more} ({count} in all)."))
}

/// A number with its noun: `1 file`, `2 files`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
