//! Ranked search for words and identifiers.
//!
//! Files are looked at once. From each, a few numbers are kept; when all have been seen, it is known
//! how rare each term is, and the files can be put in order. The best are then read again for the
//! lines to show.

mod definition;
#[cfg(test)]
mod quality;
mod question;
mod scan;
mod score;
mod snippet;
mod standing;
mod synonyms;
mod words;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::Instant;

use workspace::{Error, Flow, OpenFile, RelPath, Text, WalkReport};

use crate::SearchScope;
use crate::code_base::{CodeBase, FileVisitor, FoundFile};
use question::Question;
use scan::{CLEAR, Findings, Scanner};
use score::{FileFindings, Weights};
pub use snippet::Snippet;
use snippet::snippet;
use standing::standing;

/// How many skipped files are named.
const MAX_NAMED: usize = 20;
/// How files begin that are in UTF-16.
const UTF16_MARKS: [&[u8]; 2] = [b"\xFF\xFE", b"\xFE\xFF"];

/// What to look for.
#[derive(Debug, Clone, Default)]
pub struct RankedQuery {
    /// Words or identifiers.
    pub text: String,
    /// Whether these are everyday words, so that other words for the same thing count, too.
    pub natural: bool,
    /// Lines to show of each file.
    pub snippet_lines: usize,
    /// Characters of a line to show.
    pub max_line_chars: usize,
}

/// A file that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedFile {
    /// The file.
    pub path: RelPath,
    /// How well it answers, compared to others of the same search.
    pub score: f32,
    /// Its best lines.
    pub snippet: Snippet,
}

/// The best files, and what is known of the rest.
#[derive(Debug, Clone, Default)]
pub struct RankedFiles {
    /// The files, best first.
    pub files: Vec<RankedFile>,
    /// Files that have anything of what was asked for.
    pub total: u64,
    /// Files that there are.
    pub files_searched: u64,
    /// Files above the size limit: how many, and the first of them by path.
    pub too_large: (u64, Vec<RelPath>),
    /// What the walk covered.
    pub walk: WalkReport,
}

/// Searches the files of `scope` for `query`, best first. `cancel` is asked often.
pub fn search_ranked(
    code: &CodeBase,
    query: &RankedQuery,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<RankedFiles, Error> {
    let question = Question::new(&query.text, query.natural);
    let Some(scanner) = Scanner::new(&question) else { return Ok(RankedFiles::default()) };
    let worker = || RankingWorker {
        scanner: &scanner,
        scope,
        about_tests: question.about_tests,
        files: Vec::new(),
        visited: 0,
        too_large: BTreeSet::new(),
        timed_out: false,
    };
    let plan = scanner.plan();
    let (mut walk, mut workers) = code.visit_matching(scope, &plan, cancel, worker)?;
    let visited: u64 = workers.iter().map(|worker| worker.visited).sum();
    if !plan.is_all() && visited < walk.files {
        // An index may have left out files that have nothing of the query but in their names.
        let seen: BTreeSet<RelPath> =
            workers.iter().flat_map(|worker| &worker.files).map(|file| file.path.clone()).collect();
        let by_name = || ByName { seen: &seen, worker: worker() };
        let (_, named) = code.visit(scope, cancel, by_name)?;
        workers.extend(named.into_iter().map(|by_name| by_name.worker));
    }
    let mut ranked = RankedFiles { files_searched: walk.files.max(visited), ..Default::default() };
    let mut files: Vec<FileFindings> = Vec::new();
    let mut too_large = BTreeSet::new();
    for worker in workers {
        walk.timed_out |= worker.timed_out;
        too_large.extend(worker.too_large);
        files.extend(worker.files);
    }
    ranked.walk = walk;
    ranked.total = files.len() as u64;
    ranked.too_large = (too_large.len() as u64, too_large.into_iter().take(MAX_NAMED).collect());
    let weights = Weights::new(&scanner.terms, &files, ranked.files_searched);
    let best = best_files(&scanner, &weights, files, scope.max_results);
    for (score, path) in best {
        if cancel() {
            ranked.walk.cancelled = true;
            break;
        }
        let again = code.workspace().open_file(&path).ok();
        // A file that was removed since then is left out.
        let Some(text) = again.and_then(|file| text_of(file, scope.max_file_bytes)) else {
            ranked.total -= 1;
            continue;
        };
        let lines = query.snippet_lines;
        let snippet = snippet(&scanner, &weights.rarity, &text, lines, query.max_line_chars);
        ranked.files.push(RankedFile { path, score, snippet });
    }
    Ok(ranked)
}

/// The best of the files with their scores; equals in path order.
fn best_files(
    scanner: &Scanner,
    weights: &Weights,
    files: Vec<FileFindings>,
    wanted: usize,
) -> Vec<(f32, RelPath)> {
    let score = |file: FileFindings| (weights.score(&scanner.terms, &file), file.path);
    let mut scored: Vec<(f32, RelPath)> = files.into_iter().map(score).collect();
    let by_score = |a: &(f32, RelPath), b: &(f32, RelPath)| -> Ordering {
        b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1))
    };
    if wanted < scored.len() && wanted > 0 {
        scored.select_nth_unstable_by(wanted - 1, by_score);
        scored.truncate(wanted);
    }
    scored.sort_by(by_score);
    scored
}

