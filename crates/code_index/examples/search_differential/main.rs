//! Asks our search and ripgrep the same questions, with and without an index, while files change.
//!
//! `cargo run -p code_index --example search_differential -- DIRECTORY RIPGREP [ROUNDS]`
//!
//! The directory is made, filled with a corpus, and must not exist before. Each round changes files
//! and asks questions; every answer must name the same lines of the same files.
//!
//! These differences are meant, and the corpus or the options leave them out:
//!
//! - A file with a NUL anywhere within the size limit is binary to us and has no matches. Ripgrep
//!   decides by the part it is just reading, and shows what it found in the parts before. So one
//!   file, `data/late.bin`, must have no match of ours whatever ripgrep says.
//! - Only the ignore files of the project count to us, whether or not it is a git repository:
//!   no `.rgignore`, nothing global and nothing from above the root.
//! - `.git` is never searched, not even with hidden files.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a checking program makes files, starts ripgrep and reports on the terminal"
)]

mod corpus;
mod patterns;
mod random;
mod ripgrep;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use code_index::{CodeBase, FileFilter, IndexOptions, SearchScope, TextQuery, search_text};
use workspace::{RelPath, Workspace};

use crate::corpus::{Corpus, LATE_BINARY, MAX_FILE_BYTES};
use crate::patterns::Question;
use crate::random::Random;
use crate::ripgrep::{Places, Ripgrep};

const SEED: u64 = 20_260_728;
const ROUNDS: usize = 35;
const QUESTIONS_PER_ROUND: usize = 60;
const ROUNDS_WITH_LARGE_FILES: usize = 1;
const THREADS: usize = 4;
/// Differences that are shown.
const MAX_SHOWN: usize = 10;
/// Every so many questions, the first few results are asked for as well.
const PAGE_EVERY: usize = 7;
const PAGE: usize = 5;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let (directory, program, rounds) = match &arguments[..] {
        [directory, program] => (directory, program, Some(ROUNDS)),
        [directory, program, rounds] => {
            (directory, program, rounds.to_str().and_then(|text| text.parse().ok()))
        }
        _ => return usage(),
    };
    let Some(rounds) = rounds else { return usage() };
    let root = directory.join("project");
    if let Err(error) = std::fs::create_dir_all(directory).and_then(|()| std::fs::create_dir(&root))
    {
        eprintln!("cannot make {}: {error}", root.display());
        return ExitCode::from(2);
    }
    let run = Run::new(&root, &directory.join("cache"), program);
    run.all_rounds(rounds)
}

fn usage() -> ExitCode {
    eprintln!("Usage: search_differential DIRECTORY RIPGREP [ROUNDS]");
    ExitCode::from(2)
}

struct Run {
    corpus: Corpus,
    ripgrep: Ripgrep,
    plain: CodeBase,
    indexed: CodeBase,
}

/// What one question showed.
struct Asked {
    question: Question,
    places: usize,
    is_refused: bool,
    differences: Vec<String>,
}

impl Run {
    fn new(root: &Path, cache: &Path, program: &Path) -> Run {
        let corpus = Corpus::make(root, SEED);
        let workspace = Arc::new(Workspace::open(root).expect("the corpus can be opened"));
        let options = IndexOptions {
            min_files: 0,
            max_file_bytes: MAX_FILE_BYTES,
            max_depth: 32,
            max_entries: 100_000,
            stays: true,
        };
        let indexed = CodeBase::with_index(Arc::clone(&workspace), cache.to_owned(), options);
        indexed.build_index(&|_, _| {}).expect("there is an index").expect("it can be built");
        let plain = CodeBase::new(workspace);
        let ripgrep = Ripgrep { program: program.to_owned() };
        Run { corpus, ripgrep, plain, indexed }
    }

    fn all_rounds(mut self, rounds: usize) -> ExitCode {
        let begun = Instant::now();
        let mut random = Random::new(SEED + 1);
        let mut asked = Vec::new();
        for round in 0..rounds {
            if round == ROUNDS_WITH_LARGE_FILES {
                self.corpus.remove_large();
            }
            if round > 0 {
                self.corpus.change();
            }
            let questions: Vec<Question> = (0..QUESTIONS_PER_ROUND)
                .map(|number| Question::generate(&mut random, round * QUESTIONS_PER_ROUND + number))
                .collect();
            asked.extend(self.round(&questions));
        }
        report(&asked, rounds, begun.elapsed())
    }

