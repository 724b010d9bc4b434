//! The wall clock and randomness of a client: a batch carries the time at which its producer made it, and retries are
//! spread at random.

/// Time and randomness. Passed to constructors, so that a simulation can control them.
pub trait Environment: Send + Sync + 'static {
    /// Microseconds since the Unix epoch.
    fn now_us(&self) -> u64;

    /// A number from 0 to below 1, different in each call.
    fn fraction(&self) -> f64;
}

/// The machine's wall clock, and a generator with a seed from the machine.
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
