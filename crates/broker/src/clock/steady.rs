//! A wall clock without jumps: where the clock is set to another time, this one continues for a while from the time
//! before.
//!
//! A directory has no clock of its own to compare with, but time passes at one speed. A clock that was wrong for one
//! commit leaves no trace; one that is changed permanently is followed after [`CLOCK_JUMP_HOLD`].

use super::{Clock, seconds_after};
use crate::limits::{CLOCK_JUMP_HOLD, CLOCK_JUMP_MAX};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A clock that follows another one, but not when that jumps for a moment.
pub struct SteadyClock<C> {
    clock: C,
    epoch: Instant,
    steady: Mutex<Steady>,
}

impl<C: Clock> SteadyClock<C> {
    /// Follows this clock, which may be right or wrong now: nothing shows it.
    pub fn new(clock: C) -> SteadyClock<C> {
        SteadyClock { steady: Mutex::new(Steady::new(clock.now_us())), clock, epoch: Instant::now() }
    }
}

impl<C: Clock> Clock for SteadyClock<C> {
    fn now_us(&self) -> u64 {
        let mut steady = self.steady.lock().unwrap_or_else(PoisonError::into_inner);
        let clock_us = self.clock.now_us();
        let (now_us, notice) = steady.time(self.epoch.elapsed(), clock_us);
        drop(steady);
        match notice {
            None => {}
            Some(Notice::Jumped) => tracing::warn!(
                ahead_s = seconds_after(clock_us, now_us),
                "this machine's clock has jumped; its time is used in {} s, unless it goes back: set the clock with \
                 a time service",
                CLOCK_JUMP_HOLD.as_secs()
            ),
            Some(Notice::Back) => tracing::info!("this machine's clock has gone back to the time from before its jump"),
            Some(Notice::Followed { ahead_s }) => tracing::warn!(
                ahead_s,
                "the time that this machine's clock has jumped to is used from now on: records, their retention and \
                 tombstones go by it; if it is wrong, set it with a time service and restart the broker"
            ),
        }
        now_us
    }
}

/// A notice for the log.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Notice {
    Jumped,
    Back,
    Followed { ahead_s: f64 },
}

/// A jump that isn't followed yet.
#[derive(Debug, Clone, Copy)]
struct Jump {
    since: Duration,
    /// The clock's value then, if it had been set to that time.
    offset_us: i128,
}

/// The time as it passes.
#[derive(Debug)]
struct Steady {
    /// The clock at some moment.
    clock_us: u64,
    at: Duration,
    jump: Option<Jump>,
}

impl Steady {
    fn new(clock_us: u64) -> Steady {
        Steady { clock_us, at: Duration::ZERO, jump: None }
    }

    /// The time at a moment at which the clock's value is `clock_us`.
    fn time(&mut self, at: Duration, clock_us: u64) -> (u64, Option<Notice>) {
        let expected_us = self.clock_us.saturating_add(at.saturating_sub(self.at).as_micros() as u64);
        let offset_us = i128::from(clock_us) - i128::from(expected_us);
        let is_near = |one: i128, other: i128| one.abs_diff(other) <= CLOCK_JUMP_MAX.as_micros();
        if is_near(offset_us, 0) {
            let was_away = self.jump.take().is_some();
            // Clocks are corrected by little all the time.
            (self.clock_us, self.at) = (clock_us, at);
            return (clock_us, was_away.then_some(Notice::Back));
        }
        let Some(jump) = self.jump.filter(|jump| is_near(jump.offset_us, offset_us)) else {
            self.jump = Some(Jump { since: at, offset_us });
            return (expected_us, Some(Notice::Jumped));
        };
        if at.saturating_sub(jump.since) < CLOCK_JUMP_HOLD {
            return (expected_us, None);
        }
        *self = Steady { clock_us, at, jump: None };
        (clock_us, Some(Notice::Followed { ahead_s: seconds_after(clock_us, expected_us) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_US: u64 = 1_700_000_000_000_000;
    const DAY_US: i64 = 24 * 3600 * 1_000_000;

    /// A clock that is off by so much at each second. Returns by how much the steady one was, and the notices.
    fn offsets(seconds: u64, off_us: impl Fn(u64) -> i64) -> (Vec<i64>, Vec<Notice>) {
        let mut steady = Steady::new(START_US);
        let (mut offsets, mut notices) = (Vec::new(), Vec::new());
        for second in 0..seconds {
            let true_us = START_US + second * 1_000_000;
            let clock_us = true_us.saturating_add_signed(off_us(second));
            let (now_us, notice) = steady.time(Duration::from_secs(second), clock_us);
            offsets.push(now_us as i64 - true_us as i64);
            notices.extend(notice);
        }
        (offsets, notices)
    }

    #[test]
    fn a_clock_that_is_wrong_for_a_moment_leaves_no_trace() {
        for wrong_us in [DAY_US, -DAY_US, 3650 * DAY_US, -100 * 365 * DAY_US] {
            let (offsets, notices) = offsets(1_000, |second| if second % 200 == 100 { wrong_us } else { 0 });
            assert_eq!(offsets, [0; 1_000]);
            assert_eq!(notices, [Notice::Jumped, Notice::Back].repeat(5));
        }
    }

    #[test]
    fn a_clock_that_was_set_is_followed_after_a_while() {
        for set_us in [DAY_US, -DAY_US] {
            let (offsets, notices) = offsets(1_000, |second| if second < 100 { 0 } else { set_us });
            let hold = CLOCK_JUMP_HOLD.as_secs() as usize;
            assert!(offsets[..100 + hold].iter().all(|offset| *offset == 0), "{offsets:?}");
            assert!(offsets[100 + hold..].iter().all(|offset| *offset == set_us), "{offsets:?}");
            assert_eq!(notices, [Notice::Jumped, Notice::Followed { ahead_s: set_us as f64 / 1e6 }]);
        }
    }

    #[test]
    fn a_clock_that_keeps_jumping_is_not_followed_and_one_that_is_corrected_by_little_is() {
        let (wild, _) = offsets(2_000, |second| second as i64 / 100 * DAY_US);
        assert_eq!(wild, [0; 2_000]);
        let (slewed, notices) = offsets(2_000, |second| second as i64 * 500_000);
        assert_eq!((slewed.last(), notices), (Some(&999_500_000), vec![]));
    }
}
