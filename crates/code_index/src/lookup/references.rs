//! Where a name is used.

use workspace::{Error, RelPath};

use super::word::WholeWord;
use super::word_files::{
    Coverage, WantedWords, WordFile, WordVisitor, named, until, visit_files_with_word,
};
use crate::excerpt::excerpt;
use crate::first_by_path::FirstByPath;
use crate::language::Dollar;
use crate::symbols::{Occurrence, Parsers, Role};
use crate::{CodeBase, Language, SearchScope};

/// What to look for.
#[derive(Debug, Clone)]
pub struct ReferenceQuery {
    /// The name alone.
    pub name: String,
    /// Whether mentions in comments and strings count.
    pub mentions: bool,
    /// Characters of a line to show.
    pub max_line_chars: usize,
}

/// A line in which the name stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The file.
    pub path: RelPath,
    /// The line, from 1.
    pub line: u32,
    /// What the name does there; none if the file was read as text alone.
    pub role: Option<Role>,
    /// The line, or the part of it around the name.
    pub text: String,
}

/// The first references in path order, and what is known of the rest.
#[derive(Debug, Clone, Default)]
pub struct References {
    /// By path and line; one for each line.
    pub found: Vec<Reference>,
    /// Places in all.
    pub total: u64,
    /// Lines in all.
    pub lines: u64,
    /// Files with at least one.
    pub files: u64,
    /// Places in each of the files that `found` has lines of.
    pub counts: Vec<(RelPath, u64)>,
    /// What was covered.
    pub coverage: Coverage,
}

/// The places in the files of `scope` where a name stands as a name, and not in a comment or string
/// unless asked. `cancel` is asked often.
pub fn find_references(
    code: &CodeBase,
    query: &ReferenceQuery,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<References, Error> {
    let word = WholeWord::new(&query.name);
    let wanted = WantedWords { word: &word, also: &[] };
    let worker = || ReferenceWorker {
        query,
        word: &word,
        scope,
        parsers: Parsers::new(),
        first: FirstByPath::new(scope.max_results),
        counts: Vec::new(),
        total: 0,
        lines: 0,
        unfinished: Vec::new(),
    };
    let (mut coverage, workers) = visit_files_with_word(code, &wanted, scope, cancel, worker)?;
    let mut found = References::default();
    let mut parts = Vec::new();
    let mut unfinished = Vec::new();
    let mut counts = Vec::new();
    for worker in workers {
        found.total += worker.total;
        found.lines += worker.lines;
        found.files += worker.counts.len() as u64;
        counts.extend(worker.counts);
        unfinished.extend(worker.unfinished);
        parts.push(worker.first);
    }
    found.found = FirstByPath::merge(parts, scope.max_results);
    counts.sort();
    counts.retain(|(path, _)| found.found.binary_search_by(|one| one.path.cmp(path)).is_ok());
    found.counts = counts;
    coverage.unfinished = named(unfinished);
    found.coverage = coverage;
    Ok(found)
}

/// The places of `name` in the text of a file, by `until`. None if no grammar is built in for the
/// language.
pub(crate) fn occurrences_in(
    language: Language,
    text: &[u8],
    name: &str,
    until: std::time::Instant,
) -> Option<Vec<Occurrence>> {
    language.grammar()?;
    Some(occurrences(&mut Parsers::new(), language, text, name, until))
}

fn occurrences(
    parsers: &mut Parsers,
    language: Language,
    text: &[u8],
    name: &str,
    until: std::time::Instant,
) -> Vec<Occurrence> {
    let mut found = parsers.occurrences(language, text, name, until);
    // Where `$` is a letter, a name beside one is another name.
    if language.spec().names.dollar == Dollar::Letter {
        found.retain(|one| {
            let before = (one.at.start as usize).checked_sub(1).and_then(|at| text.get(at));
            before != Some(&b'$') && text.get(one.at.end as usize) != Some(&b'$')
        });
    }
    found
}

/// One thread's share.
struct ReferenceWorker<'a> {
    query: &'a ReferenceQuery,
    word: &'a WholeWord,
    scope: &'a SearchScope,
    parsers: Parsers,
    first: FirstByPath<Reference>,
    counts: Vec<(RelPath, u64)>,
    total: u64,
    lines: u64,
    unfinished: Vec<RelPath>,
}

impl WordVisitor for ReferenceWorker<'_> {
    fn visit(&mut self, file: &WordFile<'_>) {
        let places: Vec<(usize, u32, Option<Role>)> = match file.language {
            Some(language) => {
                let until = until(self.scope);
                let found =
                    occurrences(&mut self.parsers, language, file.text, &self.query.name, until);
                if std::time::Instant::now() >= until {
                    self.unfinished.push(file.path.clone());
                }
                let counts = |role: Role| self.query.mentions || !is_mention(role);
                let found = found.into_iter().filter(|one| counts(one.role));
                found.map(|one| (one.at.start as usize, one.line, Some(one.role))).collect()
            }
            None => {
                let mut line = 1;
                let mut counted = 0;
                let places = self.word.places(file.text).map(|at| {
                    line += memchr::memchr_iter(b'\n', &file.text[counted..at]).count() as u32;
                    counted = at;
                    (at, line, None)
                });
                places.collect()
            }
        };
        if places.is_empty() {
            return;
        }
        self.total += places.len() as u64;
        self.lines += places.chunk_by(|(_, a, _), (_, b, _)| a == b).count() as u64;
        self.counts.push((file.path.clone(), places.len() as u64));
        let room = self.first.room_for(&file.path);
        let mut shown: Vec<Reference> = Vec::new();
        for (at, line, role) in places {
            let is_full = shown.len() >= room;
            match shown.last_mut() {
                // One line for all places in it; what is defined there is said.
                Some(last) if last.line == line => last.role = last.role.min(role),
                _ if is_full => break,
                _ => shown.push(self.shown(file, at, line, role)),
            }
        }
        self.first.add(file.path.clone(), shown);
    }
}

impl ReferenceWorker<'_> {
    fn shown(&self, file: &WordFile<'_>, at: usize, line: u32, role: Option<Role>) -> Reference {
        let start = memchr::memrchr(b'\n', &file.text[..at]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &file.text[at..]).map_or(file.text.len(), |end| at + end);
        let text = file.text[start..end].trim_ascii();
        let text = excerpt(text, at - start, self.query.max_line_chars);
        Reference { path: file.path.clone(), line, role, text }
    }
}

fn is_mention(role: Role) -> bool {
    matches!(role, Role::Comment | Role::Text)
}
