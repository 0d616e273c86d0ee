//! Where a name is defined.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use workspace::{Error, RelPath};

use super::by_text::{Look, definitions_by_text};
use super::could_define::{Chance, chance_in};
use super::hits::{Hits, Source};
use super::near_names::{Near, NearName, nearest};
use super::standing::remoteness;
use super::symbol_cache::SymbolCache;
use super::symbol_name::SymbolName;
use super::symbol_table::find_definitions_in_table;
use super::word::Word;
use super::word_files::{
    Coverage, Wanted, WordFile, WordVisitor, named, read_text, until, visit_all_files,
    visit_files_with_word,
};
use crate::symbols::{Parsers, SymbolKind};
use crate::{CodeBase, Language, SearchScope};

/// Bytes of files that may only define a field, a local variable or an import, parsed although the
/// name was found to be defined elsewhere.
const MINOR_BYTES: u64 = 512 * 1024;
/// The same when it was not found elsewhere.
const MINOR_BYTES_ALONE: u64 = 24 * 1024 * 1024;
/// The time that looking for near names may take.
const NEAR_TIME: Duration = Duration::from_secs(2);

/// What to look for.
#[derive(Debug, Clone)]
pub struct DefinitionQuery {
    /// The name.
    pub name: SymbolName,
    /// Only definitions of this type.
    pub only: Option<DefinitionType>,
    /// Lines to show before and after the name.
    pub context: u32,
    /// Characters of a line to show.
    pub max_line_chars: usize,
}

/// The coarse types that people ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionType {
    /// Functions, methods and macros.
    Function,
    /// Classes and all other types.
    Class,
    /// Constants, variables, fields and locals.
    Variable,
    /// Names that an import brings into a file.
    Import,
}

/// A place that defines a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The file.
    pub path: RelPath,
    /// The line of the name, from 1.
    pub line: u32,
    /// What it is.
    pub kind: &'static str,
    /// What it stands in, joined by dots.
    pub container: Option<String>,
    /// The head of the definition on one line.
    pub signature: String,
    /// The lines before that of the name.
    pub before: Vec<String>,
    /// The lines after it.
    pub after: Vec<String>,
    /// Whether it was told by the look of the line alone.
    pub by_text: bool,
}

/// The best definitions, and what is known of the rest.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    /// Best first.
    pub found: Vec<Definition>,
    /// Definitions in all.
    pub total: u64,
    /// False if what was found has the name but does not stand in what was said.
    pub as_qualified: bool,
    /// Files that may define it as a field, local variable or import and were not parsed.
    pub not_parsed: u64,
    /// Names that resemble it, if it was not found.
    pub near: Vec<NearName>,
    /// What was covered.
    pub coverage: Coverage,
}

impl DefinitionType {
    /// Whether something of this kind, followed by this sign, counts.
    pub(crate) fn accepts(self, kind: SymbolKind, next: Option<&u8>) -> bool {
        use SymbolKind as Kind;
        let is_function = next == Some(&b'(');
        match self {
            DefinitionType::Function => match kind {
                Kind::Declaration => is_function,
                _ => matches!(kind, Kind::Function | Kind::Method | Kind::Macro),
            },
            DefinitionType::Class => matches!(
                kind,
                Kind::Class
                    | Kind::Struct
                    | Kind::Union
                    | Kind::Enum
                    | Kind::Interface
                    | Kind::Trait
                    | Kind::TypeAlias
            ),
            DefinitionType::Variable => match kind {
                Kind::Declaration => !is_function,
                _ => matches!(
                    kind,
                    Kind::Constant
                        | Kind::Static
                        | Kind::Variable
                        | Kind::Variant
                        | Kind::Field
                        | Kind::Local
                ),
            },
            DefinitionType::Import => kind == Kind::Import,
        }
    }

    fn accepts_look(self, look: Look) -> bool {
        matches!(
            (self, look),
            (DefinitionType::Function, Look::Function)
                | (DefinitionType::Class, Look::Type)
                | (DefinitionType::Variable, Look::Variable)
        )
    }
}

