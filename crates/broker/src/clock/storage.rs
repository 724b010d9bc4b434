//! The time of a storage: this machine's clock as far as the dates of the store's responses agree with it.
//!
//! Objects get it, and retention, tombstones and the times of producers are compared with it. A store that several
//! brokers share has its own clock, so that no broker's wrong clock gets into what they share.

use super::{Clock, seconds_after};
use crate::limits::{CLOCK_AHEAD_MAX, STORE_DATE_LATE_MAX};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// This machine's clock, corrected by the store's. Without dates, it is the machine's.
pub(crate) struct StorageClock {
    clock: Arc<dyn Clock>,
    epoch: Instant,
    dates: Mutex<Dates>,
}

impl StorageClock {
    pub fn new(clock: Arc<dyn Clock>) -> StorageClock {
        StorageClock { clock, epoch: Instant::now(), dates: Mutex::default() }
    }

    fn dates(&self) -> MutexGuard<'_, Dates> {
        self.dates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for StorageClock {
    fn now_us(&self) -> u64 {
        let clock_us = self.clock.now_us();
        let (now_us, notice) = self.dates().time(self.epoch.elapsed(), clock_us);
        match notice {
            None => {}
            Some(Notice::Off) => tracing::warn!(
                ahead_s = seconds_after(clock_us, now_us),
                "this machine's clock differs from the store's; objects get the store's time until they agree: set the \
                 clock with a time service"
            ),
            Some(Notice::Agrees) => tracing::info!("this machine's clock agrees with the store's again"),
        }
        now_us
    }

    fn note_store_date(&self, date: u64) {
        self.dates().note(self.epoch.elapsed(), date);
    }
}

/// A notice for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notice {
    Off,
    Agrees,
}

/// The store's time, from its dates.
#[derive(Debug, Default)]
struct Dates {
    /// A date in microseconds, and when it arrived.
    newest: Option<(u64, Duration)>,
    is_off: bool,
}

impl Dates {
    /// The store's time, from its last date and the time that has passed since.
    fn expected_us(&self, at: Duration) -> Option<u64> {
        let (date_us, then) = self.newest?;
        Some(date_us.saturating_add(at.saturating_sub(then).as_micros() as u64))
    }

    fn note(&mut self, at: Duration, date: u64) {
        let date_us = date.saturating_mul(1_000_000);
        // Dates are whole seconds, and arrive late: the one that is furthest ahead is the best.
        let is_better = self.expected_us(at).is_none_or(|expected_us| {
            date_us > expected_us || u128::from(expected_us - date_us) > STORE_DATE_LATE_MAX.as_micros()
        });
        if is_better {
            self.newest = Some((date_us, at));
        }
    }

    /// The time at a moment at which this machine's clock is `clock_us`.
    fn time(&mut self, at: Duration, clock_us: u64) -> (u64, Option<Notice>) {
        let Some(store_us) = self.expected_us(at) else { return (clock_us, None) };
        let is_off = u128::from(clock_us.abs_diff(store_us)) > CLOCK_AHEAD_MAX.as_micros();
        let was_off = std::mem::replace(&mut self.is_off, is_off);
        let notice = (is_off != was_off).then_some(if is_off { Notice::Off } else { Notice::Agrees });
        (if is_off { store_us } else { clock_us }, notice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_700_000_000;

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_clock_near_the_stores_is_used_and_another_is_corrected() {
        for (off_s, is_used) in [(0, true), (9, true), (-9, true), (12, false), (-12, false), (86_400, false)] {
            let mut dates = Dates::default();
            let clock_us = (START * 1_000_000).saturating_add_signed(off_s * 1_000_000);
            assert_eq!(dates.time(at(0), clock_us), (clock_us, None), "nothing to compare with");
            dates.note(at(0), START);
            let notice = (!is_used).then_some(Notice::Off);
            let expected_us = if is_used { clock_us } else { START * 1_000_000 };
            assert_eq!(dates.time(at(0), clock_us), (expected_us, notice), "{off_s}");
            // Time passes without responses, and the warning comes once.
            assert_eq!(dates.time(at(5_000), clock_us + 5_000_000), (expected_us + 5_000_000, None), "{off_s}");
            let right_us = (START + 6) * 1_000_000;
            assert_eq!(dates.time(at(6_000), right_us), (right_us, notice.map(|_| Notice::Agrees)), "{off_s}");
        }
    }

    #[test]
    fn late_and_rounded_dates_do_not_make_the_clock_seem_ahead() {
        let mut dates = Dates::default();
        for ms in (0..60_000).step_by(700) {
            // Each is up to 9 s late.
            dates.note(at(ms), START + ms.saturating_sub(ms * 7 % 9_000) / 1_000);
            let clock_us = START * 1_000_000 + ms * 1_000;
            assert_eq!(dates.time(at(ms), clock_us), (clock_us, None), "{ms} ms");
        }
    }

    #[test]
    fn a_store_whose_clock_was_set_back_is_believed() {
        let mut dates = Dates::default();
        dates.note(at(0), START + 86_400);
        dates.note(at(1_000), START + 1);
        assert_eq!(dates.time(at(2_000), (START + 2) * 1_000_000), ((START + 2) * 1_000_000, None));
    }
}
