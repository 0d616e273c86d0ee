//! Numbers and names as bytes. Reading never goes beyond what is there.

/// Bits of a number in each byte.
const BITS: u32 = 7;
/// The bit that says that more follows.
const MORE: u8 = 1 << BITS;
/// The longest name that is read; what is longer was never written.
pub(super) const MAX_NAME: usize = 1024;

/// Writes a number in as few bytes as it takes.
pub(super) fn write_number(out: &mut Vec<u8>, mut number: u32) {
    while number >= u32::from(MORE) {
        out.push(number as u8 | MORE);
        number >>= BITS;
    }
    out.push(number as u8);
}

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
        write_number(out, place.file - before);
        before = place.file;
        write_number(out, place.line);
        write_number(out, place.column);
        out.push(place.kind);
        write_number(out, place.container);
    }
}

/// Writes a name after the one before it, with its places.
pub(super) fn write_name(out: &mut Vec<u8>, before: &[u8], name: &[u8], places: &[u8]) {
    let shared = before.iter().zip(name).take_while(|(a, b)| a == b).count();
    write_number(out, shared as u32);
    write_number(out, (name.len() - shared) as u32);
    out.extend_from_slice(&name[shared..]);
    write_number(out, places.len() as u32);
    out.extend_from_slice(places);
}

/// Reads what the functions above wrote.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        let mut number = 0u32;
        for shift in (0..u32::BITS).step_by(BITS as usize) {
            let byte = self.byte()?;
            number |= u32::from(byte & !MORE).checked_shl(shift)?;
            if byte & MORE == 0 {
                return Some(number);
            }
        }
        None
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
