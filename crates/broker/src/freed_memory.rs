//! What this process does with memory that it frees.

/// Keeps up to [`FREED_BYTES_MAX`](crate::limits::FREED_BYTES_MAX) of freed memory for the next allocations, where the
/// allocator is glibc's.
///
/// By its defaults it returns a few hundred KiB at a time to the system. The buffers into which a bucket's responses
/// are received have that size, so the system provided each anew, page by page: 120 page faults for each MB instead of
/// 15, and a fifth of the broker's CPU time.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, bytes) in [
        (libc::M_TRIM_THRESHOLD, crate::limits::FREED_BYTES_MAX),
        (libc::M_MMAP_THRESHOLD, crate::limits::HEAP_BYTES_MAX),
    ] {
        if !set(parameter, bytes) {
            tracing::warn!(
                parameter,
                bytes,
                "can't set a parameter of the allocator; reads of a bucket take more CPU, nothing else is affected"
            );
        }
    }
}

/// Limits the arenas of the heap to the number of processors, where the allocator is glibc's. To be called before
/// threads are started.
///
/// Each keeps what was freed in it. With eight for a processor, as by default, work that moves from thread to thread,
/// such as merges, leaves its greatest size in each of them.
pub fn limit_arenas() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let count = std::thread::available_parallelism().map_or(1, usize::from).max(2);
        let is_set = set(libc::M_ARENA_MAX, count.try_into().unwrap_or(i32::MAX));
        assert!(is_set, "glibc takes any number of arenas, {count} too");
    }
}

/// Sets a parameter of the allocator. False if it doesn't take the value.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn set(parameter: libc::c_int, value: i32) -> bool {
    // SAFETY: the call takes numbers only.
    unsafe { libc::mallopt(parameter, value) == 1 }
}
