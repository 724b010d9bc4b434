//! What was counted in the last hour, in steps of ten seconds. The hour takes the same memory from the start.

use crate::http::tally::COUNTERS_LEN;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Steps of an hour.
pub(super) const STEPS_MAX: usize = 360;

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub end_us: u64,
    pub took: Duration,
    pub counters: [u64; COUNTERS_LEN],
    pub commits: u64,
    pub commit_p50_seconds: Option<f64>,
    pub commit_p99_seconds: Option<f64>,
    pub pool_used_bytes: u64,
    pub connections: u64,
    pub waits: u64,
}

/// The steps of the last hour, the newest last.
pub(crate) struct Stats(Mutex<VecDeque<Step>>);

impl Stats {
    pub fn new() -> Stats {
        Stats(Mutex::new(VecDeque::with_capacity(STEPS_MAX)))
    }

    pub(super) fn push(&self, step: Step) {
        let mut steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.len() == STEPS_MAX {
            steps.pop_front();
        }
        steps.push_back(step);
    }

    /// All, the oldest first.
    pub(super) fn all(&self) -> Vec<Step> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
