//! The system's allocator, and how much it was asked for while somebody wanted to know.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static COUNTS: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Counts bytes while [`bytes_of`] runs; else as the system's.
pub struct Counting;

// SAFETY: hands every call on to the system's allocator unchanged; counting touches no memory of the caller's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTS.load(Ordering::Relaxed) {
            BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise is the system allocator's condition.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Bytes that `run` allocates, in all threads.
pub fn bytes_of(run: impl FnOnce()) -> u64 {
    let before = BYTES.load(Ordering::Relaxed);
    COUNTS.store(true, Ordering::Relaxed);
    run();
    COUNTS.store(false, Ordering::Relaxed);
    BYTES.load(Ordering::Relaxed) - before
}
