//! The system's allocator, with a count of the bytes allocated while a function runs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static COUNTS: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Counts bytes while [`bytes_of`] runs; otherwise the system's allocator.
pub struct Counting;

fn count(bytes: usize) {
    if COUNTS.load(Ordering::Relaxed) {
        BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

// SAFETY: forwards every call to the system's allocator unchanged; counting touches no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's guarantees are those that the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    // The default implementation writes zeros to fresh pages, which makes a large pool resident at start.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    // The default implementation copies where the system can grow in place.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size.saturating_sub(layout.size()));
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Number of bytes that are allocated while `run` runs, in all threads.
pub fn bytes_of(run: impl FnOnce()) -> u64 {
    let before = BYTES.load(Ordering::Relaxed);
    COUNTS.store(true, Ordering::Relaxed);
    run();
    COUNTS.store(false, Ordering::Relaxed);
    BYTES.load(Ordering::Relaxed) - before
}
