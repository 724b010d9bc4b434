//! The body of a request: pieces that are sent in order and never joined.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The pieces of a body in the order of sending. Their length is the request's Content-Length.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pieces {
    /// None of them is empty.
    pieces: std::vec::IntoIter<Bytes>,
    bytes_left: u64,
}

impl Pieces {
    pub(crate) fn new(mut pieces: Vec<Bytes>) -> Self {
        pieces.retain(|piece| !piece.is_empty());
        let bytes_left = pieces.iter().map(|piece| piece.len() as u64).sum();
        Pieces { pieces: pieces.into_iter(), bytes_left }
    }

    /// Number of bytes that are still to be sent.
    pub(crate) fn bytes_left(&self) -> u64 {
        self.bytes_left
    }

    /// The pieces that are still to be sent.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.as_slice().iter()
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(piece) = self.pieces.next() else {
            assert_eq!(self.bytes_left, 0, "a body ends before its announced length");
            return Poll::Ready(None);
        };
        assert!(!piece.is_empty(), "an empty piece, which ends a chunked body, with {} bytes to send", self.bytes_left);
        assert!(piece.len() as u64 <= self.bytes_left, "{} bytes to send of {}", piece.len(), self.bytes_left);
        self.bytes_left -= piece.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        let pieces = self.pieces.len();
        assert_eq!(self.bytes_left == 0, pieces == 0, "{pieces} pieces hold {} bytes to send", self.bytes_left);
        self.bytes_left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes_left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_pieces_are_left_out_and_the_length_counts_down() {
        let mut body =
            Pieces::new(vec![Bytes::new(), Bytes::from_static(b"abc"), Bytes::new(), Bytes::from_static(b"de")]);
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut got = Vec::new();
        assert_eq!(body.size_hint().exact(), Some(5));
        while !body.is_end_stream() {
            let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) else { panic!("no frame") };
            got.extend_from_slice(frame.data_ref().unwrap());
            assert_eq!(body.size_hint().exact(), Some(5 - got.len() as u64));
        }
        assert_eq!(got, b"abcde");
    }
}
