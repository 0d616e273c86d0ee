//! Names in any order become names in order, in little memory: parts are sorted and packed as they
//! come, and merged at the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bytes::{MAX_NAME, PackedPlace, TableReader, write_name, write_places};

/// Memory that unsorted names of one thread take before they are packed.
const UNSORTED_BYTES: usize = 8 * 1024 * 1024;

/// What one thread has found.
#[derive(Default)]
pub(super) struct NameRuns {
    names: Vec<u8>,
    entries: Vec<(usize, u32, PackedPlace)>,
    /// Packed and sorted parts.
    pub(super) runs: Vec<Vec<u8>>,
}

impl NameRuns {
    /// Adds a name; one that is too long to be a name is left out.
    pub(super) fn add(&mut self, name: &[u8], place: PackedPlace) {
        if name.is_empty() || name.len() > MAX_NAME {
            return;
        }
        self.entries.push((self.names.len(), name.len() as u32, place));
        self.names.extend_from_slice(name);
        let used = self.names.len() + self.entries.len() * size_of::<(usize, u32, PackedPlace)>();
        if used > UNSORTED_BYTES {
            self.pack();
        }
    }

    /// Sorts and packs what was added since the last time.
    pub(super) fn pack(&mut self) {
        let names = &self.names;
        let name_of = |&(start, length, _): &(usize, u32, PackedPlace)| {
            &names[start..start + length as usize]
        };
        self.entries
            .sort_unstable_by(|a, b| name_of(a).cmp(name_of(b)).then_with(|| a.2.cmp(&b.2)));
        let mut run = Vec::new();
        let mut before: &[u8] = &[];
        let mut places = Vec::new();
        let mut packed = Vec::new();
        for group in self.entries.chunk_by(|a, b| name_of(a) == name_of(b)) {
            places.clear();
            places.extend(group.iter().map(|entry| entry.2));
            packed.clear();
            write_places(&mut packed, &places);
            let name = name_of(&group[0]);
            write_name(&mut run, before, name, &packed);
            before = name;
        }
        if !run.is_empty() {
            run.shrink_to_fit();
            self.runs.push(run);
        }
        self.entries.clear();
        self.names.clear();
    }
}

/// Hands every name of all runs, in order and once, with its packed places to `take`.
pub(super) fn merge<E>(
    runs: &[Vec<u8>],
    mut take: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut readers: Vec<(TableReader<'_>, Vec<u8>)> =
        runs.iter().map(|run| (TableReader::new(run), Vec::new())).collect();
    let mut next = BinaryHeap::new();
    for (index, (reader, before)) in readers.iter_mut().enumerate() {
        if let Some((name, places)) = reader.next_name(before) {
            next.push(Reverse((name, index, places)));
        }
    }
    let mut all = Vec::new();
    let mut packed = Vec::new();
    while let Some(Reverse((name, index, first))) = next.pop() {
        let mut refill = vec![index];
        let mut rest = Vec::new();
        while next.peek().is_some_and(|Reverse((other, ..))| *other == name) {
            if let Some(Reverse((_, index, places))) = next.pop() {
                refill.push(index);
                rest.push(places);
            }
        }
        if rest.is_empty() {
            take(&name, first)?;
        } else {
            all.clear();
            for places in std::iter::once(first).chain(rest) {
                let mut reader = TableReader::new(places);
                let mut file = 0;
                all.extend(std::iter::from_fn(|| reader.next_place(&mut file)));
            }
            all.sort_unstable();
            packed.clear();
            write_places(&mut packed, &all);
            take(&name, &packed)?;
        }
        for index in refill {
            let (reader, before) = &mut readers[index];
            if let Some((name, places)) = reader.next_name(before) {
                next.push(Reverse((name, index, places)));
            }
        }
    }
    Ok(())
}
