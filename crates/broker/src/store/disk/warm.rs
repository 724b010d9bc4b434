//! Which parts of mapped files were in the page cache when the kernel was last asked.
//!
//! Asking costs a look at every page, and more where pages aren't mapped: a fifth of what sending them costs. So the
//! answer is kept for a while, until some page turns out to be missing: then memory is scarce, or a client reads old
//! data, and the kernel is asked again.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The kernel is asked about this much at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// How long pages are assumed to stay in the page cache. If they don't, a thread that serves other clients too waits
/// for the disk.
const WARM_FOR: Duration = Duration::from_secs(10);

/// When pages of a store were last missing in the page cache.
#[derive(Debug)]
pub(in crate::store) struct Missed {
    epoch: Instant,
    /// Microseconds since the epoch; 0 if none was.
    at_us: AtomicU64,
}

impl Missed {
    /// None was missing yet.
    pub fn new() -> Missed {
        Missed { epoch: Instant::now(), at_us: AtomicU64::new(0) }
    }

    /// Time since the epoch in microseconds; at least 1.
    fn now_us(&self) -> u64 {
        self.epoch.elapsed().as_micros() as u64 + 1
    }
}

/// When each chunk of a file was last found in the page cache.
#[derive(Debug)]
pub(in crate::store) struct Warm {
    missed: Arc<Missed>,
    /// Microseconds since the epoch; 0 if it was not.
    found_us: Box<[AtomicU64]>,
}

impl Warm {
    /// Of a file of `bytes` bytes; nothing is known of it.
    pub fn new(bytes: u64, missed: &Arc<Missed>) -> Warm {
        let found_us = (0..bytes.div_ceil(CHUNK_BYTES as u64)).map(|_| AtomicU64::new(0)).collect();
        Warm { missed: missed.clone(), found_us }
    }

    /// Whether `range` is in the page cache. `is_resident` asks the kernel: about whole chunks, up to `end`.
    pub fn is_resident(&self, range: &Range<usize>, end: usize, is_resident: impl Fn(Range<usize>) -> bool) -> bool {
        assert!(range.end <= end, "bytes {range:?} of {end}");
        let now_us = self.missed.now_us();
        let missed_us = self.missed.at_us.load(Ordering::Relaxed);
        let chunks = range.start / CHUNK_BYTES..range.end.div_ceil(CHUNK_BYTES);
        let found = || self.found_us.iter().take(chunks.end).skip(chunks.start);
        let is_warm = |found_us: u64| found_us > missed_us && now_us < found_us + WARM_FOR.as_micros() as u64;
        if found().all(|found_us| is_warm(found_us.load(Ordering::Relaxed))) {
            return true;
        }
        if is_resident(chunks.start * CHUNK_BYTES..end.min(chunks.end * CHUNK_BYTES)) {
            found().for_each(|found_us| found_us.store(now_us, Ordering::Relaxed));
            return true;
        }
        let is_there = is_resident(range.clone());
        if !is_there {
            self.missed.at_us.store(now_us, Ordering::Relaxed);
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const MIB: usize = 1 << 20;

    #[tokio::test(start_paused = true)]
    async fn the_kernel_is_asked_again_after_a_while_and_when_something_was_missing() {
        let missed = Arc::new(Missed::new());
        let (one, two) = (Warm::new(4 << 20, &missed), Warm::new(4 << 20, &missed));
        let asked = Cell::new(0);
        let is_there = |warm: &Warm, range: Range<usize>, there: Range<usize>| {
            asked.set(0);
            warm.is_resident(&range, 3 * MIB + 5, |part| {
                asked.set(asked.get() + 1);
                assert!(part.end <= 3 * MIB + 5);
                there.start <= part.start && part.end <= there.end
            })
        };
        let all = 0..4 * MIB;
        assert!(is_there(&one, 10..20, all.clone()) && asked.get() == 1);
        assert!(is_there(&one, 0..MIB, 0..0) && asked.get() == 0, "the chunk was found");
        assert!(is_there(&one, 10..MIB + 1, all.clone()) && asked.get() == 1, "the next one was not");
        assert!(is_there(&one, 3 * MIB..3 * MIB + 5, all.clone()) && asked.get() == 1);
        tokio::time::advance(WARM_FOR - Duration::from_millis(1)).await;
        assert!(is_there(&one, 0..2 * MIB, 0..0) && asked.get() == 0);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(is_there(&one, 0..2 * MIB, all.clone()) && asked.get() == 1);
        // Only a part of a chunk is cached.
        assert!(is_there(&two, 100..200, 50..300) && asked.get() == 2);
        assert!(is_there(&two, 100..200, 50..300) && asked.get() == 2);
        assert!(is_there(&one, 0..2 * MIB, 0..0) && asked.get() == 0);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!is_there(&two, 100..400, 50..300) && asked.get() == 2);
        assert!(is_there(&one, 0..2 * MIB, all.clone()) && asked.get() == 1, "something was missing since");
    }
}
