//! Counters of each thread, added up when they are read: threads that count at the same time share no cache line.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Copies of the counters. More threads than this share some; small machines have fewer that count.
const SHARDS: usize = 16;

/// The number of the next thread that counts.
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Two cache lines, since processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Aligned<T>(T);

/// One `T` for each thread, as far as there are enough.
#[derive(Debug)]
pub struct Sharded<T>([Aligned<T>; SHARDS]);

impl<T> Sharded<T> {
    /// Each of them new.
    pub fn new(new: impl Fn() -> T) -> Box<Sharded<T>> {
        Box::new(Sharded(std::array::from_fn(|_| Aligned(new()))))
    }

    /// That of the current thread.
    pub fn own(&self) -> &T {
        let number = OWN.get();
        let number = if number == usize::MAX { first() } else { number };
        match self.0.get(number) {
            Some(Aligned(own)) => own,
            None => unreachable!("shard {number} of {SHARDS}"),
        }
    }

    /// All, to be added up.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|Aligned(one)| one)
    }
}

/// Gives the current thread its number.
#[cold]
fn first() -> usize {
    let number = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    OWN.set(number);
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Counter;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test of threads")]
    fn what_many_threads_count_adds_up_and_few_share_a_counter() {
        let sharded = Sharded::new(Counter::new);
        std::thread::scope(|scope| {
            for _ in 0..SHARDS * 2 {
                scope.spawn(|| (0..1000).for_each(|_| sharded.own().add(1)));
            }
        });
        let counts: Vec<u64> = sharded.all().map(Counter::get).collect();
        assert_eq!(counts.iter().sum::<u64>(), SHARDS as u64 * 2 * 1000);
        assert!(counts.iter().filter(|count| **count > 0).count() > SHARDS / 2, "{counts:?}");
    }
}
