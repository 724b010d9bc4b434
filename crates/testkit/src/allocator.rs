//! A counting allocator, for tests of an operation's allocations.
//!
//! A test that counts makes it the global allocator:
//!
//! ```
//! #[global_allocator]
//! static COUNTING: rawline_testkit::allocator::Counting = rawline_testkit::allocator::Counting;
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

/// What one thread has allocated. Bytes may fall below zero: a thread frees what another allocated.
#[derive(Clone, Copy)]
struct OfThread {
    allocations: u64,
    live: i64,
    peak: i64,
}

thread_local! {
    static OF_THREAD: Cell<OfThread> = const { Cell::new(OfThread { allocations: 0, live: 0, peak: 0 }) };
}

/// The system's allocator, counted.
pub struct Counting;

fn count(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    let live = LIVE.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    PEAK.fetch_max(live, Ordering::Relaxed);
    of_thread(bytes as i64, 1);
}

fn uncount(bytes: usize) {
    LIVE.fetch_sub(bytes as u64, Ordering::Relaxed);
    of_thread(-(bytes as i64), 0);
}

fn of_thread(bytes: i64, allocations: u64) {
    // A thread that ends may allocate after its counter is gone.
    let _ = OF_THREAD.try_with(|of_thread| {
        let before = of_thread.get();
        let live = before.live + bytes;
        of_thread.set(OfThread { allocations: before.allocations + allocations, live, peak: before.peak.max(live) });
    });
}

// SAFETY: passes every call on to the system's allocator unchanged; counting touches no memory of the caller's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is the system allocator's condition.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size);
        uncount(layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        uncount(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Allocations and allocated bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocated {
    pub allocations: u64,
    pub bytes: u64,
}

/// The bytes that all threads have allocated since the process began.
pub fn allocated() -> Allocated {
    Allocated { allocations: ALLOCATIONS.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
}

/// Bytes that are allocated now.
pub fn live_bytes() -> u64 {
    LIVE.load(Ordering::Relaxed)
}

/// Resets [`peak_bytes`] to the bytes allocated now.
pub fn reset_peak() {
    PEAK.store(live_bytes(), Ordering::Relaxed);
}

/// The most that was allocated at once since the process began or [`reset_peak`], in bytes.
pub fn peak_bytes() -> u64 {
    PEAK.load(Ordering::Relaxed)
}

/// How often `run` allocates on this thread.
pub fn allocations_of<T>(run: impl FnOnce() -> T) -> (T, u64) {
    let before = OF_THREAD.get().allocations;
    let out = run();
    (out, OF_THREAD.get().allocations - before)
}

/// The bytes of this thread from [`ThreadBytes::start`] on, whatever other threads allocate meanwhile.
pub struct ThreadBytes {
    start: i64,
}

impl ThreadBytes {
    pub fn start() -> ThreadBytes {
        let now = OF_THREAD.get();
        OF_THREAD.set(OfThread { peak: now.live, ..now });
        ThreadBytes { start: now.live }
    }

    /// The most that was allocated at once.
    pub fn peak(&self) -> u64 {
        u64::try_from(OF_THREAD.get().peak - self.start).expect("the peak is at least what it began with")
    }

    /// What is still allocated; below zero if more was freed than allocated.
    pub fn held(&self) -> i64 {
        OF_THREAD.get().live - self.start
    }
}
