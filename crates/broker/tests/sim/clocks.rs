//! The brokers' own clocks: a day ahead or late, right, or now this and now that. Nothing may depend on them.

use crate::store::SharedStore;
use rawline_broker::Clock;
use std::sync::Arc;

const SECOND_US: u64 = 1_000_000;
const DAY_US: u64 = 24 * 3600 * SECOND_US;

/// How long a clock that jumps stays where it is.
const STAYS_US: u64 = 17 * SECOND_US;

/// The clock of one run of a broker.
pub struct LocalClock {
    store: Arc<SharedStore>,
    kind: u64,
}

impl LocalClock {
    /// Another kind for each machine and run.
    pub fn new(store: Arc<SharedStore>, machine: usize, run: u64) -> LocalClock {
        LocalClock { store, kind: (machine as u64 + run) % 4 }
    }
}

impl Clock for LocalClock {
    fn now_us(&self) -> u64 {
        let right_us = self.store.now_us();
        match self.kind {
            0 => right_us + DAY_US,
            1 => right_us - DAY_US,
            2 => right_us,
            _ => match right_us / STAYS_US % 5 {
                0 | 1 => right_us,
                2 => right_us + DAY_US,
                3 => right_us + 3650 * DAY_US,
                _ => right_us - DAY_US,
            },
        }
    }
}
