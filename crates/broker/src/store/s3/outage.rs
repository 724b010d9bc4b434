//! When the log reports that requests to a bucket fail and are retried.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A request that fails for less time isn't reported: most failures pass in a moment.
const REPORT_AFTER: Duration = Duration::from_secs(2);

/// Pause after the first report. It doubles with each one, so that a start that fails for 30 s is reported three times.
const PAUSE_MIN: Duration = Duration::from_secs(4);

/// A longer outage has this much between reports.
const PAUSE_MAX: Duration = Duration::from_mins(5);

/// The reports about one bucket, whatever the number of requests that fail.
#[derive(Default)]
pub(super) struct Outage {
    newest: Mutex<Option<Report>>,
}

struct Report {
    at: Instant,
    /// Until the next one.
    pause: Duration,
}

impl Outage {
    /// Whether to report a request now that has been failing since `began`. If so, it counts as reported.
    pub(super) fn report(&self, began: Instant, now: Instant) -> bool {
        if now - began < REPORT_AFTER {
            return false;
        }
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = match &*newest {
            Some(report) if now - report.at < report.pause => return false,
            Some(report) if began <= report.at + PAUSE_MAX => (2 * report.pause).min(PAUSE_MAX),
            // Another outage.
            _ => PAUSE_MIN,
        };
        *newest = Some(Report { at: now, pause });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_reported_after_a_moment_and_then_less_and_less_often() {
        let (outage, start) = (Outage::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let reported = |range: std::ops::Range<u64>| -> Vec<u64> {
            // Two requests at any time, each for up to 30 s.
            let is_reported = |second: &u64| {
                let began = range.start.max(second.saturating_sub(30));
                [began, began].into_iter().filter(|began| outage.report(at(*began), at(*second))).count() == 1
            };
            range.clone().filter(is_reported).collect()
        };
        assert_eq!(reported(0..1_000), [2, 6, 14, 30, 62, 126, 254, 510, 810]);
        assert_eq!(reported(2_000..2_010), [2_002, 2_006], "another outage");
    }
}
