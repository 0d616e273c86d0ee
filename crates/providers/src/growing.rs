//! Bytes of a request's body that only grow. Most of them are shared with the requests before it, so that a long
//! conversation is in memory once, however often it is sent.

use std::io;

use hyper::body::Bytes;

/// A piece this large is closed and shared from then on. What is smaller is copied into each
/// request, which costs less than to send many small pieces.
const PIECE_BYTES: usize = 64 * 1024;

/// Bytes that only grow.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    closed: Vec<Bytes>,
    open: Vec<u8>,
}

impl Growing {
    pub(crate) fn is_empty(&self) -> bool {
        self.closed.is_empty() && self.open.is_empty()
    }

    /// Those that are shared.
    pub(crate) fn closed(&self) -> &[Bytes] {
        &self.closed
    }

    /// Those after them.
    pub(crate) fn open(&self) -> &[u8] {
        &self.open
    }
}

impl io::Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open.extend_from_slice(bytes);
        if self.open.len() >= PIECE_BYTES {
            // A boxed slice has no spare room at its end.
            let full = std::mem::take(&mut self.open).into_boxed_slice();
            self.closed.push(full.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn what_grows_is_all_there_and_closed_pieces_never_change(
            lengths in prop::collection::vec(0_usize..3 * PIECE_BYTES, 0..12),
        ) {
            let (mut growing, mut all) = (Growing::default(), Vec::new());
            for (length, byte) in lengths.into_iter().zip(b'a'..) {
                let before = growing.closed().to_vec();
                growing.write_all(&vec![byte; length]).unwrap();
                all.extend(vec![byte; length]);
                prop_assert_eq!(&growing.closed()[..before.len()], &before[..]);
                prop_assert!(growing.open().len() < PIECE_BYTES);
                prop_assert_eq!([growing.closed().concat(), growing.open().to_vec()].concat(), &all[..]);
                prop_assert_eq!(growing.is_empty(), all.is_empty());
            }
        }
    }
}
