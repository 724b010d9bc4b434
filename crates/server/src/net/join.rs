//! Joins short pieces of a response in buffers of the pool: a system call takes few pieces (the HTTP library passes
//! 16), however short they are.

use crate::net::peer::Peer;
use bytes::Bytes;
use rawline_broker::pool::{Gathered, take_front};
use std::collections::VecDeque;
use std::time::Duration;

/// Pieces up to this size are joined. Sixteen longer ones are worth a system call.
const SHORT_BYTES_MAX: usize = 4 << 10;

/// A response of fewer short pieces takes a few system calls anyway.
const SHORT_MIN: usize = 64;

/// Maximum size of the joined pieces of one response in bytes: 4,096 batches of a record of 100 bytes. Pieces after it
/// are sent as they are.
const JOINED_BYTES_MAX: u64 = 1 << 20;

/// A response's pieces, and whether some of them are buffers of the pool.
pub(crate) struct Joined {
    pub pieces: Vec<Bytes>,
    pub holds_buffers: bool,
}

/// Joins short pieces, if buffers are free.
pub(crate) async fn join(peer: &Peer, pieces: Vec<Bytes>) -> Joined {
    let (count, bytes) = within(&pieces, JOINED_BYTES_MAX);
    let (front, rest) = pieces.split_at(count);
    if front.iter().filter(|piece| is_short(piece)).count() < SHORT_MIN {
        return Joined { pieces, holds_buffers: false };
    }
    // Nothing waits for them: without them, it only takes more calls.
    let Ok(reservation) = peer.holder.reserve(bytes, Duration::ZERO).await else {
        return Joined { pieces, holds_buffers: false };
    };
    let mut joined = copy_short(front, Gathered::new(reservation), bytes);
    joined.extend_from_slice(rest);
    Joined { pieces: joined, holds_buffers: true }
}

fn is_short(piece: &Bytes) -> bool {
    piece.len() <= SHORT_BYTES_MAX
}

/// The number of pieces whose short ones have at most `bytes_max` bytes, and how many these have.
fn within(pieces: &[Bytes], bytes_max: u64) -> (usize, u64) {
    let mut bytes = 0;
    for (number, piece) in pieces.iter().enumerate().filter(|(_, piece)| is_short(piece)) {
        if bytes + piece.len() as u64 > bytes_max {
            return (number, bytes);
        }
        bytes += piece.len() as u64;
    }
    (pieces.len(), bytes)
}

/// The same bytes in fewer pieces: those of short ones, `bytes` in all, are copied to `room`.
fn copy_short(pieces: &[Bytes], mut room: Gathered, bytes: u64) -> Vec<Bytes> {
    let is_whole = pieces.iter().filter(|piece| is_short(piece)).all(|piece| room.push(piece));
    assert!(is_whole && room.bytes() == bytes, "{} bytes were joined of {bytes}", room.bytes());
    let mut blocks = VecDeque::from(room.freeze());
    let (mut joined, mut run) = (Vec::new(), 0);
    for piece in pieces {
        if is_short(piece) {
            run += piece.len();
        } else {
            take_front(&mut blocks, std::mem::take(&mut run), &mut joined);
            joined.push(piece.clone());
        }
    }
    take_front(&mut blocks, run, &mut joined);
    assert!(blocks.is_empty(), "{} blocks of joined bytes are left over", blocks.len());
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use rawline_broker::limits::BLOCK_BYTES;
    use rawline_broker::pool::Pool;
    use std::net::Ipv4Addr;

    fn pieces(lengths: impl IntoIterator<Item = usize>) -> Vec<Bytes> {
        let piece = |(number, length): (usize, usize)| (0..length).map(|i| (number * 7 + i) as u8).collect();
        lengths.into_iter().enumerate().map(piece).collect()
    }

    #[test]
    fn short_pieces_are_joined_between_long_ones() {
        let lengths = (0..1000).map(|number| if number % 300 == 299 { 10_000 } else { 100 + number % 50 });
        let pieces = pieces(lengths);
        let (count, bytes) = within(&pieces, u64::MAX);
        assert_eq!(count, pieces.len());
        let pool = Pool::new(4 * BLOCK_BYTES);
        let holder = pool.holder(Ipv4Addr::LOCALHOST.into());
        let reserved = holder.reserve(bytes, Duration::ZERO).now_or_never().unwrap();
        let joined = copy_short(&pieces, Gathered::new(reserved.unwrap()), bytes);
        assert_eq!(joined.concat(), pieces.concat());
        assert!(joined.len() <= 2 * 3 + 1 + 3, "{} pieces", joined.len());
        drop(joined);
        assert_eq!(pool.bytes_free(), pool.bytes());
    }

    #[test]
    fn what_is_joined_of_one_response_is_limited() {
        let pieces = pieces([100, 9000, 200, 300, 400]);
        assert_eq!(within(&pieces, 600), (4, 600));
        assert_eq!(within(&pieces, 599), (3, 300));
        assert_eq!(within(&pieces, 0), (0, 0));
    }
}
