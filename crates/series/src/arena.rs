//! A fixed allocation for byte strings, each with a number. Strings are appended and never removed.
//!
//! An entry, at a multiple of 8 bytes:
//!
//! ```text
//! 0  4  length of the bytes
//! 4  4  number
//! 8  …  bytes, padded to a multiple of 8
//! ```

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use crate::sync::{AtomicU32, Ordering};

/// Entries begin at multiples of this, so that 32 bits can address 32 GiB.
pub(crate) const UNIT_BYTES: usize = 8;
const HEADER_BYTES: usize = 8;
const CACHE_LINE_BYTES: usize = 64;

/// Start of an entry, in units. Never 0: unit 0 stays empty so that 0 can mean "none" in the tables.
pub(crate) type Place = u32;

/// The right to append. Each arena hands out exactly one.
#[derive(Debug)]
pub(crate) struct Writer(());

#[derive(Debug)]
pub(crate) struct Arena {
    base: NonNull<u8>,
    layout: Layout,
    /// Stored only by the writer.
    units_used: AtomicU32,
    /// Lets loom check accesses to each unit: it can't track plain memory.
    #[cfg(loom)]
    watched: Vec<loom::cell::UnsafeCell<()>>,
}

// SAFETY: an entry's bytes are written once, by the only writer, before any other thread knows its place; afterwards
// they are only read. `read` requires its caller to have synchronized with the write.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Allocates an arena of `bytes`, rounded up to whole units; `None` if that exceeds 32 GiB or the allocation fails.
    pub(crate) fn new(bytes: usize) -> Option<(Self, Writer)> {
        let units = bytes.div_ceil(UNIT_BYTES).checked_add(1)?;
        u32::try_from(units).ok()?;
        let layout = Layout::from_size_align(units.checked_mul(UNIT_BYTES)?, CACHE_LINE_BYTES).ok()?;
        // SAFETY: the layout has at least one unit, so its size is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let arena = Self {
            base,
            layout,
            units_used: AtomicU32::new(1),
            #[cfg(loom)]
            watched: (0..units).map(|_| loom::cell::UnsafeCell::new(())).collect(),
        };
        Some((arena, Writer(())))
    }

    /// Bytes allocated.
    pub(crate) fn bytes_max(&self) -> usize {
        self.layout.size()
    }

    /// Bytes used, including headers and padding.
    pub(crate) fn bytes_used(&self) -> usize {
        self.units_used.load(Ordering::Relaxed) as usize * UNIT_BYTES
    }

    /// Whether there is room for an entry of `length` bytes. Another thread can use it up at any time.
    pub(crate) fn fits(&self, length: usize) -> bool {
        length <= self.bytes_max() && self.bytes_used() + entry_bytes(length) <= self.bytes_max()
    }

    /// Appends an entry; returns `None` and changes nothing if it doesn't fit.
    pub(crate) fn append(&self, _writer: &mut Writer, number: u32, bytes: &[u8]) -> Option<Place> {
        if !self.fits(bytes.len()) {
            return None;
        }
        let length = u32::try_from(bytes.len()).ok()?;
        let place = self.units_used.load(Ordering::Relaxed);
        let units = u32::try_from(entry_bytes(bytes.len()) / UNIT_BYTES).ok()?;
        #[cfg(loom)]
        for unit in self.watched.iter().skip(place as usize).take(units as usize) {
            unit.with_mut(|_| ());
        }
        // SAFETY: `fits` has checked that the entry ends inside the allocation; the base is aligned to a cache line and
        // entries begin at multiples of 8. No other thread writes, since the writer is borrowed mutably, and none
        // reads, since this place hasn't been returned yet.
        unsafe {
            let entry = self.base.as_ptr().add(place as usize * UNIT_BYTES);
            entry.cast::<[u32; 2]>().write([length, number]);
            entry.add(HEADER_BYTES).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        self.units_used.store(place + units, Ordering::Relaxed);
        Some(place)
    }

    /// The entry at `place`: its number and its bytes.
    ///
    /// # Safety
    /// `place` came from this arena's `append`, and the caller has read it with `Acquire` from where it was stored
    /// with `Release` (or under the writer's lock).
    #[inline(always)]
    pub(crate) unsafe fn read(&self, place: Place) -> (u32, &[u8]) {
        // SAFETY: the entry was written completely before its place was published, and is never written again.
        unsafe {
            let entry = self.base.as_ptr().add(place as usize * UNIT_BYTES);
            let [length, number] = entry.cast::<[u32; 2]>().read();
            #[cfg(loom)]
            for unit in self.watched.iter().skip(place as usize).take(entry_bytes(length as usize) / UNIT_BYTES) {
                unit.with(|_| ());
            }
            (number, std::slice::from_raw_parts(entry.add(HEADER_BYTES), length as usize))
        }
    }

    /// Address of an entry's header, for prefetching only.
    #[inline(always)]
    pub(crate) fn address(&self, place: Place) -> *const u8 {
        self.base.as_ptr().wrapping_add(place as usize * UNIT_BYTES)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

/// Size of an entry of `length` bytes.
pub(crate) fn entry_bytes(length: usize) -> usize {
    HEADER_BYTES + length.next_multiple_of(UNIT_BYTES)
}
