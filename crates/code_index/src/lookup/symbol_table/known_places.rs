//! Which files define a name, and where, as a table has it; whether they still do, a look at the file
//! tells.

use std::collections::BTreeMap;

use workspace::{EntryMeta, RelPath};

use super::{FileStamp, NO_STAMP, SymbolTable, TableEntry};
use crate::SearchScope;
use crate::lookup::definition_query::DefinitionQuery;
use crate::symbols::Symbol;

/// The places of one name in one file.
pub(crate) struct KnownPlaces {
    stamp: FileStamp,
    entries: Vec<TableEntry>,
}

impl<B: AsRef<[u8]>> SymbolTable<B> {
    /// The files of `scope` that define what is asked for.
    pub(crate) fn files_defining(
        &self,
        query: &DefinitionQuery,
        scope: &SearchScope,
    ) -> Vec<(RelPath, KnownPlaces)> {
        let mut by_file: BTreeMap<u32, Vec<TableEntry>> = BTreeMap::new();
        for entry in self.lookup(&query.name.name) {
            by_file.entry(entry.file).or_default().push(entry);
        }
        let places = by_file.into_iter().filter_map(|(file, mut entries)| {
            let (path, stamp) = self.file(file)?;
            entries.retain(|entry| query.name.fits(&path, entry.container.as_deref()).is_some());
            let counts = !entries.is_empty() && scope.covers(&path);
            counts.then_some((path, KnownPlaces { stamp, entries }))
        });
        places.collect()
    }
}

impl KnownPlaces {
    pub(crate) fn count(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The rank of the most important kind among them.
    pub(crate) fn best_rank(&self) -> u8 {
        self.entries.iter().map(|entry| entry.kind.rank()).min().unwrap_or(u8::MAX)
    }

    /// The places as symbols, if the file is the one that was parsed and `name` stands at each.
    pub(crate) fn symbols(&self, meta: &EntryMeta, text: &[u8], name: &str) -> Option<Vec<Symbol>> {
        let is_unchanged = self.stamp != NO_STAMP && FileStamp::of(meta) == self.stamp;
        let symbols = || self.entries.iter().map(|entry| symbol_at(text, name, entry)).collect();
        is_unchanged.then(symbols)?
    }
}

/// The symbol of an entry, if its name stands where the entry says.
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
