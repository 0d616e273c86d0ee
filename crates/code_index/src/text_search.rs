//! Text by regular expression, in all files of a scope at once.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::time::Instant;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish,
    SinkMatch,
};
use workspace::{Entry, EntryKind, Error, Flow, OpenFile, RelPath, Visitor, WalkReport, Workspace};

use crate::excerpt::excerpt;
use crate::first_by_path::FirstByPath;
use crate::{PatternError, SearchScope};

/// Memory that a compiled pattern may take. The engine's time grows with it, so this also bounds
/// how slow a pattern can be.
const PATTERN_BYTES: usize = 4 * 1024 * 1024;
/// How many skipped files are named.
const MAX_NAMED: usize = 20;

/// What to look for and how much to show around it.
#[derive(Debug, Clone)]
pub struct TextQuery {
    /// A regular expression in Rust's syntax, matched line by line.
    pub pattern: String,
    /// Whether case counts.
    pub case_sensitive: bool,
    /// Lines to show before and after a match.
    pub context: usize,
    /// Characters of a line to show.
    pub max_line_chars: usize,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMatch {
    /// The file.
    pub path: RelPath,
    /// The number of the line, from 1.
    pub line: u64,
    /// The line, or the part of it around the match.
    pub text: String,
    /// The lines before it.
    pub before: Vec<String>,
    /// The lines after it.
    pub after: Vec<String>,
}

/// The first matches in path order, and what is known of the rest.
#[derive(Debug, Clone, Default)]
pub struct TextMatches {
    /// The matches, by path and line.
    pub matches: Vec<TextMatch>,
    /// Lines that match in all.
    pub total: u64,
    /// Files with at least one match.
    pub files_with_matches: u64,
    /// Files that were searched.
    pub files_searched: u64,
    /// Files above the size limit: how many, and the first of them by path.
    pub too_large: (u64, Vec<RelPath>),
    /// Files that took too long: how many, and the first of them by path.
    pub too_slow: (u64, Vec<RelPath>),
    /// What the walk covered.
    pub walk: WalkReport,
}

/// Searches the files of `scope` for lines that match `query`. `cancel` is asked often.
pub fn search_text(
    workspace: &Workspace,
    query: &TextQuery,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<Result<TextMatches, Error>, PatternError> {
    let matcher = compile(query)?;
    let worker = || Worker::new(&matcher, query, scope, cancel);
    let found = match workspace.walk(&scope.walk_options(), cancel, worker) {
        Ok((walk, workers)) => Ok((walk, workers)),
        // The start is a single file: it is searched as it was named, whatever the filter says.
        Err(Error::NotADirectory { kind: EntryKind::File, .. }) => {
            workspace.open_file(&scope.start).map(|file| {
                let mut only = worker();
                only.search(file);
                (WalkReport::default(), vec![only])
            })
        }
        Err(error) => Err(error),
    };
    Ok(found.map(|(walk, workers)| combine(walk, workers, scope.max_results)))
}

fn compile(query: &TextQuery) -> Result<RegexMatcher, PatternError> {
    RegexMatcherBuilder::new()
        .case_insensitive(!query.case_sensitive)
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .build(&query.pattern)
        .map_err(|error| PatternError::Regex {
            pattern: query.pattern.clone(),
            reason: error.to_string(),
        })
}

fn combine(walk: WalkReport, workers: Vec<Worker<'_>>, wanted: usize) -> TextMatches {
    let mut found = TextMatches { walk, ..TextMatches::default() };
    let mut too_large = BTreeSet::new();
    let mut too_slow = BTreeSet::new();
    let mut parts = Vec::new();
    for worker in workers {
        found.total += worker.total;
        found.files_with_matches += worker.files_with_matches;
        found.files_searched += worker.files_searched;
        too_large.extend(worker.too_large);
        too_slow.extend(worker.too_slow);
        parts.push(worker.first);
    }
    found.matches = FirstByPath::merge(parts, wanted);
    let named = |paths: BTreeSet<RelPath>| {
        (paths.len() as u64, paths.into_iter().take(MAX_NAMED).collect())
    };
    found.too_large = named(too_large);
    found.too_slow = named(too_slow);
    found
}

/// One thread's share of a search.
struct Worker<'a> {
    matcher: &'a RegexMatcher,
    query: &'a TextQuery,
    scope: &'a SearchScope,
    cancel: &'a (dyn Fn() -> bool + Sync),
    /// Gives lines with numbers and context.
    showing: Searcher,
    /// Only counts, for files whose matches can no longer be among the first.
    counting: Searcher,
    first: FirstByPath<TextMatch>,
    total: u64,
    files_with_matches: u64,
    files_searched: u64,
    too_large: Vec<RelPath>,
    too_slow: Vec<RelPath>,
}

impl<'a> Worker<'a> {
    fn new(
        matcher: &'a RegexMatcher,
        query: &'a TextQuery,
        scope: &'a SearchScope,
        cancel: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        let mut builder = SearcherBuilder::new();
        builder.binary_detection(BinaryDetection::quit(0)).line_number(false);
        let counting = builder.build();
        builder.line_number(true).before_context(query.context).after_context(query.context);
        Self {
            matcher,
            query,
            scope,
            cancel,
            showing: builder.build(),
            counting,
            first: FirstByPath::new(scope.max_results),
            total: 0,
            files_with_matches: 0,
            files_searched: 0,
            too_large: Vec::new(),
            too_slow: Vec::new(),
        }
    }

