//! Blocks of numbers in as few bits as the largest of them needs.
//!
//! A library for this has vector instructions for each width, which take nine seconds to build. A search
//! spends its time on the files that the lists name, not on the lists.

/// Numbers of a block.
pub(super) const BLOCK: usize = 128;
/// The bits of the largest number.
pub(super) const MAX_WIDTH: u8 = 32;
const MAX_BYTES: usize = bytes_of(MAX_WIDTH);

/// The bytes of a block of this width.
pub(super) const fn bytes_of(width: u8) -> usize {
    width as usize * BLOCK / 8
}

/// The bits of the largest number of a block.
pub(super) fn width_of(block: &[u32; BLOCK]) -> u8 {
    let all = block.iter().fold(0, |all, number| all | number);
    (u32::BITS - all.leading_zeros()) as u8
}

/// Appends a block whose numbers have at most `width` bits.
pub(super) fn push(out: &mut Vec<u8>, block: &[u32; BLOCK], width: u8) {
    let (mut waiting, mut bits) = (0_u64, 0);
    for &number in block {
        waiting |= u64::from(number) << bits;
        bits += u32::from(width);
        if bits >= u32::BITS {
            out.extend((waiting as u32).to_le_bytes());
            waiting >>= u32::BITS;
            bits -= u32::BITS;
        }
    }
}

/// Takes a block of this width off the beginning of `bytes`; none if there is no whole one.
pub(super) fn take(bytes: &mut &[u8], width: u8) -> Option<[u32; BLOCK]> {
    if width > MAX_WIDTH {
        return None;
    }
    let (packed, rest) = bytes.split_at_checked(bytes_of(width))?;
    *bytes = rest;
    // Eight bytes are loaded at a time, also where a block ends.
    let mut padded = [0; MAX_BYTES + 8];
    padded[..packed.len()].copy_from_slice(packed);
    let mask = (1_u64 << width) - 1;
    let number = |index: usize| {
        let bit = index * usize::from(width);
        let mut eight = [0; 8];
        eight.copy_from_slice(&padded[bit / 8..bit / 8 + 8]);
        (u64::from_le_bytes(eight) >> (bit % 8) & mask) as u32
    };
    Some(std::array::from_fn(number))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blocks_come_back(
            numbers in proptest::collection::vec(any::<u32>(), BLOCK),
            width in 0..=MAX_WIDTH,
            wider in 0..=MAX_WIDTH,
        ) {
            let mask = ((1_u64 << width) - 1) as u32;
            let block: [u32; BLOCK] = std::array::from_fn(|index| numbers[index] & mask);
            prop_assert!(width_of(&block) <= width);
            let width = width.max(wider);
            let mut bytes = vec![7];
            push(&mut bytes, &block, width);
            prop_assert_eq!(bytes.len(), 1 + bytes_of(width));
            bytes.push(9);
            let mut rest = &bytes[1..];
            prop_assert_eq!(take(&mut rest, width), Some(block));
            prop_assert_eq!(rest, [9]);
        }
    }

    #[test]
    fn what_is_cut_or_too_wide_is_refused() {
        assert_eq!(take(&mut [0; 31].as_slice(), 2), None);
        assert_eq!(take(&mut [0; 1024].as_slice(), MAX_WIDTH + 1), None);
        assert_eq!(take(&mut [].as_slice(), 0), Some([0; BLOCK]));
        assert_eq!((width_of(&[0; BLOCK]), width_of(&[u32::MAX; BLOCK])), (0, 32));
    }
}
