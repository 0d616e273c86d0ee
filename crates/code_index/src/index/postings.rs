//! The list of the files that have a trigram.
//!
//! A list begins with a checksum of the rest and with its length. Then come either blocks of 128
//! files, each with the width of its gaps in bits and the packed gaps, and a rest of gaps as varints;
//! or, where that is shorter, a bitmap. For a single file there is no list: the dictionary has the
//! file itself.
//!
//! Without the checksum a damaged list would name other files, and a search would not find those
//! that it no longer names.

use super::candidates::Candidates;
use super::format::checksum;
use super::packed::{self, BLOCK};
use super::varint;

/// Bytes of the checksum of a list.
const SUM_BYTES: usize = 4;

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
        let start = out.len();
        out.extend([0; SUM_BYTES]);
        varint::push(out, list.len() as u32);
        let kind = self.push_files(list, out);
        let (sum, summed) = out[start..].split_at_mut(SUM_BYTES);
        sum.copy_from_slice(&sum_of(summed));
        kind
    }

    /// Appends the packed files, or their bitmap if that is shorter.
    fn push_files(&self, list: &[u32], out: &mut Vec<u8>) -> ListKind {
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

fn sum_of(bytes: &[u8]) -> [u8; SUM_BYTES] {
    (checksum(bytes) as u32).to_le_bytes()
}

/// A list as it was written, of which only the length was read.
#[derive(Clone, Copy)]
pub(super) struct PostingList<'a> {
    kind: ListKind,
    length: u32,
    sum: [u8; SUM_BYTES],
    /// What the sum is about, with whatever follows it.
    summed: &'a [u8],
    /// The same after the length.
    files_at: usize,
}

impl<'a> PostingList<'a> {
    /// The list at the beginning of `bytes`, in an index of so many files; none if it cannot be one.
    pub(super) fn at(bytes: &'a [u8], kind: ListKind, files: u32) -> Option<Self> {
        let (sum, summed) = bytes.split_first_chunk()?;
        let mut rest = summed;
        let length = varint::take(&mut rest).filter(|length| (2..=files).contains(length))?;
        let files_at = summed.len() - rest.len();
        Some(Self { kind, length, sum: *sum, summed, files_at })
    }

    /// How many files it says that it has.
    pub(super) fn length(&self) -> u32 {
        self.length
    }

    /// Adds its files to `into`; none if it is not as it was written. Some may have been added then.
    pub(super) fn read(&self, files: u32, into: &mut Candidates) -> Option<()> {
        let mut rest = &self.summed[self.files_at..];
        match self.kind {
            ListKind::Bitmap => {
                into.insert_bytes(rest.split_off(..Candidates::byte_length(files))?);
            }
            _ => unpack(self.length, &mut rest, into)?,
        }
        let summed = &self.summed[..self.summed.len() - rest.len()];
        (sum_of(summed) == self.sum).then_some(())
    }
}

/// Takes packed files off the beginning of `bytes`; none if they are malformed.
fn unpack(length: u32, bytes: &mut &[u8], into: &mut Candidates) -> Option<()> {
    let mut next = 0_u32;
    let mut insert = |gap: u32| {
        let file = next.checked_add(gap).filter(|&file| into.insert(file))?;
        next = file + 1;
        Some(())
    };
    for _ in 0..length as usize / BLOCK {
        let &width = bytes.split_off_first()?;
        packed::take(bytes, width)?.into_iter().try_for_each(&mut insert)?;
    }
    for _ in 0..length as usize % BLOCK {
        insert(varint::take(bytes)?)?;
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
        let size = bytes.len();
        // Another list follows.
        bytes.extend([0xFF; 9]);
        let read = PostingList::at(&bytes, kind, files).unwrap();
        assert_eq!(read.length(), list.len() as u32);
        let mut found = Candidates::none(files);
        read.read(files, &mut found).unwrap();
        assert_eq!(found.to_vec(), list);
        (kind, size)
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
        assert_eq!(round_trip(&third, 300_000), (ListKind::Bitmap, 37_507));
        let dense: Vec<u32> = (0..100_000).collect();
        assert!(round_trip(&dense, 100_000).1 < 1000);
    }

    #[test]
    fn lists_come_back_at_the_borders_of_blocks() {
        let lengths = [1, 2, 3].map(|blocks| blocks * BLOCK as u32);
        for length in lengths.into_iter().flat_map(|length| length - 1..=length + 1) {
            for apart in [1, 2, 1000, u32::from(u16::MAX)] {
                let list: Vec<u32> = (0..length).map(|file| file * apart).collect();
                let files = (length - 1) * apart + 1;
                round_trip(&list, files);
                let behind: Vec<u32> = list.iter().map(|file| file + 70_000).collect();
                round_trip(&behind, files + 70_000);
                let with_first: Vec<u32> = [0].into_iter().chain(behind).collect();
                round_trip(&with_first, files + 170_000);
            }
        }
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
        fn nonsense_is_refused_and_never_fatal(
            bytes in proptest::collection::vec(any::<u8>(), 0..3000),
            files in 0u32..3000,
            bitmap: bool,
        ) {
            let kind = if bitmap { ListKind::Bitmap } else { ListKind::Packed };
            let mut found = Candidates::none(files);
            if let Some(list) = PostingList::at(&bytes, kind, files) {
                prop_assert!(list.length() <= files);
                let _ = list.read(files, &mut found);
            }
            prop_assert!(found.to_vec().iter().all(|&file| file < files));
        }
    }
}