    fn search(&mut self, file: OpenFile) {
        let path = file.path().clone();
        if file.meta.size > self.scope.max_file_bytes {
            self.too_large.push(path);
            return;
        }
        let room = self.first.room_for(&path);
        let mut sink = Lines {
            query: self.query,
            matcher: self.matcher,
            path: &path,
            room,
            matches: Vec::new(),
            before: Vec::new(),
            total: 0,
            binary: false,
        };
        let searcher = if room > 0 { &mut self.showing } else { &mut self.counting };
        let reader = BoundedReader {
            file: &file.file,
            deadline: (Instant::now() + self.scope.file_time).min(self.scope.deadline),
            left: self.scope.max_file_bytes,
            cancel: self.cancel,
        };
        self.files_searched += 1;
        match searcher.search_reader(self.matcher, reader, &mut sink) {
            Ok(()) => {
                let Lines { matches, total, binary, .. } = sink;
                if !binary && total > 0 {
                    self.total += total;
                    self.files_with_matches += 1;
                    self.first.add(path, matches);
                }
            }
            // Past the deadline of the whole search the file is not to blame.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                if Instant::now() < self.scope.deadline {
                    self.too_slow.push(path);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => self.too_large.push(path),
            // A file that cannot be read is skipped, as a search always did.
            Err(_) => {}
        }
    }
}

impl Visitor for Worker<'_> {
    fn visit(&mut self, entry: &Entry<'_>) -> Flow {
        if entry.kind() != EntryKind::File {
            return Flow::Continue;
        }
        if self.scope.filter.accepts(&entry.path(), &self.scope.start)
            && let Ok(file) = entry.open()
        {
            self.search(file);
        }
        Flow::Continue
    }
}

/// Reads a file until it is too long, too late or cancelled. The search engine asks for the next
/// piece every few thousand lines, so that a slow pattern is stopped between two of them.
struct BoundedReader<'a> {
    file: &'a std::fs::File,
    deadline: Instant,
    left: u64,
    cancel: &'a (dyn Fn() -> bool + Sync),
}

impl Read for BoundedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.cancel)() {
            return Err(io::Error::other("cancelled"));
        }
        if Instant::now() >= self.deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let count = self.file.read(buffer)?;
        self.left = match self.left.checked_sub(count as u64) {
            Some(left) => left,
            None => return Err(io::ErrorKind::FileTooLarge.into()),
        };
        Ok(count)
    }
}

/// Gathers the matching lines of one file.
struct Lines<'a> {
    query: &'a TextQuery,
    matcher: &'a RegexMatcher,
    path: &'a RelPath,
    /// How many matches to keep; the rest is counted.
    room: usize,
    matches: Vec<TextMatch>,
    before: Vec<String>,
    total: u64,
    binary: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.total += 1;
        if self.matches.len() < self.room {
            let line = found.bytes();
            let focus = self.matcher.find(line).ok().flatten().map_or(0, |at| at.start());
            self.matches.push(TextMatch {
                path: self.path.clone(),
                line: found.line_number().unwrap_or(0),
                text: excerpt(line, focus, self.query.max_line_chars),
                before: std::mem::take(&mut self.before),
                after: Vec::new(),
            });
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let text = || excerpt(context.bytes(), 0, self.query.max_line_chars);
        match context.kind() {
            SinkContextKind::Before if self.matches.len() < self.room => self.before.push(text()),
            // Lines after the last match that is kept, not after one that is only counted.
            SinkContextKind::After if self.total as usize == self.matches.len() => {
                let text = text();
                if let Some(last) = self.matches.last_mut() {
                    last.after.push(text);
                }
            }
            _ => {}
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.before.clear();
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
