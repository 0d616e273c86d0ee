//! How an index is laid out.
//!
//! ```text
//! MAGIC
//! postings    lists, in the order of their trigrams
//! entries     the dictionary, in buckets by the upper half of the trigram
//! paths       the paths of all files, one after the other
//! path ends   where each path ends
//! stamps      one per file
//! flags       one byte per file
//! metadata    whatever the caller has to say
//! directory   for each bucket: its first entry, where its lists begin, a checksum
//! footer      lengths of the above and a checksum of everything from the paths on
//! ```
//!
//! The footer comes last so that an index can be written in one go. All numbers are little-endian
//! and nothing is aligned. What the checksum of the footer does not cover has checksums of its own,
//! since only little of it is read for a question: each bucket of the dictionary, and each list.

use std::ops::Range;

use protocol::ContentHash;

use super::postings::ListKind;
use super::stamp::IndexStamp;

pub(super) const MAGIC: &[u8; 8] = b"TKINDEX1";
/// To be counted up with each change of the format or of what counts as a trigram.
const VERSION: u32 = 3;

/// Bits of a trigram that choose the bucket, and bits that choose the entry in it.
const HALF_BITS: u32 = 12;
const HALF_MASK: u32 = (1 << HALF_BITS) - 1;
pub(super) const BUCKETS: usize = 1 << HALF_BITS;

/// Two lists that are not about trigrams have the place of trigrams that span lines.
pub(super) const ALWAYS: u32 = 0x0A_0A_00;
pub(super) const FOLDS: u32 = 0x0A_0A_01;

pub(super) fn bucket_of(trigram: u32) -> usize {
    (trigram >> HALF_BITS) as usize
}

/// The smallest trigram of a bucket.
pub(super) fn first_of(bucket: usize) -> u32 {
    (bucket as u32) << HALF_BITS
}

/// A trigram in the dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DictionaryEntry {
    /// The lower half of the trigram.
    pub(super) half: u16,
    pub(super) kind: ListKind,
    /// The only file, or where the list begins, from the beginning of the bucket's lists.
    pub(super) place: u32,
}

impl DictionaryEntry {
    pub(super) const BYTES: usize = 6;

    pub(super) fn half_of(trigram: u32) -> u16 {
        (trigram & HALF_MASK) as u16
    }

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let [low, high] = (self.half | self.kind.to_bits() << HALF_BITS).to_le_bytes();
        let [a, b, c, d] = self.place.to_le_bytes();
        [low, high, a, b, c, d]
    }

    /// None if the kind of list is unknown.
    pub(super) fn from_bytes(
        &[low, high, a, b, c, d]: &[u8; Self::BYTES],
    ) -> Option<DictionaryEntry> {
        let both = u16::from_le_bytes([low, high]);
        let kind = ListKind::from_bits(both >> HALF_BITS)?;
        Some(DictionaryEntry {
            half: both & HALF_MASK as u16,
            kind,
            place: u32::from_le_bytes([a, b, c, d]),
        })
    }
}

/// A bucket in the directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bucket {
    /// The number of entries in the buckets before it.
    pub(super) first_entry: u32,
    /// Where its lists begin.
    pub(super) lists_at: u64,
    /// Of its entries.
    pub(super) checksum: u64,
}

impl Bucket {
    pub(super) const BYTES: usize = 20;

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.first_entry.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.lists_at.to_le_bytes());
        bytes[12..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Bucket {
        Bucket {
            first_entry: u32_at(bytes, 0),
            lists_at: u64_at(bytes, 4),
            checksum: u64_at(bytes, 12),
        }
    }
}

/// Detects damage, not manipulation.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    u64_at(ContentHash::of(bytes).as_bytes(), 0)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The lengths of all parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) files: u32,
    pub(super) entries: u32,
    pub(super) postings: u64,
    pub(super) paths: u64,
    pub(super) metadata: u64,
}

/// Why a file is not an index that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// It is something else.
    #[error("this is not an index")]
    NotAnIndex,
    /// It was written by another version of this program.
    #[error("the index has format {found}, this version reads {VERSION}")]
    OtherFormat {
        /// What it was written as.
        found: u32,
    },
    /// It is not as it was written.
    #[error("the index is damaged")]
    Damaged,
}

