//! The body of a request as pieces that follow each other, which other requests can share.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// A body to send. A copy shares the pieces.
#[derive(Clone, Debug, Default)]
pub struct RequestBody {
    pieces: VecDeque<Bytes>,
}

impl RequestBody {
    /// Adds a piece at the end.
    pub fn push(&mut self, piece: impl Into<Bytes>) {
        let piece = piece.into();
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }
}

impl From<Bytes> for RequestBody {
    fn from(piece: Bytes) -> Self {
        let mut body = Self::default();
        body.push(piece);
        body
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

#[cfg(test)]
mod tests {
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
}
