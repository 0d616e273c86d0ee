//! What the index remembers of a file besides its trigrams.

use std::ops::BitOr;

use super::extract::SearchableContent;

/// How a search treats a file, whatever its trigrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// Has a NUL byte; a candidate only where nothing is asked of the text.
    pub const BINARY: Flags = Flags(1);
    /// Its bytes say nothing about its text; always a candidate. Also right for a file that could
    /// not be read.
    pub const OPAQUE: Flags = Flags(1 << 1);
    /// Has a Kelvin sign or a long s; a candidate whenever these stand for k or s.
    pub const FOLDS: Flags = Flags(1 << 2);
    /// Above the size that is indexed; always a candidate.
    pub const TOO_LARGE: Flags = Flags(1 << 3);
    /// Has other names, through which it can change without an event in its directory; always a
    /// candidate.
    pub const HARD_LINKED: Flags = Flags(1 << 4);

    /// Whether all of `other` are set.
    pub fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the file is a candidate whatever is asked for.
    pub fn is_always_candidate(self) -> bool {
        self.0 & (Self::OPAQUE | Self::TOO_LARGE | Self::HARD_LINKED).0 != 0
    }

    pub(super) fn bits(self) -> u8 {
        self.0
    }

    pub(super) fn from_bits(bits: u8) -> Flags {
        Flags(bits)
    }
}

impl BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl SearchableContent<'_> {
    /// The flags that follow from a file's content.
    pub fn flags(&self) -> Flags {
        match self {
            SearchableContent::Binary => Flags::BINARY,
            SearchableContent::Opaque => Flags::OPAQUE,
            SearchableContent::Text { folds: true, .. } => Flags::FOLDS,
            SearchableContent::Text { folds: false, .. } => Flags::default(),
        }
    }
}

/// Shows later whether a file is still the one that was indexed. It must be taken
/// before the content is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexStamp {
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the content, in nanoseconds since 1970.
    pub modified: i64,
    /// Time of the last change of the inode, in nanoseconds since 1970.
    pub changed: i64,
    /// The inode number.
    pub inode: u64,
}

impl IndexStamp {
    /// The stamp of a file that could change without looking different. It is the same as none.
    pub const UNSETTLED: IndexStamp =
        IndexStamp { size: u64::MAX, modified: i64::MIN, changed: i64::MIN, inode: u64::MAX };

    /// Bytes of a stamp in the index.
    pub(super) const BYTES: usize = 4 * 8;

    /// Whether a file that looked like this and now looks like `other` has not changed.
    pub fn is_same(&self, other: &IndexStamp) -> bool {
        self == other && *self != Self::UNSETTLED
    }

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.size.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.modified.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.changed.to_le_bytes());
        bytes[24..].copy_from_slice(&self.inode.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES]) -> IndexStamp {
        let number = |at: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(eight)
        };
        IndexStamp {
            size: number(0),
            modified: number(8).cast_signed(),
            changed: number(16).cast_signed(),
            inode: number(24),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsettled_stamp_is_the_same_as_none() {
        let stamp = IndexStamp { size: 1, modified: -2, changed: 3, inode: u64::MAX };
        assert!(stamp.is_same(&IndexStamp::from_bytes(&stamp.to_bytes())));
        assert!(!stamp.is_same(&IndexStamp { changed: 4, ..stamp }));
        assert!(!IndexStamp::UNSETTLED.is_same(&IndexStamp::UNSETTLED));
    }
}
