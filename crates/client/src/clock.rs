//! The only place that reads the wall clock: a batch carries the time its producer made it.

/// Microseconds since the Unix epoch.
#[allow(clippy::disallowed_methods)] // The door itself.
pub(crate) fn now_us() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}
