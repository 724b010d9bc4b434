//! The only place that reads the wall clock; everything else is handed a [`Clock`].
//!
//! `docs/storage.md` lists what compares clocks, and how wrong each may be.

mod steady;
mod storage;

pub use steady::SteadyClock;
pub(crate) use storage::StorageClock;

/// Tells the time. Handed in through constructors, so that a simulation can own it.
pub trait Clock: Send + Sync + 'static {
    /// Microseconds since the Unix epoch.
    fn now_us(&self) -> u64;

    /// Notes the store's time, in seconds since the Unix epoch, from a response that has just arrived.
    fn note_store_date(&self, _date: u64) {}
}

/// The machine's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods)] // The door itself.
    fn now_us(&self) -> u64 {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
    }
}

/// How far one time is after another, in seconds: negative if it is before.
fn seconds_after(one_us: u64, other_us: u64) -> f64 {
    (i128::from(one_us) - i128::from(other_us)) as f64 / 1e6
}
