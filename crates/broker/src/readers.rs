//! Where the readers of a partition have ended, and how far ahead of each a bucket's objects are fetched: more with
//! each read of one that reads on, until it finds everything at hand.

use crate::limits::{READ_AHEAD_BYTES_MIN, READ_AHEAD_GROWTH, READERS_REMEMBERED_MAX};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is fetched ahead of one reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ahead {
    /// How far ahead of its position in bytes it is fetched.
    pub window_bytes: u64,
    /// How much of that has begun.
    pub begun_bytes: u64,
    /// Whether something was not at hand since the window was last widened.
    pub is_cold: bool,
    /// How much was read since.
    pub read_bytes: u64,
}

impl Ahead {
    /// After a read that has ended with records: the next one may be further ahead.
    fn widened(self) -> Ahead {
        let window_bytes = match self.window_bytes {
            0 => READ_AHEAD_BYTES_MIN.max(self.read_bytes),
            bytes if self.is_cold => bytes * READ_AHEAD_GROWTH,
            bytes => bytes,
        };
        Ahead { window_bytes, is_cold: false, read_bytes: 0, ..self }
    }
}

/// Where the readers of a partition have ended, the one that read last at the end.
#[derive(Debug, Default)]
pub(crate) struct Readers(Mutex<Vec<(u64, Ahead)>>);

impl Readers {
    /// What is fetched ahead of the reader that ended at this offset; nothing if it is new.
    pub fn take(&self, offset: u64) -> Ahead {
        let mut readers = self.lock();
        let found = readers.iter().position(|(end, _)| *end == offset);
        found.map_or_else(Ahead::default, |found| readers.remove(found).1)
    }

    /// Remembers a reader that has ended at an offset.
    pub fn put(&self, end_offset: u64, ahead: Ahead) {
        let mut readers = self.lock();
        if readers.len() >= READERS_REMEMBERED_MAX {
            readers.remove(0);
        }
        readers.push((end_offset, ahead));
    }

    /// The same, after a read that has returned records.
    pub fn put_after(&self, end_offset: u64, ahead: Ahead, ahead_bytes_max: u64) {
        let widened = ahead.widened();
        self.put(end_offset, Ahead { window_bytes: widened.window_bytes.min(ahead_bytes_max), ..widened });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Ahead)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_a_reader_that_reads_on_widens_while_what_it_reads_is_cold() {
        let readers = Readers::default();
        let mut ahead = readers.take(0);
        assert_eq!(ahead, Ahead::default());
        let mut windows = Vec::new();
        for end in 1..6 {
            readers.put_after(end, Ahead { is_cold: end < 5, ..ahead }, 20 * READ_AHEAD_BYTES_MIN);
            assert_eq!(readers.take(end - 1), Ahead::default());
            ahead = readers.take(end);
            windows.push(ahead.window_bytes / READ_AHEAD_BYTES_MIN);
        }
        assert_eq!(windows, [1, 4, 16, 20, 20]);
        assert_eq!(readers.take(5), Ahead::default(), "it was taken");
        let read_bytes = 3 * READ_AHEAD_BYTES_MIN;
        readers.put_after(1, Ahead { read_bytes, ..Ahead::default() }, 4 * READ_AHEAD_BYTES_MIN);
        assert_eq!(readers.take(1), Ahead { window_bytes: read_bytes, ..Ahead::default() });
    }

    #[test]
    fn readers_are_bounded_and_the_one_that_read_last_stays() {
        let readers = Readers::default();
        let ahead = Ahead { window_bytes: 1, ..Ahead::default() };
        (0..100).for_each(|offset| readers.put(offset, ahead));
        assert_eq!(readers.lock().len(), READERS_REMEMBERED_MAX);
        assert_eq!((readers.take(0), readers.take(99)), (Ahead::default(), ahead));
    }
}
