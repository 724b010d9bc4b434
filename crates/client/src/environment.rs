//! The wall clock and chance as a client sees them: a batch carries the time at which its producer made it, and retries
//! are spread at random.

/// Time and randomness. Handed in through constructors, so that a simulation can own them.
pub trait Environment: Send + Sync + 'static {
    /// Microseconds since the Unix epoch.
    fn now_us(&self) -> u64;

    /// A number that is at least 0 and below 1, a different one with each call.
    fn fraction(&self) -> f64;
}

/// The machine's wall clock, and a generator that it seeded.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEnvironment;

impl Environment for SystemEnvironment {
    #[expect(clippy::disallowed_methods, reason = "the door itself")]
    fn now_us(&self) -> u64 {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
    }

    #[expect(clippy::disallowed_methods, reason = "the door itself")]
    fn fraction(&self) -> f64 {
        fastrand::f64()
    }
}
