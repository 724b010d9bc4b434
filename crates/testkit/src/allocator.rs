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

thread_local! {
    static OF_THREAD: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
pub struct Counting;

fn count(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    let live = LIVE.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    PEAK.fetch_max(live, Ordering::Relaxed);
    // A thread that ends may allocate after its counter is gone.
    let _ = OF_THREAD.try_with(|count| count.set(count.get() + 1));
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
        LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
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
    let before = OF_THREAD.get();
    let out = run();
    (out, OF_THREAD.get() - before)
}
