//! Before-images: how the bytes that a change replaces are kept.
//!
//! The image of a large file of which little was changed keeps only what differs from its
//! replacement. Undoing requires that the replacement is still there, so nothing is lost by that,
//! and a small edit in a large file costs neither time nor room.

use serde::{Deserialize, Serialize};

/// Smaller files are kept whole: their images then stand on their own.
const DIFFERENCE_MIN: usize = 256 * 1024;

/// Shorter runs do not get smaller.
const COMPRESS_MIN: usize = 64;

/// How much of two files is compared at once.
const STRIDE: usize = 4096;

/// Where the image of a file lies in its entry and how to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Image {
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

impl Image {
    /// Appends the image of `before` to `out`, which begins at `start` in the entry's file.
    pub(crate) fn store(
        before: &[u8],
        after: Option<&[u8]>,
        start: u64,
        out: &mut Vec<u8>,
    ) -> Image {
        let (prefix, suffix) = after.map_or((0, 0), |after| shared_ends(before, after));
        let raw = &before[prefix..before.len() - suffix];
        let at = out.len();
        let packed = (raw.len() >= COMPRESS_MIN).then(|| lz4_flex::block::compress(raw));
        out.extend_from_slice(packed.as_deref().filter(|p| p.len() < raw.len()).unwrap_or(raw));
        Image {
            offset: start + at as u64,
            stored: (out.len() - at) as u64,
            raw: raw.len() as u64,
            prefix: prefix as u64,
            suffix: suffix as u64,
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

/// How many bytes at the start and at the end are the same, if leaving them out is worth it.
fn shared_ends(before: &[u8], after: &[u8]) -> (usize, usize) {
    if before.len() < DIFFERENCE_MIN {
        return (0, 0);
    }
    let prefix = shared_start(before.chunks(STRIDE), after.chunks(STRIDE), Side::Start);
    let (before_rest, after_rest) = (&before[prefix..], &after[prefix..]);
    let suffix = shared_start(before_rest.rchunks(STRIDE), after_rest.rchunks(STRIDE), Side::End);
    if prefix + suffix >= before.len() / 2 { (prefix, suffix) } else { (0, 0) }
}

enum Side {
    Start,
    End,
}

fn shared_start<'a>(
    a: impl Iterator<Item = &'a [u8]>,
    b: impl Iterator<Item = &'a [u8]>,
    side: Side,
) -> usize {
    let mut shared = 0;
    for (a, b) in a.zip(b) {
        if a == b {
            shared += a.len();
            continue;
        }
        let same = |(a, b): &(&u8, &u8)| a == b;
        return shared
            + match side {
                Side::Start => a.iter().zip(b).take_while(same).count(),
                Side::End => a.iter().rev().zip(b.iter().rev()).take_while(same).count(),
            };
    }
    shared
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_image_gives_back_every_byte(
            before in prop::collection::vec(0u8..4, 0..300),
            after in prop::collection::vec(0u8..4, 0..300),
            repeat in prop::sample::select(vec![1usize, 2000]),
        ) {
            let (before, after) = (before.repeat(repeat), after.repeat(repeat));
            let mut out = vec![0; 3];
            let image = Image::store(&before, Some(&after), 10, &mut out);
            prop_assert_eq!(image.offset, 13);
            let stored = &out[3..];
            prop_assert_eq!(stored.len() as u64, image.stored);
            prop_assert_eq!(image.read(stored, &after), Some(before));
        }
    }

    #[test]
    fn a_small_edit_in_a_large_file_keeps_only_the_edit() {
        let before = vec![b'x'; 1 << 20];
        let mut after = before.clone();
        after.splice(500_000..500_010, *b"twelve bytes");
        let mut out = Vec::new();
        let image = Image::store(&before, Some(&after), 0, &mut out);
        assert!(image.needs_replacement() && out.len() < 100);
        assert_eq!(image.read(&out, &after), Some(before.clone()));
        // A replacement of another length does not fit, and says so.
        assert_eq!(image.read(&out, b"short"), None);
    }

    #[test]
    fn shrinking_to_nothing_and_growing_from_nothing_work() {
        let large = vec![b'x'; 1 << 20];
        for (before, after) in [(&large[..], &b""[..]), (b"", &large), (&large, &large[..1])] {
            let mut out = Vec::new();
            let image = Image::store(before, Some(after), 0, &mut out);
            assert_eq!(image.read(&out, after), Some(before.to_vec()));
        }
    }
}
