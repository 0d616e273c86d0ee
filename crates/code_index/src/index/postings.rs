//! The list of the files that have a trigram.
//!
//! A list begins with its length. Then come either blocks of 128 files, each with the width of its
//! gaps in bits and the packed gaps, and a rest of gaps as varints; or, where that is shorter, a
//! bitmap. For a single file there is no list: the dictionary has the file itself.

use super::candidates::Candidates;
use super::packed::{self, BLOCK};
use super::varint;

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// One file, in the dictionary.
    Single,
    /// Gaps.
    Packed,
    /// A bit for each file.
    Bitmap,
}

impl ListKind {
    pub(super) fn to_bits(self) -> u16 {
        match self {
            ListKind::Single => 1,
            ListKind::Packed => 2,
            ListKind::Bitmap => 3,
        }
    }

    pub(super) fn from_bits(bits: u16) -> Option<ListKind> {
        match bits {
            1 => Some(ListKind::Single),
            2 => Some(ListKind::Packed),
            3 => Some(ListKind::Bitmap),
            _ => None,
        }
    }
}

/// Writes lists.
pub(super) struct Encoder {
    files: u32,
    packed: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(files: u32) -> Self {
        Self { files, packed: Vec::new() }
    }

    /// Appends a list of more than one file, which must ascend.
    pub(super) fn push(&mut self, list: &[u32], out: &mut Vec<u8>) -> ListKind {
        self.pack(list);
        varint::push(out, list.len() as u32);
        if self.packed.len() <= Candidates::byte_length(self.files) {
            out.extend_from_slice(&self.packed);
            return ListKind::Packed;
        }
        let start = out.len();
        out.resize(start + Candidates::byte_length(self.files), 0);
        for &file in list {
            out[start + (file / 8) as usize] |= 1 << (file % 8);
        }
        ListKind::Bitmap
    }

    fn pack(&mut self, list: &[u32]) {
        self.packed.clear();
        // The least that the next file can be; what it is more is the gap.
        let mut next = 0;
        let mut gap = |file: u32| {
            let gap = file - next;
            next = file + 1;
            gap
        };
        let (blocks, rest) = list.as_chunks::<BLOCK>();
        for block in blocks {
            let gaps = block.map(&mut gap);
            let width = packed::width_of(&gaps);
            self.packed.push(width);
            packed::push(&mut self.packed, &gaps, width);
        }
        for &file in rest {
            varint::push(&mut self.packed, gap(file));
        }
    }
}

/// The length of the list at the beginning of `bytes`; none if it cannot be one.
pub(super) fn length(bytes: &mut &[u8], files: u32) -> Option<u32> {
    varint::take(bytes).filter(|length| (2..=files).contains(length))
}

/// Adds the files of a list to `into`; none if it is malformed. `bytes` begin after the length.
pub(super) fn read(
    kind: ListKind,
    length: u32,
    mut bytes: &[u8],
    files: u32,
    into: &mut Candidates,
) -> Option<()> {
    if kind == ListKind::Bitmap {
        into.insert_bytes(bytes.get(..Candidates::byte_length(files))?);
        return Some(());
    }
    let mut next = 0_u32;
    let mut insert = |gap: u32| {
        let file = next.checked_add(gap).filter(|&file| into.insert(file))?;
        next = file + 1;
        Some(())
    };
    for _ in 0..length as usize / BLOCK {
        let (&width, rest) = bytes.split_first()?;
        bytes = rest;
        packed::take(&mut bytes, width)?.into_iter().try_for_each(&mut insert)?;
    }
    for _ in 0..length as usize % BLOCK {
        insert(varint::take(&mut bytes)?)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(list: &[u32], files: u32) -> (ListKind, usize) {
        let mut bytes = Vec::new();
        let kind = Encoder::new(files).push(list, &mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!(length(&mut rest, files), Some(list.len() as u32));
        let mut found = Candidates::none(files);
        read(kind, list.len() as u32, rest, files, &mut found).unwrap();
        assert_eq!(found.to_vec(), list);
        (kind, bytes.len())
    }

    /// Whether a file belongs to a list of about one in `share` files without any order.
    fn scattered(file: u32, share: u32) -> bool {
        (file.wrapping_mul(2_654_435_761) >> 7).is_multiple_of(share)
    }

    #[test]
    fn lists_take_little_room() {
        let third: Vec<u32> = (0..300_000).filter(|&file| scattered(file, 3)).collect();
        assert_eq!(round_trip(&third, 1_000_000).0, ListKind::Packed);
        assert!(round_trip(&third, 1_000_000).1 < third.len() * 5 / 8);
        assert_eq!(round_trip(&third, 300_000), (ListKind::Bitmap, 37_503));
        let dense: Vec<u32> = (0..100_000).collect();
        assert!(round_trip(&dense, 100_000).1 < 1000);
    }

    proptest! {
        #[test]
        fn lists_come_back(files in 2u32..5000, seed: Vec<u32>, share in 1u32..40) {
            let mut list: Vec<u32> = (0..files)
                .filter(|&file| scattered(file, share))
                .chain(seed.iter().map(|file| file % files))
                .chain([0, files - 1])
                .collect();
            list.sort_unstable();
            list.dedup();
            round_trip(&list, files);
        }

        #[test]
        fn nonsense_is_refused_or_read_but_never_fatal(
            bytes in proptest::collection::vec(any::<u8>(), 0..3000),
            count in 0u32..2000,
            files in 0u32..3000,
            bitmap: bool,
        ) {
            let kind = if bitmap { ListKind::Bitmap } else { ListKind::Packed };
            let mut found = Candidates::none(files);
            let _ = read(kind, count, &bytes, files, &mut found);
            prop_assert!(found.to_vec().iter().all(|&file| file < files));
            let counted = length(&mut bytes.as_slice(), files);
            prop_assert!(counted.is_none_or(|count| count <= files));
        }
    }
}
