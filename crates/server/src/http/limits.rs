//! The limits of the API's memory, each with its reason.

/// Maximum size of a connection's own read buffer in bytes. The beginning of a body that waits for buffers of the pool
/// may lie in a second one.
pub const CONNECTION_BYTES: usize = 128 << 10;

/// The memory of an idle connection, in bytes: the library's smallest buffers, and our own state.
pub const IDLE_CONNECTION_BYTES: u64 = 24 << 10;

/// Compressed batches that are decompressed at once, each of at most `raw_bytes_max` bytes outside the pool.
pub(super) const UNPACKING_MAX: usize = 2;

/// Responses of `/metrics` that clients have not read yet. Each can have some megabytes, which lie outside the pool so
/// that metrics are available when the pool is exhausted.
pub(super) const METRICS_UNREAD_MAX: usize = 8;
