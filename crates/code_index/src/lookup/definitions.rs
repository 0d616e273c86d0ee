//! Where a name is defined.
//!
//! One engine answers: files in which the name may be defined are named, and an [`Examiner`] looks at
//! each as it is. The files come from the symbol table, which knows the places too, or from the text
//! index; a file whose places are not known is parsed only if [`chance_in`] sees a chance in its text.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use workspace::{Error, RelPath};

use super::by_text::definitions_by_text;
use super::could_define::{Chance, chance_in};
use super::definition_query::{DefinitionQuery, DefinitionType, Definitions};
use super::hits::{Hits, ParsedSource};
use super::near_names::{NearQuery, nearest};
use super::standing::remoteness;
use super::symbol_cache::SymbolCache;
use super::symbol_name::SymbolName;
use super::symbol_table::{KnownPlaces, SymbolTable};
use super::word::WholeWord;
use super::word_files::{
    Coverage, WantedWords, WordFile, WordVisitor, named, read_text, until, visit_all_files,
    visit_files_with_word,
};
use crate::symbols::Parsers;
use crate::{CodeBase, Language, SearchScope};

/// Bytes of files that may only define a field, a local variable or an import, parsed although the
/// name was found to be defined elsewhere.
const MINOR_BYTES: u64 = 512 * 1024;
/// The same when it was not found elsewhere.
const MINOR_BYTES_ALONE: u64 = 24 * 1024 * 1024;
/// Files that are looked at for one answer of the table. A name that is defined in more of them has
/// more definitions than an answer shows; those in other files are counted as the table has them.
const MAX_TABLE_FILES: usize = 600;
/// Candidates that are worth another thread.
const FILES_PER_THREAD: usize = 4;
/// The time that looking for near names may take.
const NEAR_TIME: Duration = Duration::from_secs(2);

/// A file that may define the name.
pub(super) struct DefinitionCandidate {
    pub(super) path: RelPath,
    pub(super) reason: Reason,
}

pub(super) enum Reason {
    /// The table has these places for it.
    Known(KnownPlaces),
    /// The table does not know the file as it is.
    Changed,
    /// Its text lets nothing greater than a field, a local variable or an import be expected.
    Minor { bytes: u64 },
}

/// The definitions of a name in the files of `scope`. No file is parsed that does not have the name
/// at a place where it could be defined. `cancel` is asked often.
pub fn find_definitions(
    code: &CodeBase,
    query: &DefinitionQuery,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<Definitions, Error> {
    let word = WholeWord::new(&query.name.name);
    let search = DefinitionSearch { code, query, word: &word, scope, cancel };
    let table = code.symbols(scope);
    if let Some((table, changed)) = &table {
        let found = search.by_table(table, changed);
        if found.total > 0 {
            return Ok(found);
        }
    }
    // The table knows only files with a grammar, and names as they are written.
    let mut found = search.by_text()?;
    if found.total == 0 && !query.name.within.is_empty() {
        // Not there; the name alone may be elsewhere.
        let unqualified = DefinitionQuery {
            name: SymbolName { name: query.name.name.clone(), within: Vec::new() },
            ..query.clone()
        };
        found = DefinitionSearch { query: &unqualified, ..search }.by_text()?;
        found.as_qualified = false;
    }
    if found.total == 0 && !cancel() {
        let near = NearQuery::to(&query.name.name);
        if let Some((table, _)) = &table {
            found.near = near.in_table(table);
            return Ok(found);
        }
        let brief = SearchScope {
            deadline: scope.deadline.min(Instant::now() + NEAR_TIME),
            ..scope.clone()
        };
        let (_, visitors) = visit_all_files(code, &brief, cancel, || near.visitor())?;
        found.near = nearest(visitors);
    }
    Ok(found)
}

/// One question.
#[derive(Clone, Copy)]
pub(super) struct DefinitionSearch<'a> {
    pub(super) code: &'a CodeBase,
    pub(super) query: &'a DefinitionQuery,
    pub(super) word: &'a WholeWord,
    pub(super) scope: &'a SearchScope,
    pub(super) cancel: &'a (dyn Fn() -> bool + Sync),
}

