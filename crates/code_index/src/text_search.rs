//! Text by regular expression, in all files of a scope at once.

mod bounded_reader;
mod line_matcher;
mod lines;
#[cfg(test)]
mod tests;
mod worker;

use std::collections::BTreeSet;

use grep_regex::RegexMatcherBuilder;
use workspace::{Error, RelPath, WalkReport};

use crate::code_base::CodeBase;
use crate::first_by_path::FirstByPath;
use crate::index::TrigramPlan;
use crate::{PatternError, SearchScope};
use line_matcher::LineMatcher;
use worker::TextWorker;

/// Memory that a compiled pattern may take. The engine's time grows with it, so this also bounds
/// how slow a pattern can be.
const PATTERN_BYTES: usize = 4 * 1024 * 1024;
/// How many skipped files are named.
const MAX_NAMED: usize = 20;

/// What to look for and how much to show around it.
#[derive(Debug, Clone, Default)]
pub struct TextQuery {
    /// A regular expression in Rust's syntax.
    pub pattern: String,
    /// Whether case counts.
    pub case_sensitive: bool,
    /// Whether a match may go over the end of a line. A dot still does not unless the pattern says
    /// `(?s)`.
    pub multiline: bool,
    /// What to return.
    pub show: Show,
    /// Lines to show before and after a match.
    pub context: usize,
    /// Characters of a line to show.
    pub max_line_chars: usize,
    /// Return only what comes after this place.
    pub after: Option<TextPosition>,
}

/// What a search returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Show {
    /// The lines that match.
    #[default]
    Lines,
    /// The files with matches, and how many each has.
    Files,
}

/// A place in the order of results: by path, then by line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    /// The file.
    pub path: RelPath,
    pub line: u64,
}

/// A line that matches, or the lines of a match that goes over several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMatch {
    /// The file.
    pub path: RelPath,
    /// The number of the first line, from 1.
    pub line: u64,
    /// The line, or the part of it around the match.
    pub text: String,
    /// Whether the text is only a part of the line.
    pub is_cut: bool,
    /// The lines before it.
    pub before: Vec<String>,
    /// The lines after it.
    pub after: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// The file.
    pub path: RelPath,
    /// Lines of it that match.
    pub count: u64,
}

/// The first results in path order, and what is known of the rest.
#[derive(Debug, Clone, Default)]
pub struct TextMatches {
    /// The matches, by path and line, if lines were asked for.
    pub matches: Vec<TextMatch>,
    /// The files with matches, by path, if files were asked for.
    pub files: Vec<FileMatches>,
    /// Lines that match in all.
    pub total: u64,
    /// Results up to the place after which to begin.
    pub earlier: u64,
    /// Files with at least one match.
    pub files_with_matches: u64,
    /// Files that were searched; others could be left out by an index.
    pub files_searched: u64,
    /// Files above the size limit: how many, and the first of them by path.
    pub too_large: (u64, Vec<RelPath>),
    /// Files that took too long: how many, and the first of them by path.
    pub too_slow: (u64, Vec<RelPath>),
    /// What the walk covered.
    pub walk: WalkReport,
}

/// Searches the files of `scope` for what matches `query`. `cancel` is asked often.
pub fn search_text(
    code: &CodeBase,
    query: &TextQuery,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<Result<TextMatches, Error>, PatternError> {
    let matcher = compile(query)?;
    let plan = TrigramPlan::of(&query.pattern, query.case_sensitive, query.multiline);
    let worker = || TextWorker::new(&matcher, query, scope, cancel);
    let found = code.visit_matching(scope, &plan, cancel, worker);
    Ok(found.map(|(walk, workers)| combine(walk, workers, scope.max_results)))
}

fn compile(query: &TextQuery) -> Result<LineMatcher, PatternError> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(!query.case_sensitive).multi_line(true);
    builder.size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
    if !query.multiline {
        builder.line_terminator(Some(b'\n'));
    }
    let regex = builder.build(&query.pattern);
    let regex = regex.map_err(|error| PatternError::regex(&query.pattern, &error))?;
    Ok(LineMatcher::new(regex, &query.pattern, query.case_sensitive && !query.multiline))
}

fn combine(walk: WalkReport, workers: Vec<TextWorker<'_>>, wanted: usize) -> TextMatches {
    let mut found = TextMatches { walk, ..TextMatches::default() };
    let mut too_large = BTreeSet::new();
    let mut too_slow = BTreeSet::new();
    let mut lines = Vec::new();
    let mut files = Vec::new();
    for worker in workers {
        found.total += worker.total;
        found.earlier += worker.earlier;
        found.files_with_matches += worker.files_with_matches;
        found.files_searched += worker.files_searched;
        too_large.extend(worker.too_large);
        too_slow.extend(worker.too_slow);
        lines.push(worker.lines);
        files.push(worker.files);
    }
    found.matches = FirstByPath::merge(lines, wanted);
    found.files = FirstByPath::merge(files, wanted);
    let named = |paths: BTreeSet<RelPath>| {
        (paths.len() as u64, paths.into_iter().take(MAX_NAMED).collect())
    };
    found.too_large = named(too_large);
    found.too_slow = named(too_slow);
    found
}
