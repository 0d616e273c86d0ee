//! Definitions from a table, each checked against the file as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use workspace::RelPath;

use super::{FileStamp, NO_STAMP, SymbolTable, TableEntry};
use crate::lookup::could_define::{Chance, chance_in};
use crate::lookup::definitions::{DefinitionQuery, Definitions};
use crate::lookup::hits::{Hits, Source};
use crate::lookup::standing::remoteness;
use crate::lookup::symbol_cache::SymbolCache;
use crate::lookup::word::Word;
use crate::lookup::word_files::{Coverage, named, read_text, until};
use crate::symbols::{Parsers, Symbol};
use crate::{CodeBase, Language, SearchScope};

/// Files that are looked at for one answer. A name that is defined in more of them has more
/// definitions than an answer shows; those in other files are counted as the table has them.
const MAX_FILES: usize = 600;

/// The definitions of a name by a table. Files that differ from what the table was made from are
/// parsed instead of believed; `changed` names those that are known to have changed or to be new
/// since, in which the table cannot know of a definition. `total` is 0 if the table knows none, which
/// says nothing about files without a grammar. `cancel` is asked often.
pub fn find_definitions_in_table<B: AsRef<[u8]>>(
    code: &CodeBase,
    table: &SymbolTable<B>,
    changed: &[RelPath],
    query: &DefinitionQuery,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Definitions {
    let mut by_file: BTreeMap<u32, Vec<TableEntry>> = BTreeMap::new();
    for entry in table.lookup(&query.name.name) {
        if query.name.within.is_empty() || may_fit(&entry, query, table) {
            by_file.entry(entry.file).or_default().push(entry);
        }
    }
    let mut files: Vec<(RelPath, FileStamp, Vec<TableEntry>)> = Vec::new();
    let changed: BTreeSet<&RelPath> = changed.iter().collect();
    for (file, entries) in by_file {
        let Some((path, stamp)) = table.file(file) else { continue };
        if !changed.contains(&path) && is_in(&path, scope) {
            files.push((path, stamp, entries));
        }
    }
    files.sort_by_cached_key(|(path, _, entries)| {
        let best = entries.iter().map(|entry| entry.kind.rank()).min().unwrap_or(u8::MAX);
        (best, remoteness(path), path.depth(), path.clone())
    });
    let mut answer = Answering {
        code,
        query,
        scope,
        word: Word::new(&query.name.name),
        parsers: Parsers::new(),
        buffer: Vec::new(),
        hits: Hits::new(scope.max_results),
        files_read: 0,
        unfinished: Vec::new(),
    };
    let mut beyond = 0;
    for (number, (path, stamp, entries)) in files.iter().enumerate() {
        if number >= MAX_FILES {
            beyond += entries.len() as u64;
        } else if Instant::now() >= scope.deadline || cancel() {
            answer.unfinished.push(path.clone());
        } else {
            answer.known_file(path, stamp, entries);
        }
    }
    for path in changed.into_iter().filter(|path| is_in(path, scope)) {
        if Instant::now() >= scope.deadline || cancel() {
            answer.unfinished.push(path.clone());
        } else {
            answer.changed_file(path);
        }
    }
    let coverage = Coverage {
        files_read: answer.files_read,
        unfinished: named(answer.unfinished),
        ..Coverage::default()
    };
    let (found, total) = answer.hits.into_best();
    Definitions {
        found,
        total: total + beyond,
        as_qualified: true,
        coverage,
        ..Definitions::default()
    }
}

fn may_fit<B: AsRef<[u8]>>(
    entry: &TableEntry,
    query: &DefinitionQuery,
    table: &SymbolTable<B>,
) -> bool {
    let Some((path, _)) = table.file(entry.file) else { return false };
    query.name.fits(&path, entry.container.as_deref()).is_some()
}

fn is_in(path: &RelPath, scope: &SearchScope) -> bool {
    path.starts_with(&scope.start)
        && (*path == scope.start || scope.filter.accepts(path, &scope.start))
}

struct Answering<'a> {
    code: &'a CodeBase,
    query: &'a DefinitionQuery,
    scope: &'a SearchScope,
    word: Word,
    parsers: Parsers,
    buffer: Vec<u8>,
    hits: Hits,
    files_read: u64,
    unfinished: Vec<RelPath>,
}

impl Answering<'_> {
    /// A file that the table knows: its entries if it is unchanged, else what it defines now.
    fn known_file(&mut self, path: &RelPath, stamp: &FileStamp, entries: &[TableEntry]) {
        let Some(language) = Language::of(path) else { return };
        // What has gone defines nothing any more.
        let Ok(file) = self.code.workspace().open_file(path) else { return };
        let text = read_text(&file, self.scope.max_file_bytes, &mut self.buffer);
        let Some(text) = text else { return };
        self.files_read += 1;
        let source = Source { path, text, language };
        let is_unchanged = FileStamp::of(&file.meta) == *stamp && *stamp != NO_STAMP;
        let symbols = entries.iter().map(|entry| symbol_at(text, &self.query.name.name, entry));
        match symbols.collect::<Option<Vec<Symbol>>>() {
            Some(symbols) if is_unchanged => self.hits.add(&source, &symbols, self.query),
            _ => {
                let (parsers, until) = (&mut self.parsers, until(self.scope));
                let found = SymbolCache::shared()
                    .symbols_of(language, text, || parsers.symbols(language, text, until));
                self.hits.add(&source, &found.symbols, self.query);
            }
        }
    }

    /// A file that the table knows nothing about.
    fn changed_file(&mut self, path: &RelPath) {
        let Some(language) = Language::of(path) else { return };
        let Ok(file) = self.code.workspace().open_file(path) else { return };
        let text = read_text(&file, self.scope.max_file_bytes, &mut self.buffer);
        let Some(text) = text else { return };
        self.files_read += 1;
        if chance_in(language, text, &self.word) == Chance::No {
            return;
        }
        let (parsers, until) = (&mut self.parsers, until(self.scope));
        let found = SymbolCache::shared()
            .symbols_of(language, text, || parsers.symbols(language, text, until));
        if !found.complete {
            self.unfinished.push(path.clone());
        }
        self.hits.add(&Source { path, text, language }, &found.symbols, self.query);
    }
}

/// The symbol that an entry tells of, if its name stands where the entry says.
fn symbol_at(text: &[u8], name: &str, entry: &TableEntry) -> Option<Symbol> {
    let line = match entry.line {
        0 => return None,
        1 => 0,
        line => memchr::memchr_iter(b'\n', text).nth(line as usize - 2)? + 1,
    };
    let start = line.checked_add((entry.column as usize).checked_sub(1)?)?;
    let end = start.checked_add(name.len())?;
    if text.get(start..end)? != name.as_bytes() {
        return None;
    }
    let place = u32::try_from(start).ok()?..u32::try_from(end).ok()?;
    Some(Symbol {
        name: name.to_owned(),
        kind: entry.kind,
        line: entry.line,
        column: entry.column,
        extent: place.clone(),
        name_at: place,
        container: entry.container.clone(),
    })
}