impl DefinitionSearch<'_> {
    /// Looks at the files that `table` names, and at those that `changed` since it was made. `total`
    /// is 0 if it knows none, which says nothing about files without a grammar.
    pub(super) fn by_table<B: AsRef<[u8]>>(
        &self,
        table: &SymbolTable<B>,
        changed: &[RelPath],
    ) -> Definitions {
        let mut files = table.files_defining(self.query, self.scope);
        let changed: BTreeSet<&RelPath> = changed.iter().collect();
        files.retain(|(path, _)| !changed.contains(path));
        files.sort_by_cached_key(|(path, known)| {
            (known.best_rank(), remoteness(path), path.depth(), path.clone())
        });
        let beyond = files.split_off(files.len().min(MAX_TABLE_FILES));
        let beyond: u64 = beyond.iter().map(|(_, known)| known.count()).sum();
        let known = files
            .into_iter()
            .map(|(path, known)| DefinitionCandidate { path, reason: Reason::Known(known) });
        let changed = changed.into_iter().filter(|path| self.scope.covers(path));
        let changed =
            changed.map(|path| DefinitionCandidate { path: path.clone(), reason: Reason::Changed });
        let examiners = self.examine(&known.chain(changed).collect::<Vec<_>>());
        let files_read = examiners.iter().map(|examiner| examiner.files_read).sum();
        let coverage = Coverage { files_read, ..Coverage::default() };
        let mut found = self.answer(examiners, coverage);
        found.total += beyond;
        found
    }

    /// Looks at the files in whose text the name stands.
    fn by_text(&self) -> Result<Definitions, Error> {
        let within: Vec<WholeWord> =
            self.query.name.within.iter().map(|name| WholeWord::new(name)).collect();
        let wanted = WantedWords { word: self.word, also: &within };
        let (coverage, examiners) =
            visit_files_with_word(self.code, &wanted, self.scope, self.cancel, || self.examiner())?;
        Ok(self.answer(examiners, coverage))
    }

    /// What the examiners found together, after a look at what each of them has put off.
    fn answer(&self, examiners: Vec<Examiner<'_>>, mut coverage: Coverage) -> Definitions {
        let mut all = self.examiner();
        for examiner in examiners {
            all.merge(examiner);
        }
        let mut minor = std::mem::take(&mut all.minor);
        let left_out = self.leave_out_minor(&mut minor, all.hits.total());
        for examiner in self.examine(&minor) {
            all.merge(examiner);
        }
        coverage.unfinished = named(all.unfinished);
        let (found, total) = all.hits.into_best();
        Definitions {
            found,
            total,
            as_qualified: true,
            not_parsed: left_out,
            near: Vec::new(),
            coverage,
        }
    }

    /// Keeps those of the lesser files that may be parsed, the nearest first, and says how many are
    /// left out.
    fn leave_out_minor(&self, minor: &mut Vec<DefinitionCandidate>, found: u64) -> u64 {
        minor.sort_by_cached_key(|one| (remoteness(&one.path), one.path.depth(), one.path.clone()));
        let mut left = if found > 0 { MINOR_BYTES } else { MINOR_BYTES_ALONE };
        let affordable = minor.iter().take_while(|one| {
            let Reason::Minor { bytes } = one.reason else { return false };
            let fits = bytes <= left;
            left = left.saturating_sub(bytes);
            fits
        });
        let count = affordable.count();
        minor.drain(count..).count() as u64
    }

    /// Looks at each candidate, on several threads if there are many.
    fn examine(&self, candidates: &[DefinitionCandidate]) -> Vec<Examiner<'_>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut examiner = self.examiner();
            let mut buffer = Vec::new();
            while let Some(candidate) = candidates.get(next.fetch_add(1, Ordering::Relaxed)) {
                if Instant::now() >= self.scope.deadline || (self.cancel)() {
                    examiner.unfinished.push(candidate.path.clone());
                } else {
                    examiner.candidate(candidate, &mut buffer);
                }
            }
            examiner
        };
        let threads = candidates.len().div_ceil(FILES_PER_THREAD);
        match workspace::available_threads().min(threads) {
            0 => Vec::new(),
            1 => vec![work()],
            threads => std::thread::scope(|scope| {
                let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
            }),
        }
    }

    fn examiner(&self) -> Examiner<'_> {
        Examiner {
            search: *self,
            parsers: Parsers::new(),
            hits: Hits::new(self.scope.max_results),
            minor: Vec::new(),
            unfinished: Vec::new(),
            files_read: 0,
        }
    }
}