impl Footer {
    /// Lengths, checksum, version, magic.
    const BYTES: usize = 2 * 4 + 3 * 8 + 8 + 4 + MAGIC.len();
    const CHECKSUM_AT: usize = 2 * 4 + 3 * 8;
    const VERSION_AT: usize = Self::CHECKSUM_AT + 8;
    const MAGIC_AT: usize = Self::VERSION_AT + 4;

    /// Appends the footer to what it covers: an index from its paths on.
    pub(super) fn push_to(self, end: &mut Vec<u8>) {
        end.extend(self.files.to_le_bytes());
        end.extend(self.entries.to_le_bytes());
        end.extend(self.postings.to_le_bytes());
        end.extend(self.paths.to_le_bytes());
        end.extend(self.metadata.to_le_bytes());
        let sum = checksum(end);
        end.extend(sum.to_le_bytes());
        end.extend(VERSION.to_le_bytes());
        end.extend(MAGIC);
    }

    /// The length of the whole index.
    pub(super) fn index_bytes(&self) -> u64 {
        let each_file = 4 + IndexStamp::BYTES as u64 + 1;
        let fixed = MAGIC.len() + BUCKETS * Bucket::BYTES + Self::BYTES;
        let entries = u64::from(self.entries) * DictionaryEntry::BYTES as u64;
        let files = u64::from(self.files) * each_file + self.paths;
        fixed as u64 + self.postings + entries + files + self.metadata
    }

    /// Finds the parts of an index.
    pub(super) fn read(index: &[u8]) -> Result<SegmentParts, SegmentError> {
        if !index.starts_with(MAGIC) {
            return Err(SegmentError::NotAnIndex);
        }
        let at = index.len().checked_sub(Self::BYTES).ok_or(SegmentError::Damaged)?;
        let bytes = &index[at..];
        if bytes[Self::MAGIC_AT..] != *MAGIC {
            return Err(SegmentError::Damaged);
        }
        let found = u32_at(bytes, Self::VERSION_AT);
        if found != VERSION {
            return Err(SegmentError::OtherFormat { found });
        }
        let footer = Footer {
            files: u32_at(bytes, 0),
            entries: u32_at(bytes, 4),
            postings: u64_at(bytes, 8),
            paths: u64_at(bytes, 16),
            metadata: u64_at(bytes, 24),
        };
        let parts = footer.parts(at).ok_or(SegmentError::Damaged)?;
        let summed = &index[parts.paths.start..at + Self::CHECKSUM_AT];
        if checksum(summed) != u64_at(bytes, Self::CHECKSUM_AT) {
            return Err(SegmentError::Damaged);
        }
        Ok(parts)
    }

    /// The places of the parts; none unless they end exactly where the footer begins.
    fn parts(&self, footer_at: usize) -> Option<SegmentParts> {
        let files = self.files as usize;
        let mut at = MAGIC.len();
        let mut next = |length: Option<usize>| {
            let start = at;
            at = at.checked_add(length?)?;
            Some(start..at)
        };
        let parts = SegmentParts {
            files: self.files,
            postings: next(usize::try_from(self.postings).ok())?,
            entries: next((self.entries as usize).checked_mul(DictionaryEntry::BYTES))?,
            paths: next(usize::try_from(self.paths).ok())?,
            path_ends: next(files.checked_mul(4))?,
            stamps: next(files.checked_mul(IndexStamp::BYTES))?,
            flags: next(Some(files))?,
            metadata: next(usize::try_from(self.metadata).ok())?,
            directory: next(Some(BUCKETS * Bucket::BYTES))?,
        };
        (at == footer_at).then_some(parts)
    }
}

/// Where the parts of an index are.
#[derive(Debug, Clone)]
pub(super) struct SegmentParts {
    pub(super) files: u32,
    pub(super) postings: Range<usize>,
    pub(super) entries: Range<usize>,
    pub(super) paths: Range<usize>,
    pub(super) path_ends: Range<usize>,
    pub(super) stamps: Range<usize>,
    pub(super) flags: Range<usize>,
    pub(super) metadata: Range<usize>,
    pub(super) directory: Range<usize>,
}
