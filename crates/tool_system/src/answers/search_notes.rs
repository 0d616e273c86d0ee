//! What a search tells besides its results: what was left out, and how to ask better.

use std::fmt;
use std::time::Instant;

use code_index::{FileFilter, PatternError, SearchScope};
use protocol::{ErrorCode, ToolError};
use workspace::{RelPath, WalkReport};

use crate::{ToolContext, Whole};

/// Directories that hold what others wrote or what was built, left out unless the caller names his
/// own exclusions. Ignore files cover most projects; these cover the rest.
const DEFAULT_EXCLUSIONS: &[&str] = &["node_modules", "bower_components", "dist", "__pycache__"];

/// The exclusions of a search: the caller's own, or the usual ones.
pub(crate) fn exclusions(asked: Option<Vec<String>>) -> Vec<String> {
    asked.unwrap_or_else(|| DEFAULT_EXCLUSIONS.iter().map(|name| (*name).to_owned()).collect())
}

/// The patterns of a list that is written with commas, as in `*.ts,*.tsx,!*.d.ts`. A comma within
/// braces or brackets belongs to its pattern.
pub(crate) fn patterns(list: &str) -> Vec<String> {
    let mut patterns = Vec::new();
    let mut start = 0;
    let mut depth = 0_i64;
    for (at, character) in list.char_indices() {
        match character {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth <= 0 => {
                patterns.push(list[start..at].trim().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    patterns.push(list[start..].trim().to_owned());
    if patterns.len() > 1 {
        patterns.retain(|pattern| !pattern.is_empty());
    }
    patterns
}

/// Where the next page of a search begins: after this file, and after this line or time in the
/// order of the results. It holds no state, so that a page is right whatever has changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) number: Option<u64>,
    pub(crate) path: RelPath,
}

impl Cursor {
    /// Reads what `Display` writes.
    pub(crate) fn parse(text: &str) -> Result<Cursor, ToolError> {
        let parsed = text.split_once(':').and_then(|(number, path)| {
            let number = if number.is_empty() { None } else { Some(number.parse().ok()?) };
            Some(Cursor { number, path: RelPath::parse(path).ok()? })
        });
        parsed.ok_or_else(|| Cursor::refused(text))
    }

    /// The error for a cursor that this search has never given.
    pub(crate) fn refused(text: &str) -> ToolError {
        let message = format!("`{text}` is not a cursor of this search");
        ToolError::new(ErrorCode::InvalidArguments, message)
            .suggest("Use next_cursor of an earlier result, or leave cursor out to begin anew.")
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.number {
            write!(f, "{number}")?;
        }
        write!(f, ":{}", self.path)
    }
}

/// The part of all results that a page shows.
pub(crate) struct Page {
    pub(crate) total: u64,
    /// Results on the pages before.
    pub(crate) earlier: u64,
    pub(crate) shown: u64,
}

impl Page {
    /// Results on the pages that follow.
    pub(crate) fn later(&self) -> u64 {
        self.total.saturating_sub(self.earlier).saturating_sub(self.shown)
    }

    /// `, showing the first 50, …and 150 more. Refine the pattern` with the ways that `refine`
    /// names; nothing but a full stop if everything is shown.
    pub(crate) fn sentence(&self, refine: &str) -> String {
        let Page { earlier, shown, .. } = *self;
        let last = earlier + shown;
        let later = self.later();
        match (earlier, later) {
            (0, 0) => ".".into(),
            _ if shown == 0 => ", none after this cursor.".into(),
            (_, 0) => format!(", showing {} to {last}, the last.", earlier + 1),
            (0, _) => format!(", showing the first {shown}, …and {later} more. {refine}"),
            (_, _) => format!(", showing {} to {last}, …and {later} more. {refine}", earlier + 1),
        }
    }
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
    pub(crate) paging: Paging,
}

/// How a caller gets the results that are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paging {
    Cursor,
    /// Only by asking for more at once.
    None,
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
        let asked = self.max_results.map(|asked| asked.0);
        let filter = FileFilter::new(&self.include, &self.exclude, &self.extensions);
        Ok(SearchScope {
            start,
            filter: filter.map_err(|error: PatternError| ToolError::from(error))?,
            hidden: self.hidden,
            max_depth: as_size(limits.walk_depth),
            max_entries: as_size(limits.walk_entries),
            deadline: Instant::now() + limits.search_time(),
            max_results: match self.paging {
                Paging::Cursor => limits.results(asked, self.default_results),
                Paging::None => limits.unpaged_results(asked, self.default_results),
            },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_patterns_is_split_at_its_own_commas() {
        let table: [(&str, &[&str]); 6] = [
            ("*.rs", &["*.rs"]),
            ("*.ts, *.tsx,!*.d.ts", &["*.ts", "*.tsx", "!*.d.ts"]),
            ("*.{js,ts},[a,b]*", &["*.{js,ts}", "[a,b]*"]),
            ("*.ts,", &["*.ts"]),
            ("", &[""]),
            ("a},b", &["a}", "b"]),
        ];
        for (list, expected) in table {
            assert_eq!(patterns(list), expected, "{list}");
        }
    }

    #[test]
    fn a_cursor_is_read_as_it_is_written_and_anything_else_is_refused() {
        for text in ["12:src/main.rs", ":a b.txt", "0:odd:name"] {
            assert_eq!(Cursor::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "x", "x:y", "-1:y", "1:", "1:../up", "99999999999999999999999:a"] {
            let error = Cursor::parse(text).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArguments, "{text}");
        }
    }

    #[test]
    fn a_page_says_where_it_stands() {
        let page = |total, earlier, shown| Page { total, earlier, shown }.sentence("Refine.");
        assert_eq!(page(3, 0, 3), ".");
        assert_eq!(page(9, 0, 3), ", showing the first 3, …and 6 more. Refine.");
        assert_eq!(page(9, 3, 3), ", showing 4 to 6, …and 3 more. Refine.");
        assert_eq!(page(9, 6, 3), ", showing 7 to 9, the last.");
        assert_eq!(page(9, 9, 0), ", none after this cursor.");
    }
}
