//! The body of a request as pieces that follow each other. Most of them are shared with the requests
//! before it, so that a long conversation is in memory once, however often it is sent.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// A piece this large is closed and shared from then on. What is smaller is copied into each
/// request, which costs less than to send many small pieces.
const PIECE_BYTES: usize = 64 * 1024;

/// A body to send. A copy shares the pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestBody {
    pieces: VecDeque<Bytes>,
}

impl RequestBody {
    pub(crate) fn push(&mut self, piece: impl Into<Bytes>) {
        let piece = piece.into();
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    #[cfg(test)]
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.iter()
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len())
    }
}

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

    #[test]
    fn a_body_knows_its_length_and_gives_its_pieces_once() {
        let mut body = RequestBody::default();
        ["one", "", "two"].into_iter().for_each(|piece| body.push(piece));
        assert_eq!(body.size_hint().exact(), Some(6));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut seen = Vec::new();
        let mut sent = body.clone();
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut sent).poll_frame(&mut cx) {
            seen.push(frame.into_data().unwrap());
        }
        assert_eq!(seen, ["one", "two"]);
        assert!(sent.is_end_stream() && !body.is_end_stream());
    }

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
