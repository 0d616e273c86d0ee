//! Names that are nearly the one asked for, for when that one is not found.

use std::collections::BTreeMap;

use rapidfuzz::distance::osa::{Args, BatchComparator};
use workspace::RelPath;

use super::could_define::{Chance, chance_at};
use super::symbol_table::SymbolTable;
use super::word::is_name_byte;
use super::word_files::{WordFile, WordVisitor};

/// The most names that are suggested.
const MAX_NAMES: usize = 5;
/// The most that one thread keeps while it looks.
const MAX_KEPT: usize = 200;

/// A name that resembles the one asked for, and where it is probably defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearName {
    pub name: String,
    /// A file in which it is probably defined.
    pub path: RelPath,
    /// The line there, from 1.
    pub line: u32,
}

/// How far one name is from another, as edits; less than any edit for another case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Distance(usize);

/// Looks for near names in the files it visits.
pub(super) struct NearVisitor<'a> {
    wanted: &'a NearQuery,
    found: BTreeMap<(Distance, String), (RelPath, u32)>,
}

/// A name and what names must have in common with it to be near.
pub(super) struct NearQuery {
    folded: BatchComparator<char>,
    length: usize,
    max: usize,
}

impl NearQuery {
    pub(super) fn to(name: &str) -> NearQuery {
        let folded = fold(name);
        let max = match folded.len() {
            0..=2 => 0,
            3..=5 => 1,
            6..=12 => 2,
            _ => 3,
        };
        NearQuery { length: folded.len(), folded: BatchComparator::new(folded.chars()), max }
    }

    /// How near `other` is; none if it is not.
    pub(super) fn distance(&self, other: &[u8]) -> Option<Distance> {
        if other.len().abs_diff(self.length) > self.max + 1 {
            return None;
        }
        let other = fold(str::from_utf8(other).ok()?);
        let args = Args::default().score_cutoff(self.max);
        self.folded.distance_with_args(other.chars(), &args).map(Distance)
    }

    /// The nearest names that a table has.
    pub(super) fn in_table<B: AsRef<[u8]>>(&self, table: &SymbolTable<B>) -> Vec<NearName> {
        let mut all = BTreeMap::new();
        table.each_name(|name, first| {
            if let Some(distance) = self.distance(name)
                && let Ok(name) = str::from_utf8(name)
                && let Some((path, _)) = table.file(first.file)
            {
                keep_first(&mut all, (distance, name.to_owned()), (path, first.line));
            }
            true
        });
        named(all)
    }

    pub(super) fn visitor(&self) -> NearVisitor<'_> {
        NearVisitor { wanted: self, found: BTreeMap::new() }
    }
}

/// The nearest names of all threads.
pub(super) fn nearest(visitors: Vec<NearVisitor<'_>>) -> Vec<NearName> {
    let mut all = BTreeMap::new();
    for visitor in visitors {
        for (key, place) in visitor.found {
            keep_first(&mut all, key, place);
        }
    }
    named(all)
}

fn named(all: BTreeMap<(Distance, String), (RelPath, u32)>) -> Vec<NearName> {
    let names = all.into_iter().take(MAX_NAMES);
    names.map(|((_, name), (path, line))| NearName { name, path, line }).collect()
}

impl WordVisitor for NearVisitor<'_> {
    fn visit(&mut self, file: &WordFile<'_>) {
        let Some(language) = file.language else { return };
        let text = file.text;
        let mut at = 0;
        while at < text.len() {
            if !is_name_byte(text[at]) {
                at += 1;
                continue;
            }
            let rest = &text[at..];
            let length = rest.iter().position(|&byte| !is_name_byte(byte)).unwrap_or(rest.len());
            let (start, end) = (at, at + length);
            at = end;
            if let Some(distance) = self.wanted.distance(&text[start..end])
                && chance_at(language, text, start, end) == Chance::Major
                && let Ok(name) = str::from_utf8(&text[start..end])
            {
                let line = memchr::memchr_iter(b'\n', &text[..start]).count() as u32 + 1;
                let key = (distance, name.to_owned());
                keep_first(&mut self.found, key, (file.path.clone(), line));
                if self.found.len() > MAX_KEPT {
                    self.found.pop_last();
                }
            }
        }
    }
}

/// Of several places the first by path is kept, so that the answer does not depend on threads.
fn keep_first(
    all: &mut BTreeMap<(Distance, String), (RelPath, u32)>,
    key: (Distance, String),
    place: (RelPath, u32),
) {
    let known = all.entry(key).or_insert_with(|| place.clone());
    if place < *known {
        *known = place;
    }
}

/// Without case and underscores, which people remember least.
fn fold(name: &str) -> String {
    name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_differ_by_case_underscores_or_a_slip() {
        let table = [
            ("DatabaseService", "databaseservice", Some(0)),
            ("DatabaseService", "database_service", Some(0)),
            ("DatabaseService", "DatabaseServise", Some(1)),
            ("DatabaseService", "DatabaesService", Some(1)),
            ("handleSubmit", "handleSubmits", Some(1)),
            ("handleSubmit", "handleReset", None),
            ("foo", "fop", Some(1)),
            ("foo", "bar", None),
            ("id", "it", None),
        ];
        for (name, other, expected) in table {
            let found = NearQuery::to(name).distance(other.as_bytes()).map(|distance| distance.0);
            assert_eq!(found, expected, "{name} {other}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_name_is_near_if_few_edits_lead_to_it(a in "[a-dé_]{3,12}", b in "[a-dé_]{3,12}") {
            let near = NearQuery::to(&a);
            let (fa, fb) = (fold(&a), fold(&b));
            let by_length = b.len().abs_diff(fa.len()) <= near.max + 1;
            let edits = strsim::osa_distance(&fb, &fa);
            let expected = (by_length && edits <= near.max).then_some(edits);
            let found = near.distance(b.as_bytes()).map(|distance| distance.0);
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
