//! Human-readable times, and the choice of steps.

use jiff::Timestamp;
use jiff::tz::Offset;

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Formats a time as RFC 3339 in UTC, with as many digits as needed.
pub fn format_time(ms: i64) -> String {
    // Times outside of the calendar are shown as numbers.
    Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |time| time.to_string())
}

/// Formats a time for a table: `2014-04-10 12:30`, with seconds or milliseconds only if `step_ms` needs them.
pub fn format_time_short(ms: i64, step_ms: i64) -> String {
    let pattern = match step_ms {
        step if step % DAY_MS == 0 && ms % DAY_MS == 0 => "%Y-%m-%d",
        step if step % MINUTE_MS == 0 && ms % MINUTE_MS == 0 => "%Y-%m-%d %H:%M",
        step if step % SECOND_MS == 0 && ms % SECOND_MS == 0 => "%Y-%m-%d %H:%M:%S",
        _ => "%Y-%m-%d %H:%M:%S.%3f",
    };
    format_time_as(ms, pattern)
}

/// Formats a time in UTC by a pattern of `strftime`.
pub(crate) fn format_time_as(ms: i64, pattern: &str) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) => Offset::UTC.to_datetime(time).strftime(pattern).to_string(),
        Err(_) => ms.to_string(),
    }
}

/// Common steps.
const STEPS_MS: [i64; 19] = [
    SECOND_MS,
    5 * SECOND_MS,
    10 * SECOND_MS,
    30 * SECOND_MS,
    MINUTE_MS,
    2 * MINUTE_MS,
    5 * MINUTE_MS,
    10 * MINUTE_MS,
    15 * MINUTE_MS,
    30 * MINUTE_MS,
    HOUR_MS,
    2 * HOUR_MS,
    3 * HOUR_MS,
    6 * HOUR_MS,
    12 * HOUR_MS,
    DAY_MS,
    2 * DAY_MS,
    7 * DAY_MS,
    28 * DAY_MS,
];

/// Number of points of a line if no step is given: enough to show its shape, few enough to distinguish them.
const POINTS_WANTED: i64 = 200;

/// The default step for a range of this length: the shortest common step that gives up to [`POINTS_WANTED`] points.
pub fn default_step_ms(range_ms: i64) -> i64 {
    let least_ms = range_ms.max(0).div_euclid(POINTS_WANTED);
    let usual = STEPS_MS.into_iter().find(|&step_ms| step_ms >= least_ms);
    usual.unwrap_or_else(|| least_ms.div_euclid(28 * DAY_MS).saturating_add(1).saturating_mul(28 * DAY_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_397_131_200_000;

    #[test]
    fn the_step_gives_about_two_hundred_points() {
        assert_eq!(default_step_ms(0), SECOND_MS);
        assert_eq!(default_step_ms(HOUR_MS), 30_000);
        assert_eq!(default_step_ms(DAY_MS), 10 * MINUTE_MS);
        assert_eq!(default_step_ms(14 * DAY_MS), 2 * HOUR_MS);
        assert_eq!(default_step_ms(365 * DAY_MS), 2 * DAY_MS);
        for days in 1..40_000 {
            let range_ms = days * DAY_MS;
            let points = range_ms / default_step_ms(range_ms);
            assert!((50..=POINTS_WANTED).contains(&points), "{days} days have {points} points");
        }
        assert!(default_step_ms(i64::MAX) > 0);
    }

    #[test]
    fn a_table_shows_no_digits_that_the_step_does_not_need() {
        assert_eq!(format_time_short(NOON - 12 * HOUR_MS, DAY_MS), "2014-04-10");
        assert_eq!(format_time_short(NOON, HOUR_MS), "2014-04-10 12:00");
        assert_eq!(format_time_short(NOON, 30_000), "2014-04-10 12:00:00");
        assert_eq!(format_time_short(NOON + 1, 1), "2014-04-10 12:00:00.001");
        assert_eq!(format_time(NOON), "2014-04-10T12:00:00Z");
        assert_eq!(format_time(i64::MAX), i64::MAX.to_string());
    }
}
