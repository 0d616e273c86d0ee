//! Ranked search for words and identifiers.
//!
//! Files are looked at once, or those that an index finds most promising. From each, a few numbers
//! are kept; when all have been seen, it is known how rare each term is, and the files can be put in
//! order. The best are then read again for the lines to show. `docs/ranking.md` says what counts.

mod blocks;
mod definition;
mod enclosing;
mod in_path;
mod nominees;
#[cfg(test)]
mod quality;
mod question;
mod scan;
mod score;
mod snippet;
mod standing;
mod starts;
mod synonyms;
mod tokens;
mod weights;
mod words;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::Instant;

use workspace::{Error, Flow, OpenFile, RelPath, Text, WalkReport};

use crate::SearchScope;
use crate::code_base::{CodeBase, FileVisitor, FoundFile};
use crate::live::ListedFiles;
pub use enclosing::Enclosing;
use in_path::InPath;
use nominees::Nominees;
use question::{AsksFor, Question};
use scan::{Findings, Scanner};
use score::{AllFiles, FileFindings, Scoring};
pub use snippet::Snippet;
use snippet::snippet;
use standing::Standing;
pub use weights::RankingWeights;

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
    /// What counts how much.
    pub weights: RankingWeights,
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
    /// Whether these are the files that can have it: in a large project, only the most promising
    /// files are read.
    pub total_is_upper_bound: bool,
    /// Files that there are.
    pub files_searched: u64,
    /// Words of the query that are beyond what is looked for.
    pub words_left_out: usize,
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
    let question = Question::new(&query.text, query.natural, &query.weights);
    let Some(scanner) = Scanner::new(&question) else { return Ok(RankedFiles::default()) };
    let worker = || RankingWorker {
        scanner: &scanner,
        scope,
        asks_for: &question.asks_for,
        files: Vec::new(),
        visited: 0,
        too_large: BTreeSet::new(),
        timed_out: false,
    };
    let mut nominated = nominees(code, &scanner, scope);
    let (mut walk, workers) = match &mut nominated {
        Some((nominees, report)) => {
            let weights: Vec<f32> = scanner.terms.iter().map(|term| term.weight).collect();
            let factor = |path: &RelPath| {
                Standing::by_path(path.as_bytes(), &question.asks_for).factor(&query.weights)
            };
            let read = |files: Vec<RelPath>| {
                let listed = ListedFiles { files, report: report.clone() };
                code.visit_listed(listed, scope, cancel, worker)
            };
            let (mut walk, mut workers) = read(nominees.take_unknown());
            nominees.know(found_by(&workers));
            while !walk.cancelled && !walk.timed_out {
                let (more_walk, more) = read(nominees.take_most_promising(&weights, factor));
                walk = more_walk;
                workers.extend(more);
                if answers(&workers) >= scope.max_results {
                    break;
                }
                if !nominees.has_unread() && !nominate_last(nominees, code, &scanner, scope) {
                    break;
                }
            }
            (walk, workers)
        }
        None => code.visit(scope, cancel, worker)?,
    };
    let mut files: Vec<FileFindings> = Vec::new();
    let mut too_large = BTreeSet::new();
    let mut visited = 0;
    for worker in workers {
        visited += worker.visited;
        walk.timed_out |= worker.timed_out;
        too_large.extend(worker.too_large);
        files.extend(worker.files);
    }
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    // A file that changed meanwhile may have been listed twice.
    files.dedup_by(|a, b| a.path == b.path);
    let all = walk.files.max(visited);
    // Where not every file was read, those that may answer are counted.
    let nominees = nominated.as_ref().map(|(nominees, _)| nominees);
    let unread = nominees.filter(|nominees| !nominees.is_exhausted());
    let total = unread.map_or(files.len(), Nominees::count) as u64;
    let total_is_upper_bound = unread.is_some();
    let known = nominees.map(|nominees| nominees.all_files(&files));
    let known = known.unwrap_or_else(|| AllFiles::counted(scanner.terms.len(), &files));
    let words_left_out = question.left_out;
    let mut ranked = RankedFiles {
        files_searched: all,
        total,
        total_is_upper_bound,
        words_left_out,
        walk,
        ..RankedFiles::default()
    };
    ranked.too_large = (too_large.len() as u64, too_large.into_iter().take(MAX_NAMED).collect());
    let scoring = Scoring::new(query.weights, &scanner.terms, all, &known);
    for (score, path) in best_files(&scoring, files, scope.max_results) {
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
        let snippet = snippet(&scanner, &scoring.rarity, &text, lines, query.max_line_chars);
        ranked.files.push(RankedFile { path, score, snippet });
    }
    Ok(ranked)
}