/// One thread's share of a search.
struct RankingWorker<'a> {
    scanner: &'a Scanner,
    scope: &'a SearchScope,
    about_tests: bool,
    files: Vec<FileFindings>,
    visited: u64,
    too_large: BTreeSet<RelPath>,
    timed_out: bool,
}

impl RankingWorker<'_> {
    fn look_at(&mut self, file: OpenFile) {
        let path = file.path().clone();
        if file.meta.size > self.scope.max_file_bytes {
            self.too_large.insert(path);
            return;
        }
        let Some(text) = text_of(file, self.scope.max_file_bytes) else { return };
        let InPath { in_directories, in_name, name_share } = self.in_path(&path);
        let is_in_path = |hits: &[f32]| hits.iter().any(|quality| *quality > 0.0);
        let body = match self.scanner.scan(&text) {
            Some(body) => body,
            None if is_in_path(&in_name) => {
                let none = vec![0.0; self.scanner.terms.len()];
                Findings { hits: none.clone(), definitions: none, ..Findings::default() }
            }
            None => return,
        };
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let standing = standing(&path, &text, self.about_tests);
        let found =
            FileFindings { path, length, standing, body, in_name, in_directories, name_share };
        self.files.push(found);
    }

    fn in_path(&self, path: &RelPath) -> InPath {
        let bytes = path.as_bytes();
        let name = memchr::memrchr(b'/', bytes).map_or(0, |slash| slash + 1);
        // What follows the first dot says what a file is, not what it is about.
        let stem = memchr::memchr(b'.', &bytes[name..]).map_or(bytes.len(), |dot| name + dot);
        let none = vec![0.0; self.scanner.terms.len()];
        let mut found = InPath { in_directories: none.clone(), in_name: none, name_share: 0.0 };
        let mut asked_for = BTreeSet::new();
        for hit in self.scanner.hits(&bytes[..stem]) {
            let is_name = hit.start >= name;
            let field = if is_name { &mut found.in_name } else { &mut found.in_directories };
            field[hit.term] = hit.quality.max(field[hit.term]);
            if is_name && hit.quality >= CLEAR && self.scanner.terms[hit.term].is_needed {
                asked_for.insert(hit.start);
            }
        }
        let parts = words::count_parts(&bytes[name..stem]).max(1);
        found.name_share = asked_for.len().min(parts) as f32 / parts as f32;
        found
    }
}

/// What a path has of the terms.
struct InPath {
    /// Per term, the best quality of its hits in the names of directories.
    in_directories: Vec<f32>,
    /// Per term, the best quality of its hits in the name of the file.
    in_name: Vec<f32>,
    /// The share of the file's name that was asked for.
    name_share: f32,
}

impl FileVisitor for RankingWorker<'_> {
    fn visit(&mut self, file: &FoundFile<'_>) -> Flow {
        if Instant::now() >= self.scope.deadline {
            self.timed_out = true;
            return Flow::Stop;
        }
        self.visited += 1;
        // A file that cannot be opened is skipped, as a search always did.
        if let Ok(file) = file.open() {
            self.look_at(file);
        }
        Flow::Continue
    }
}

/// Looks at files that have something of the query in their names and were not seen before.
struct ByName<'s, 'a> {
    seen: &'s BTreeSet<RelPath>,
    worker: RankingWorker<'a>,
}

impl FileVisitor for ByName<'_, '_> {
    fn visit(&mut self, file: &FoundFile<'_>) -> Flow {
        let path = file.path();
        let is_named = || self.worker.in_path(&path).in_name.iter().any(|quality| *quality > 0.0);
        if self.seen.contains(&path) || !is_named() {
            return Flow::Continue;
        }
        self.worker.visit(file)
    }
}

/// The text of a file; `None` if it is too large, binary or unreadable.
fn text_of(mut file: OpenFile, max_bytes: u64) -> Option<Vec<u8>> {
    let bytes = file.read_all(max_bytes).ok()?;
    if UTF16_MARKS.iter().any(|mark| bytes.starts_with(mark)) {
        return Some(Text::decode(&bytes).body().to_vec());
    }
    memchr::memchr(0, &bytes).is_none().then_some(bytes)
}
