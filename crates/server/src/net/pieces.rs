//! Writes bytes in pieces, many with one system call.

use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Pieces that are passed to one system call.
pub(crate) const PIECES_MAX: usize = 64;

/// Writes all of them, none of which is empty.
pub(crate) async fn write_pieces(
    stream: &mut (impl AsyncWrite + Unpin),
    mut pieces: VecDeque<Bytes>,
) -> io::Result<()> {
    while !pieces.is_empty() {
        let mut slices = [IoSlice::new(&[]); PIECES_MAX];
        for (slice, piece) in slices.iter_mut().zip(&pieces) {
            *slice = IoSlice::new(piece);
        }
        let (slices, _) = slices.split_at(pieces.len().min(PIECES_MAX));
        let written = stream.write_vectored(slices).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        take_front(&mut pieces, written);
    }
    stream.flush().await
}

/// Removes this many bytes from the front.
fn take_front(pieces: &mut VecDeque<Bytes>, mut count: usize) {
    while let Some(front) = pieces.front_mut() {
        if count < front.len() {
            front.advance(count);
            return;
        }
        count -= front.len();
        pieces.pop_front();
    }
    assert_eq!(count, 0, "more was written than there was");
}
