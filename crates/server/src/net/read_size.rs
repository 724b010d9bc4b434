//! The size of a read from a connection.
//!
//! The HTTP library's buffer of a connection starts with 8 KiB, grows when reads fill it, and never shrinks. Large
//! reads need fewer system calls, but a thousand slow senders must not have large buffers: after a pause in which the
//! broker read nothing, they look fast too. So only some connections get them.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most that doesn't let the library's buffer grow, in bytes.
pub(crate) const SMALL: usize = (8 << 10) - 1;

/// So many full reads in a row make a connection fast: the system always has more for it than is read.
const FAST: u32 = 16;

/// Connections with large reads at a time. As many as need them are seldom fast at once.
const LARGE_MAX: usize = 64;

/// The connections that have large reads.
pub(crate) struct LargeReads(Arc<Semaphore>);

impl LargeReads {
    pub fn new() -> LargeReads {
        LargeReads(Arc::new(Semaphore::new(LARGE_MAX)))
    }

    /// The read sizes of a new connection.
    pub fn connection(&self) -> ReadSize {
        ReadSize { large: None, full: 0, places: self.0.clone() }
    }
}

/// The maximum size of a connection's next read.
pub(crate) struct ReadSize {
    /// Kept until the connection ends, like the library's buffer.
    large: Option<OwnedSemaphorePermit>,
    /// Full reads in a row.
    full: u32,
    places: Arc<Semaphore>,
}

impl ReadSize {
    /// How much to read next, if there is room for `room` bytes.
    pub fn limit(&self, room: usize) -> usize {
        if self.large.is_some() { room } else { room.min(SMALL) }
    }

    /// A read of at most `limit` bytes has returned `bytes`.
    pub fn returned(&mut self, bytes: usize, limit: usize) {
        assert!(bytes <= limit, "a read of at most {limit} bytes has returned {bytes}");
        if self.large.is_some() {
            return;
        }
        self.full = if bytes == SMALL { self.full + 1 } else { 0 };
        if self.full >= FAST {
            self.large = self.places.clone().try_acquire_owned().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 128 << 10;

    /// The size of the last of several reads while `available` bytes are available each time.
    fn last(size: &mut ReadSize, reads: u32, available: usize) -> usize {
        let mut bytes = 0;
        for _ in 0..reads {
            let limit = size.limit(ROOM);
            bytes = available.min(limit);
            size.returned(bytes, limit);
        }
        bytes
    }

    #[test]
    fn a_fast_connection_gets_large_reads() {
        let mut size = LargeReads::new().connection();
        assert_eq!(last(&mut size, FAST, 64 << 10), SMALL);
        assert_eq!(last(&mut size, 1, 64 << 10), 64 << 10);
        assert_eq!(last(&mut size, 1, 100), 100);
        assert_eq!(last(&mut size, 1, 64 << 10), 64 << 10);
    }

    #[test]
    fn a_slow_sender_has_small_reads() {
        let mut size = LargeReads::new().connection();
        for _ in 0..100 {
            assert_eq!(last(&mut size, FAST - 1, 64 << 10), SMALL);
            last(&mut size, 1, 1500);
        }
    }

    #[test]
    fn only_some_connections_have_large_reads() {
        let large = LargeReads::new();
        let mut fast: Vec<ReadSize> = (0..=LARGE_MAX).map(|_| large.connection()).collect();
        let sizes: Vec<usize> = fast.iter_mut().map(|size| last(size, FAST + 1, ROOM)).collect();
        assert_eq!(sizes.iter().filter(|&&size| size == ROOM).count(), LARGE_MAX);
        fast.swap_remove(0);
        assert!(fast.iter_mut().all(|size| last(size, 2, ROOM) == ROOM));
    }
}
