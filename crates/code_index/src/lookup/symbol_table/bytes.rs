//! Numbers and names as bytes. Reading never goes beyond what is there.

use crate::index::varint;

/// The longest name that is read; what is longer was never written.
pub(super) const MAX_NAME: usize = 1024;

/// The number of eight bytes at `at`.
pub(super) fn number_at(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

/// A place of a name, as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PackedPlace {
    pub(super) file: u32,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) kind: u8,
    /// One more than the number of the container; 0 for none.
    pub(super) container: u32,
}

/// Writes places that are in order.
pub(super) fn write_places(out: &mut Vec<u8>, places: &[PackedPlace]) {
    let mut before = 0;
    for place in places {
        varint::push(out, place.file - before);
        before = place.file;
        varint::push(out, place.line);
        varint::push(out, place.column);
        out.push(place.kind);
        varint::push(out, place.container);
    }
}

/// Writes a name after the one before it, with its places.
pub(super) fn write_name(out: &mut Vec<u8>, before: &[u8], name: &[u8], places: &[u8]) {
    let shared = before.iter().zip(name).take_while(|(a, b)| a == b).count();
    varint::push(out, shared as u32);
    varint::push(out, (name.len() - shared) as u32);
    out.extend_from_slice(&name[shared..]);
    varint::push(out, places.len() as u32);
    out.extend_from_slice(places);
}

/// Reads what the functions above wrote.
#[derive(Debug, Clone)]
pub(super) struct TableReader<'a> {
    rest: &'a [u8],
}

impl<'a> TableReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u32> {
        varint::take(&mut self.rest)
    }

    fn take(&mut self, count: u32) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count as usize)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next name, which shares its beginning with `before`, and the bytes of its places.
    pub(super) fn next_name(&mut self, before: &mut Vec<u8>) -> Option<(Vec<u8>, &'a [u8])> {
        let shared = self.number()? as usize;
        let length = self.number()?;
        if shared > before.len() || shared + length as usize > MAX_NAME {
            return None;
        }
        before.truncate(shared);
        before.extend_from_slice(self.take(length)?);
        let bytes = self.number()?;
        let places = self.take(bytes)?;
        Some((before.clone(), places))
    }

    /// The next place; `file` is the number of the file of the place before.
    pub(super) fn next_place(&mut self, file: &mut u32) -> Option<PackedPlace> {
        if self.rest.is_empty() {
            return None;
        }
        *file = file.checked_add(self.number()?)?;
        Some(PackedPlace {
            file: *file,
            line: self.number()?,
            column: self.number()?,
            kind: self.byte()?,
            container: self.number()?,
        })
    }
}