/// One thread's share of a question.
struct Examiner<'a> {
    search: DefinitionSearch<'a>,
    parsers: Parsers,
    hits: Hits,
    /// Files that are put off because they can only hold lesser definitions.
    minor: Vec<DefinitionCandidate>,
    unfinished: Vec<RelPath>,
    /// Candidates that were read.
    files_read: u64,
}

impl WordVisitor for Examiner<'_> {
    fn visit(&mut self, file: &WordFile<'_>) {
        let DefinitionSearch { query, word, .. } = self.search;
        let Some(language) = file.language else { return self.read_as_text(file) };
        match (chance_in(language, file.text, word), query.only) {
            (Chance::No, _) => {}
            (Chance::Minor, Some(DefinitionType::Function | DefinitionType::Class)) => {}
            (Chance::Minor, None) => {
                let reason = Reason::Minor { bytes: file.text.len() as u64 };
                self.minor.push(DefinitionCandidate { path: file.path.clone(), reason });
            }
            (Chance::Minor | Chance::Major, _) => self.parse(file, language),
        }
    }
}

impl Examiner<'_> {
    fn candidate(&mut self, candidate: &DefinitionCandidate, buffer: &mut Vec<u8>) {
        let DefinitionSearch { code, query, scope, .. } = self.search;
        let path = &candidate.path;
        // What has gone or grown in the meantime defines nothing any more.
        let Ok(file) = code.workspace().open_file(path) else { return };
        let Some(text) = read_text(&file, scope.max_file_bytes, buffer) else { return };
        let Some(language) = code.language_of(path, text) else { return };
        self.files_read += 1;
        let word_file = WordFile { path: path.clone(), text, language: Some(language) };
        match &candidate.reason {
            Reason::Known(known) => match known.symbols(&file.meta, text, &query.name.name) {
                Some(symbols) => {
                    self.hits.add(&ParsedSource { path, text, language }, &symbols, query)
                }
                None => self.parse(&word_file, language),
            },
            Reason::Changed => self.visit(&word_file),
            Reason::Minor { .. } => self.parse(&word_file, language),
        }
    }

    fn parse(&mut self, file: &WordFile<'_>, language: Language) {
        let DefinitionSearch { query, scope, .. } = self.search;
        let parsers = &mut self.parsers;
        let symbols = SymbolCache::shared()
            .symbols_of(language, file.text, || parsers.symbols(language, file.text, until(scope)));
        if !symbols.complete {
            self.unfinished.push(file.path.clone());
        }
        self.hits.add(
            &ParsedSource { path: &file.path, text: file.text, language },
            &symbols.symbols,
            query,
        );
    }

    fn read_as_text(&mut self, file: &WordFile<'_>) {
        let DefinitionSearch { query, word, .. } = self.search;
        let extension = file.path.extension().unwrap_or_default();
        for found in definitions_by_text(extension, file.text, word) {
            if query.only.is_none_or(|only| only.accepts_look(found.look)) {
                self.hits.add_text(&file.path, file.text, found, query);
            }
        }
    }

    fn merge(&mut self, other: Examiner<'_>) {
        self.hits.merge(other.hits);
        self.minor.extend(other.minor);
        self.unfinished.extend(other.unfinished);
    }
}

#[cfg(test)]
mod tests;