/// The files that may answer, by an index. None if there is none, or if it tells nothing because all
/// terms are too short for it.
fn nominees(
    code: &CodeBase,
    scanner: &Scanner,
    scope: &SearchScope,
) -> Option<(Nominees, WalkReport)> {
    let plans = scanner.plans();
    let tells = |term: &usize| !plans[*term].is_all();
    let telling = (0..plans.len()).filter(tells).fold(0, |set, term| set | 1 << term);
    if telling == 0 {
        return None;
    }
    let mut nominees = Nominees::new(scanner.terms.len(), telling);
    let report = code.list_with_plans(&plans, scope, &mut |path, terms| {
        nominees.add(terms, name_terms(scanner, path), || RelPath::from_bytes(path).ok());
    })?;
    Some((nominees, report))
}

/// Adds the files that can have nothing but terms of which an index knows nothing; false if there are none
/// or the index no longer says.
fn nominate_last(
    nominees: &mut Nominees,
    code: &CodeBase,
    scanner: &Scanner,
    scope: &SearchScope,
) -> bool {
    if !nominees.has_last_resort() {
        return false;
    }
    let listed = code.list_with_plans(&scanner.plans(), scope, &mut |path, terms| {
        let path_of = || RelPath::from_bytes(path).ok();
        nominees.add_last_resort(terms, name_terms(scanner, path), path_of);
    });
    if listed.is_some() {
        nominees.end_last_resort();
    }
    nominees.has_unread()
}

/// The terms in the name of the file at `path`, one bit each.
fn name_terms(scanner: &Scanner, path: &[u8]) -> u32 {
    let mut is_named = false;
    scanner.each_hit(path, |_| is_named = true);
    if is_named { InPath::new(scanner, path).name_terms() } else { 0 }
}

fn found_by<'a>(workers: &'a [RankingWorker]) -> impl Iterator<Item = &'a FileFindings> {
    workers.iter().flat_map(|worker| &worker.files)
}

/// How many files have any of the terms as a word.
fn answers(workers: &[RankingWorker]) -> usize {
    let has_any = |file: &&FileFindings| (0..file.body.hits.len()).any(|term| file.has(term));
    found_by(workers).filter(has_any).count()
}

/// The best of the files with their scores; equals in path order.
fn best_files(scoring: &Scoring, files: Vec<FileFindings>, wanted: usize) -> Vec<(f32, RelPath)> {
    let score = |file: FileFindings| (scoring.score(&file), file.path);
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
    asks_for: &'a AsksFor,
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
        let in_path = InPath::new(self.scanner, path.as_bytes());
        let body = match self.scanner.scan(&text) {
            Some(body) => body,
            None if in_path.name_terms() != 0 => Findings::nothing(self.scanner.terms.len()),
            None => return,
        };
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let standing = Standing::of(path.as_bytes(), &text, self.asks_for);
        self.files.push(FileFindings { path, length, standing, body, in_path });
    }
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

/// The text of a file; `None` if it is too large, binary or unreadable.
fn text_of(mut file: OpenFile, max_bytes: u64) -> Option<Vec<u8>> {
    let bytes = file.read_all(max_bytes).ok()?;
    if UTF16_MARKS.iter().any(|mark| bytes.starts_with(mark)) {
        return Some(Text::decode(&bytes).body().to_vec());
    }
    memchr::memchr(0, &bytes).is_none().then_some(bytes)
}
