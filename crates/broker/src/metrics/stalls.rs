//! Commits that are held up, by what this process wrote or deleted meanwhile.

use super::kinds::{Gauge, Histogram};
use super::{MICROSECONDS, TIME_BOUNDS, TIMES, Text, families};
use std::time::Duration;

/// A commit that takes this long is held up: a sync of a good disk takes less.
const STALL_MIN: Duration = Duration::from_millis(1);

/// What may hold up commits, in the order of [`NAMES`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Housekeeping {
    Merge,
    Snapshot,
    Seal,
    Deletion,
}

static NAMES: [&str; 5] = ["merge", "snapshot", "seal", "deletion", "none"];

pub(crate) struct StallMetrics {
    /// Housekeeping in progress.
    running: [Gauge; 4],
    /// By what was in progress, the first of several, or by nothing.
    seconds: [Histogram<TIMES>; 5],
}

/// Housekeeping is in progress until this is dropped.
#[must_use]
pub(crate) struct Running<'a>(&'a Gauge);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.decrement();
    }
}

impl StallMetrics {
    pub const fn new() -> StallMetrics {
        StallMetrics { running: [const { Gauge::new() }; 4], seconds: [const { Histogram::new(&TIME_BOUNDS) }; 5] }
    }

    /// Begins housekeeping.
    pub fn begin(&self, housekeeping: Housekeeping) -> Running<'_> {
        let Some(running) = self.running.get(housekeeping as usize) else {
            unreachable!("{housekeeping:?} has no gauge")
        };
        running.increment();
        Running(running)
    }

    /// What is in progress now: a place in [`NAMES`].
    pub fn now(&self) -> usize {
        self.running.iter().position(|running| running.get() > 0).unwrap_or(self.running.len())
    }

    /// A commit has ended. `began`: what was in progress when it began.
    pub fn committed(&self, began: usize, took: Duration) {
        if took < STALL_MIN {
            return;
        }
        let place = began.min(self.now());
        let Some(seconds) = self.seconds.get(place) else { unreachable!("{place} is no place in {NAMES:?}") };
        seconds.record_time(took);
    }

    pub fn render(&self, text: &mut Text) {
        let series = NAMES.iter().zip(&self.seconds).map(|(name, seconds)| ([*name], seconds.values()));
        text.histograms(&families::COMMIT_STALL_SECONDS, MICROSECONDS, series);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_commit_counts_for_what_was_in_progress_when_it_began_or_ended() {
        let stalls = StallMetrics::new();
        let counts = || stalls.seconds.each_ref().map(|seconds| seconds.values().count);
        stalls.committed(stalls.now(), STALL_MIN);
        assert_eq!(counts(), [0, 0, 0, 0, 1]);
        let snapshot = stalls.begin(Housekeeping::Snapshot);
        let began = stalls.now();
        stalls.committed(began, Duration::from_micros(999));
        drop(snapshot);
        stalls.committed(began, STALL_MIN);
        assert_eq!(counts(), [0, 1, 0, 0, 1], "at its beginning");
        let began = stalls.now();
        let _two = [Housekeeping::Deletion, Housekeeping::Merge].map(|housekeeping| stalls.begin(housekeeping));
        stalls.committed(began, STALL_MIN);
        assert_eq!(counts(), [1, 1, 0, 0, 1], "at its end, and the first of two");
    }
}
