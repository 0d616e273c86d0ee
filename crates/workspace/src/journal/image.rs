//! Before-images: how the bytes that a change replaces are kept.
//!
//! The image of a large file of which little was changed keeps only what differs from its
//! replacement. Undoing requires that the replacement is still there, so nothing is lost by that,
//! and a small edit in a large file costs neither time nor room.

use serde::{Deserialize, Serialize};

use super::old_bytes::OldBytes;

/// Shorter runs do not get smaller.
const COMPRESS_MIN: usize = 64;

/// Where the image of a file lies in its entry and how to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryImage {
    /// Where the stored bytes begin in the entry's file.
    pub(crate) offset: u64,
    /// How many bytes are stored.
    pub(crate) stored: u64,
    /// How many bytes they stand for.
    raw: u64,
    /// Bytes at the start that are those of the replacement.
    #[serde(default)]
    prefix: u64,
    /// Bytes at the end that are those of the replacement.
    #[serde(default)]
    suffix: u64,
}

impl EntryImage {
    /// Appends the image of old bytes to `out`.
    pub(crate) fn store(old: &OldBytes<'_>, out: &mut Vec<u8>) -> EntryImage {
        let raw = &old.middle;
        let at = out.len();
        let packed = (raw.len() >= COMPRESS_MIN).then(|| lz4_flex::block::compress(raw));
        out.extend_from_slice(packed.as_deref().filter(|p| p.len() < raw.len()).unwrap_or(raw));
        EntryImage {
            offset: at as u64,
            stored: (out.len() - at) as u64,
            raw: raw.len() as u64,
            prefix: old.start.len() as u64,
            suffix: old.end.len() as u64,
        }
    }

    /// Whether the replacement is needed to read the image.
    pub(crate) fn needs_replacement(&self) -> bool {
        self.prefix + self.suffix > 0
    }

    /// The bytes as they were; none if the stored bytes or the replacement do not fit. The caller
    /// compares the hash.
    pub(crate) fn read(&self, stored: &[u8], replacement: &[u8]) -> Option<Vec<u8>> {
        let size = |n: u64| usize::try_from(n).ok();
        let (prefix, raw, suffix) = (size(self.prefix)?, size(self.raw)?, size(self.suffix)?);
        let start = replacement.get(..prefix)?;
        let end = replacement.get(replacement.len().checked_sub(suffix)?..)?;
        let mut bytes = Vec::with_capacity(prefix + raw + suffix);
        bytes.extend_from_slice(start);
        if stored.len() == raw {
            bytes.extend_from_slice(stored);
        } else {
            bytes.extend_from_slice(&lz4_flex::block::decompress(stored, raw).ok()?);
        }
        bytes.extend_from_slice(end);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_image_gives_back_every_byte(
            new in prop::collection::vec(0u8..4, 0..300),
            middle in prop::collection::vec(0u8..4, 0..300),
            ends in any::<[prop::sample::Index; 2]>(),
            repeat in prop::sample::select(vec![1usize, 2000]),
        ) {
            let (new, middle) = (new.repeat(repeat), middle.repeat(repeat));
            let start = ends[0].index(new.len() + 1);
            let end = ends[1].index(new.len() - start + 1);
            let old = OldBytes { start: &new[..start], middle, end: &new[new.len() - end..] };
            let whole = [old.start, &old.middle, old.end].concat();
            let mut out = vec![0; 3];
            let image = EntryImage::store(&old, &mut out);
            prop_assert_eq!(image.offset, 3);
            let stored = &out[3..];
            prop_assert_eq!(stored.len() as u64, image.stored);
            prop_assert_eq!(image.needs_replacement(), start + end > 0);
            prop_assert_eq!(image.read(stored, &new), Some(whole));
        }
    }

    #[test]
    fn a_replacement_of_another_length_does_not_fit_and_says_so() {
        let new = vec![b'x'; 1000];
        let old = OldBytes { start: &new[..500], middle: b"old".to_vec(), end: &new[900..] };
        let mut out = Vec::new();
        let image = EntryImage::store(&old, &mut out);
        assert_eq!(out, b"old");
        assert_eq!(image.read(&out, b"short"), None);
    }
}
