//! Prefetches memory into the processor's cache.

/// Prefetches the cache line of `place`. A hint: nothing is read, and any address is allowed.
#[inline(always)]
pub(crate) fn prefetch(place: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch changes no state that a program can see, and can't fault, whatever the address is. SSE is
        // part of every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}
