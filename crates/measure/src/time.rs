//! Parses and formats times and durations in human-readable forms.

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::tz::Offset;
use rawline_avro::times;

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// The units of a duration, the longest first, as in PromQL: a day is 24 hours, a year 365 days.
const UNITS: [(&str, i64); 7] = [
    ("y", 365 * DAY_MS),
    ("w", 7 * DAY_MS),
    ("d", DAY_MS),
    ("h", HOUR_MS),
    ("m", MINUTE_MS),
    ("s", SECOND_MS),
    ("ms", 1),
];

/// Below this, a number without a unit is in seconds (until the year 5138); from here on, in milliseconds (since March
/// 1973).
const UNIX_SECONDS_END: i64 = 100_000_000_000;

/// Reasons why a text is not a time or a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// It has none of the forms of a time.
    #[error(
        "{0:?} is not a time; use 2014-04-10, 2014-04-10T12:30:00Z, 1397132220 (Unix seconds or milliseconds), \
         -1h, or now"
    )]
    NotTime(String),
    /// It is not a number with a unit.
    #[error("{0:?} is not a duration; use a number with a unit, such as 30s, 5m, 1h, 1d or 1h30m")]
    NotLength(String),
    /// It is outside of the calendar.
    #[error("{0:?} is too far from now")]
    OutOfRange(String),
}

/// Parses a time; returns milliseconds since 1970 in UTC.
///
/// The forms are RFC 3339, a date or a date with a time (both in UTC), Unix seconds or milliseconds, `now`, or a time
/// relative to `now_ms`: `-1h`, `now-1h`, `now+5m`.
pub fn parse_time(text: &str, now_ms: i64) -> Result<i64, TimeError> {
    let text = text.trim();
    let out_of_range = || TimeError::OutOfRange(text.to_owned());
    if let Some(distance) = text.strip_prefix("now").or(text.starts_with('-').then_some(text)) {
        let distance_ms = match distance.split_at_checked(1) {
            None if distance.is_empty() => 0,
            Some(("-", length)) => {
                parse_length(length).map_err(|_| TimeError::NotTime(text.to_owned()))?.saturating_neg()
            }
            Some(("+", length)) => parse_length(length).map_err(|_| TimeError::NotTime(text.to_owned()))?,
            _ => return Err(TimeError::NotTime(text.to_owned())),
        };
        return now_ms.checked_add(distance_ms).filter(|&ms| in_calendar(ms)).ok_or_else(out_of_range);
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: i64 = text.parse().map_err(|_| out_of_range())?;
        let ms = if number < UNIX_SECONDS_END { number * SECOND_MS } else { number };
        return if in_calendar(ms) { Ok(ms) } else { Err(out_of_range()) };
    }
    let utc = |time: DateTime| Offset::UTC.to_timestamp(time).ok();
    let time = times::timestamp(text)
        .or_else(|| times::datetime(text).and_then(utc))
        .or_else(|| times::date(text).and_then(|date| utc(date.to_datetime(Time::midnight()))));
    time.map(Timestamp::as_millisecond).ok_or_else(|| TimeError::NotTime(text.to_owned()))
}

fn in_calendar(ms: i64) -> bool {
    Timestamp::from_millisecond(ms).is_ok()
}

/// Parses a duration; returns milliseconds, at least 1: `30s`, `5m`, `1h30m`. Each unit may occur once, the longest
/// first.
pub fn parse_length(text: &str) -> Result<i64, TimeError> {
    let text = text.trim();
    let wrong = || TimeError::NotLength(text.to_owned());
    let mut rest = text;
    let mut units = UNITS.as_slice();
    let mut total_ms: i64 = 0;
    while !rest.is_empty() {
        let (digits, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?);
        let (unit, after) = after.split_at(after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len()));
        let found = units.iter().position(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let (used, left) = units.split_at(found + 1);
        let unit_ms = used.last().map_or(1, |(_, ms)| *ms);
        let count: i64 = digits.parse().map_err(|_| wrong())?;
        total_ms = count
            .checked_mul(unit_ms)
            .and_then(|ms| total_ms.checked_add(ms))
            .ok_or_else(|| TimeError::OutOfRange(text.to_owned()))?;
        (rest, units) = (after, left);
    }
    if total_ms > 0 { Ok(total_ms) } else { Err(wrong()) }
}

/// Formats a duration in the form that [`parse_length`] reads, in the fewest units: `90m` is `1h30m`.
pub fn format_length(length_ms: i64) -> String {
    let mut rest = length_ms.max(0);
    let mut text = String::new();
    for (name, unit_ms) in UNITS {
        // 90d is clearer than 12w6d, and few people know how many days a year has in PromQL.
        let skipped = matches!(name, "y" | "w") && rest % unit_ms != 0;
        if rest >= unit_ms && !skipped {
            text += &format!("{}{name}", rest / unit_ms);
            rest %= unit_ms;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

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
    fn times_are_read_in_every_form() {
        let cases = [
            ("2014-04-10T12:00:00Z", NOON),
            ("2014-04-10T14:00:00+02:00", NOON),
            ("2014-04-10T12:00:00.250Z", NOON + 250),
            ("2014-04-10 12:00:00", NOON),
            ("2014-04-10T12:00", NOON),
            ("2014-04-10", NOON - 12 * HOUR_MS),
            ("1397131200", NOON),
            ("1397131200000", NOON),
            ("0", 0),
            ("now", NOON),
            (" now ", NOON),
            ("-1h", NOON - HOUR_MS),
            ("now-1h30m", NOON - 90 * MINUTE_MS),
            ("now+5m", NOON + 5 * MINUTE_MS),
            ("-7d", NOON - 7 * DAY_MS),
        ];
        for (text, want) in cases {
            assert_eq!(parse_time(text, NOON), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "-",
            "yesterday",
            "2014-04-31",
            "2014-13-01",
            "2014-04-10T12:00:00[Europe/Berlin]",
            "2014-04-10T12:00:00+02:00[Europe/Berlin]",
            "2014-04-10T12:00:60Z",
            "2014-04-10T12:00:00+25:00",
            "12:00",
            "-1",
            "now1h",
            "now-",
            "1h",
            "-1h1h",
            "ü",
            "nowü",
        ] {
            assert_eq!(parse_time(text, NOON), Err(TimeError::NotTime(text.to_owned())), "{text}");
        }
        for text in ["99999999999999999999", "9999999999999999", "-99999y"] {
            assert_eq!(parse_time(text, NOON), Err(TimeError::OutOfRange(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn lengths_are_read_and_written() {
        let cases = [
            ("1ms", 1),
            ("30s", 30_000),
            ("1m", MINUTE_MS),
            ("5m30s", 5 * MINUTE_MS + 30_000),
            ("1h30m", 90 * MINUTE_MS),
            ("1d", DAY_MS),
            ("90d", 90 * DAY_MS),
            ("2w", 14 * DAY_MS),
            ("1y", 365 * DAY_MS),
        ];
        for (text, want) in cases {
            assert_eq!(parse_length(text), Ok(want), "{text}");
            assert_eq!(format_length(want), text);
        }
        assert_eq!(format_length(parse_length("90m").unwrap()), "1h30m");
        assert_eq!(format_length(0), "0s");
        for text in ["", "5", "m", "5 m", "-5m", "1m1h", "1m1m", "0s", "1.5h", "5min", "5ü"] {
            assert_eq!(parse_length(text), Err(TimeError::NotLength(text.to_owned())), "{text}");
        }
        assert_eq!(parse_length("9999999999999y"), Err(TimeError::OutOfRange("9999999999999y".to_owned())));
    }

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
