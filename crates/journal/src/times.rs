//! The times of a journal's objects, and the age of the journal, by which entries expire.
//!
//! Objects get their times from their writers' clocks, which can be wrong. A time is later than the one before it as
//! long as the clocks differ by little. If the newest object's time is further ahead than [`CLOCK_BACK_US`], it was the
//! wrong one, or is now as good as wrong: times go back to the clock. The age never goes back, and grows by at most
//! [`AGE_STEP_MAX_US`] from one object to the next, so that one object with a time in the far future makes nothing old.

use crate::limits::{AGE_STEP_MAX_US, CLOCK_BACK_US};

/// The times up to an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Times {
    newest_us: u64,
    age_us: u64,
}

impl Times {
    /// As a snapshot has them: it has no age, so the journal is as old as its newest object's time.
    pub(crate) fn of_snapshot(newest_us: u64) -> Times {
        Times { newest_us, age_us: newest_us }
    }

    /// Time of the newest object by its writer's clock, in microseconds since the Unix epoch.
    pub fn newest_us(&self) -> u64 {
        self.newest_us
    }

    /// Age of the journal in microseconds. Only differences mean something.
    pub fn age_us(&self) -> u64 {
        self.age_us
    }

    /// Counts the time of the next object in.
    pub fn advance(&mut self, appended_us: u64) {
        let grown_us = match self.newest_us {
            // The first object. Nothing is older.
            0 => appended_us,
            newest_us if appended_us < newest_us => 1,
            newest_us => (appended_us - newest_us).min(AGE_STEP_MAX_US),
        };
        self.newest_us = appended_us;
        self.age_us += grown_us;
    }

    /// The time of an event at an age, relative to the newest object's time.
    pub(crate) fn at_age(&self, age_us: u64) -> u64 {
        self.newest_us.saturating_sub(self.age_us.saturating_sub(age_us))
    }
}

/// The time of an object that is built when its writer's clock says `clock_us`, after one with the time `newest_us`.
pub fn next_time(newest_us: u64, clock_us: u64) -> u64 {
    let is_back = newest_us.saturating_sub(clock_us) > CLOCK_BACK_US && clock_us > 0;
    if is_back { clock_us } else { clock_us.max(newest_us + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_US: u64 = 24 * 3600 * 1_000_000;
    const NOW_US: u64 = 20_000 * DAY_US;

    fn after(times: &[u64]) -> Times {
        let mut all = Times::default();
        times.iter().for_each(|time_us| all.advance(*time_us));
        all
    }

    #[test]
    fn times_continue_while_clocks_differ_by_little_and_go_back_when_one_was_far_ahead() {
        assert_eq!(next_time(NOW_US, NOW_US + 5), NOW_US + 5);
        assert_eq!(next_time(NOW_US, NOW_US), NOW_US + 1);
        assert_eq!(next_time(NOW_US + CLOCK_BACK_US, NOW_US), NOW_US + CLOCK_BACK_US + 1);
        assert_eq!(next_time(NOW_US + CLOCK_BACK_US + 1, NOW_US), NOW_US);
        assert_eq!(next_time(NOW_US + 3650 * DAY_US, NOW_US), NOW_US);
        assert_eq!(next_time(NOW_US, 0), NOW_US + 1, "the clock isn't known yet");
    }

    /// However far one object's time is ahead, the age then grows with real time.
    #[test]
    fn an_object_from_the_future_makes_the_journal_older_by_a_day_at_most_and_never_younger() {
        let second = 1_000_000;
        for ahead_us in [DAY_US / 2, DAY_US, 3650 * DAY_US] {
            let mut times = after(&[NOW_US, NOW_US + ahead_us]);
            let age_us = times.age_us();
            assert_eq!(age_us - after(&[NOW_US]).age_us(), ahead_us.min(DAY_US));
            times.advance(next_time(times.newest_us(), NOW_US + second));
            assert_eq!((times.newest_us(), times.age_us()), (NOW_US + second, age_us + 1));
            times.advance(next_time(times.newest_us(), NOW_US + 61 * second));
            assert_eq!(times.age_us(), age_us + 1 + 60 * second);
            assert_eq!(times.at_age(age_us + 1), NOW_US + second);
        }
    }

    #[test]
    fn an_object_with_the_time_of_the_one_before_it_changes_nothing() {
        let times = after(&[NOW_US, NOW_US + 7]);
        assert_eq!(after(&[NOW_US, NOW_US + 7, NOW_US + 7]), times);
        assert_eq!(Times::of_snapshot(NOW_US + 7), times);
    }
}