/// The definitions of a name in the files of `scope`, by a table of all symbols or, until there is
/// one, by what the files say. No file is parsed that does not have the name
/// at a place where it could be defined. `cancel` is asked often.
pub fn find_definitions(
    code: &CodeBase,
    query: &DefinitionQuery,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<Definitions, Error> {
    let table = code.symbols(scope);
    if let Some((table, changed)) = &table {
        let found = find_definitions_in_table(code, table, changed, query, scope, cancel);
        if found.total > 0 {
            return Ok(found);
        }
    }
    let word = Word::new(&query.name.name);
    let within: Vec<Word> = query.name.within.iter().map(|name| Word::new(name)).collect();
    let search = Search { code, query, word: &word, scope, cancel };
    let mut found = search.run(&within)?;
    if found.total == 0 && !within.is_empty() {
        // Not there; the name alone may be elsewhere.
        let unqualified = DefinitionQuery {
            name: SymbolName { name: query.name.name.clone(), within: Vec::new() },
            ..query.clone()
        };
        found = Search { query: &unqualified, ..search }.run(&[])?;
        found.as_qualified = false;
    }
    if found.total == 0 && !cancel() {
        let near = Near::to(&query.name.name);
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

#[derive(Clone, Copy)]
struct Search<'a> {
    code: &'a CodeBase,
    query: &'a DefinitionQuery,
    word: &'a Word,
    scope: &'a SearchScope,
    cancel: &'a (dyn Fn() -> bool + Sync),
}

impl Search<'_> {
    fn run(&self, within: &[Word]) -> Result<Definitions, Error> {
        let wanted = Wanted { word: self.word, also: within };
        let (mut coverage, workers) =
            visit_files_with_word(self.code, &wanted, self.scope, self.cancel, || self.worker())?;
        let mut hits = Hits::new(self.scope.max_results);
        let mut minor = Vec::new();
        let mut unfinished = Vec::new();
        for worker in workers {
            hits.merge(worker.hits);
            minor.extend(worker.minor);
            unfinished.extend(worker.unfinished);
        }
        let not_parsed = self.parse_minor(minor, &mut hits, &mut unfinished);
        coverage.unfinished = named(unfinished);
        let (found, total) = hits.into_best();
        Ok(Definitions { found, total, as_qualified: true, not_parsed, near: Vec::new(), coverage })
    }

    fn worker(&self) -> Worker<'_> {
        Worker {
            search: self,
            parsers: Parsers::new(),
            hits: Hits::new(self.scope.max_results),
            minor: Vec::new(),
            unfinished: Vec::new(),
        }
    }

    /// Parses files that can only hold lesser definitions, the nearest first, and says how many
    /// were left.
    fn parse_minor(
        &self,
        mut minor: Vec<(RelPath, u64)>,
        hits: &mut Hits,
        unfinished: &mut Vec<RelPath>,
    ) -> u64 {
        minor.sort_by_cached_key(|(path, _)| (remoteness(path), path.depth(), path.clone()));
        let mut left = if hits.total() > 0 { MINOR_BYTES } else { MINOR_BYTES_ALONE };
        let affordable = minor.iter().take_while(|(_, size)| {
            let fits = *size <= left;
            left = left.saturating_sub(*size);
            fits
        });
        let count = affordable.count();
        let not_parsed = (minor.len() - count) as u64;
        let next = AtomicUsize::new(0);
        let work = || {
            let mut worker = self.worker();
            let mut buffer = Vec::new();
            while let Some((path, _)) = minor[..count].get(next.fetch_add(1, Ordering::Relaxed)) {
                if Instant::now() >= self.scope.deadline || (self.cancel)() {
                    worker.unfinished.push(path.clone());
                    continue;
                }
                // What has gone or grown in the meantime defines nothing any more.
                let Ok(file) = self.code.workspace().open_file(path) else { continue };
                let text = read_text(&file, self.scope.max_file_bytes, &mut buffer);
                if let (Some(text), Some(language)) = (text, Language::of(path)) {
                    worker.parse(
                        &WordFile { path: path.clone(), text, language: Some(language) },
                        language,
                    );
                }
            }
            worker
        };
        let threads = workspace::available_threads().min(count);
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            for worker in handles.into_iter().filter_map(|handle| handle.join().ok()) {
                hits.merge(worker.hits);
                unfinished.extend(worker.unfinished);
            }
        });
        not_parsed
    }
}

/// One thread's share.
struct Worker<'a> {
    search: &'a Search<'a>,
    parsers: Parsers,
    hits: Hits,
    /// Files that can only hold lesser definitions, with their sizes.
    minor: Vec<(RelPath, u64)>,
    unfinished: Vec<RelPath>,
}

impl WordVisitor for Worker<'_> {
    fn visit(&mut self, file: &WordFile<'_>) {
        let Search { query, word, .. } = *self.search;
        let Some(language) = file.language else { return self.read_as_text(file) };
        match (chance_in(language, file.text, word), query.only) {
            (Chance::No, _) => {}
            (Chance::Minor, Some(DefinitionType::Function | DefinitionType::Class)) => {}
            (Chance::Minor, None) => self.minor.push((file.path.clone(), file.text.len() as u64)),
            (Chance::Minor | Chance::Major, _) => self.parse(file, language),
        }
    }
}

impl Worker<'_> {
    fn parse(&mut self, file: &WordFile<'_>, language: Language) {
        let Search { query, scope, .. } = *self.search;
        let parsers = &mut self.parsers;
        let symbols = SymbolCache::shared()
            .symbols_of(language, file.text, || parsers.symbols(language, file.text, until(scope)));
        if !symbols.complete {
            self.unfinished.push(file.path.clone());
        }
        self.hits.add(
            &Source { path: &file.path, text: file.text, language },
            &symbols.symbols,
            query,
        );
    }

    fn read_as_text(&mut self, file: &WordFile<'_>) {
        let Search { query, word, .. } = *self.search;
        let extension = file.path.extension().unwrap_or_default();
        for found in definitions_by_text(extension, file.text, word) {
            if query.only.is_none_or(|only| only.accepts_look(found.look)) {
                self.hits.add_text(&file.path, file.text, found, query);
            }
        }
    }
}