    /// Asks all questions on several threads.
    fn round(&self, questions: &[Question]) -> Vec<Asked> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut asked = Vec::new();
            while let Some(question) = questions.get(next.fetch_add(1, Ordering::Relaxed)) {
                asked.push(self.ask(question, asked.len() % PAGE_EVERY == 0));
            }
            asked
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
            let asked = threads.into_iter().map(|thread| thread.join().expect("no panic"));
            asked.flatten().collect()
        })
    }

    fn ask(&self, question: &Question, also_a_page: bool) -> Asked {
        let theirs = self.ripgrep.places(&self.corpus.root, question).map(|mut places| {
            places.retain(|(path, _)| path != LATE_BINARY);
            places
        });
        let mut differences = Vec::new();
        for (name, code) in [("without index", &self.plain), ("with index", &self.indexed)] {
            let ours = ours(code, question, usize::MAX);
            if let Some(difference) = difference(&ours, &theirs) {
                differences.push(format!("{name}: {difference}"));
            }
            if also_a_page {
                let first = |places: Places| places.map(|it| first_by_path(it, PAGE));
                let page = ours_first(code, question);
                if page != first(theirs.clone()) {
                    differences.push(format!("{name}: the first {PAGE} are {page:?}"));
                }
            }
        }
        Asked {
            question: question.clone(),
            places: theirs.as_ref().map_or(0, BTreeSet::len),
            is_refused: theirs.is_none(),
            differences,
        }
    }
}

/// Our answer. The number of matches must be what the total says.
fn ours(code: &CodeBase, question: &Question, max_results: usize) -> Places {
    let query = TextQuery {
        pattern: question.pattern.clone(),
        case_sensitive: question.case_sensitive,
        multiline: question.multiline,
        max_line_chars: 80,
        ..TextQuery::default()
    };
    let scope = SearchScope {
        start: RelPath::root(),
        filter: FileFilter::default(),
        hidden: question.hidden,
        max_depth: 32,
        max_entries: 100_000,
        deadline: Instant::now() + Duration::from_secs(120),
        max_results,
        max_file_bytes: MAX_FILE_BYTES,
        file_time: Duration::from_secs(60),
    };
    let found = search_text(code, &query, &scope, &|| false).ok()?;
    let found = found.expect("the corpus can be searched");
    let places: BTreeSet<_> = found.matches.iter().map(|at| (at.path.to_text(), at.line)).collect();
    let wanted = usize::try_from(found.total).unwrap_or(usize::MAX).min(max_results);
    assert_eq!(places.len(), wanted, "{question:?}: the total is wrong");
    Some(places)
}

/// The first few of our answer, in our order.
fn ours_first(code: &CodeBase, question: &Question) -> Option<Vec<(String, u64)>> {
    ours(code, question, PAGE).map(|places| first_by_path(places, PAGE))
}

/// The first places in the order of results: directories before what comes after them by name.
fn first_by_path(places: BTreeSet<(String, u64)>, count: usize) -> Vec<(String, u64)> {
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_cached_key(|(path, line)| {
        (path.split('/').map(str::to_owned).collect::<Vec<_>>(), *line)
    });
    places.truncate(count);
    places
}

fn difference(ours: &Places, theirs: &Places) -> Option<String> {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if ours == theirs => None,
        (None, None) => None,
        (Some(ours), Some(theirs)) => {
            let some = |places: BTreeSet<_>| places.into_iter().take(3).collect::<Vec<_>>();
            let missing: BTreeSet<_> = theirs.difference(ours).collect();
            let extra: BTreeSet<_> = ours.difference(theirs).collect();
            let counts = (missing.len(), extra.len());
            Some(format!(
                "{} missing, such as {:?}; {} too many, such as {:?}",
                counts.0,
                some(missing),
                counts.1,
                some(extra)
            ))
        }
        (None, Some(_)) => Some("refused by us alone".into()),
        (Some(_), None) => Some("refused by ripgrep alone".into()),
    }
}

fn report(asked: &[Asked], rounds: usize, time: Duration) -> ExitCode {
    let wrong: Vec<&Asked> = asked.iter().filter(|asked| !asked.differences.is_empty()).collect();
    for Asked { question, differences, .. } in wrong.iter().take(MAX_SHOWN) {
        println!("{question:?}\n    {}", differences.join("\n    "));
    }
    let of = |name: &str| {
        let differs = |asked: &&Asked| asked.differences.iter().any(|text| text.starts_with(name));
        asked.iter().filter(differs).count()
    };
    let with_matches = asked.iter().filter(|asked| asked.places > 0).count();
    let places: usize = asked.iter().map(|asked| asked.places).sum();
    let refused = asked.iter().filter(|asked| asked.is_refused).count();
    println!(
        "{} questions in {rounds} rounds of changes, {with_matches} with matches ({places} in \
         all), {refused} refused by both; differences: {} without index, {} with; {:.1} s",
        asked.len(),
        of("without index"),
        of("with index"),
        time.as_secs_f64()
    );
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
