//! The times that the command line and HTTP take, all with the same rules.

use crate::iso;
use crate::length::parse_length;
use jiff::civil::{DateTime, Time};
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

/// Below this, a number without a unit is in seconds (until the year 5138); from here on, in milliseconds (since March
/// 1973).
const UNIX_SECONDS_END: i64 = 100_000_000_000;

/// Reasons why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// It has none of the forms of a time.
    #[error(
        "{0:?} is not a time; use 2014-04-10, 2014-04-10T12:30:00Z, 1397132220 (Unix seconds or milliseconds), \
         -1h, or now"
    )]
    NotTime(String),
    /// It names a zone, whose rules aren't known here.
    #[error("{0:?} has a zone's name in brackets; give the offset only, such as 2014-04-10T14:30:00+02:00")]
    Zone(String),
    /// It is outside of the calendar.
    #[error("{0:?} is too far from now")]
    OutOfRange(String),
}

/// Parses a time.
///
/// The forms are RFC 3339, a date or a date with a time (both in UTC), Unix seconds or milliseconds, `now`, or a time
/// relative to `now`: `-1h`, `now-1h`, `now+5m`.
pub fn parse_time(text: &str, now: Timestamp) -> Result<Timestamp, TimeError> {
    let text = text.trim();
    let out_of_range = || TimeError::OutOfRange(text.to_owned());
    let not_time = || match text.contains('[') {
        true => TimeError::Zone(text.to_owned()),
        false => TimeError::NotTime(text.to_owned()),
    };
    if let Some(distance) = text.strip_prefix("now").or(text.starts_with('-').then_some(text)) {
        let ms = |length| parse_length(length).map_err(|_| not_time());
        let distance_ms = match distance.split_at_checked(1) {
            None if distance.is_empty() => 0,
            Some(("-", length)) => ms(length)?.saturating_neg(),
            Some(("+", length)) => ms(length)?,
            _ => return Err(not_time()),
        };
        return now.checked_add(SignedDuration::from_millis(distance_ms)).map_err(|_| out_of_range());
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: i64 = text.parse().map_err(|_| out_of_range())?;
        let time = if number < UNIX_SECONDS_END {
            Timestamp::from_second(number)
        } else {
            Timestamp::from_millisecond(number)
        };
        return time.map_err(|_| out_of_range());
    }
    let utc = |time: DateTime| Offset::UTC.to_timestamp(time).ok();
    iso::timestamp(text)
        .or_else(|| iso::datetime(text).and_then(utc))
        .or_else(|| iso::date(text).and_then(|date| utc(date.to_datetime(Time::midnight()))))
        .ok_or_else(not_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;
    const NOON: i64 = 1_397_131_200_000;

    fn parse(text: &str) -> Result<i64, TimeError> {
        parse_time(text, Timestamp::from_millisecond(NOON).unwrap()).map(Timestamp::as_millisecond)
    }

    #[test]
    fn times_are_read_in_every_form() {
        let cases = [
            ("2014-04-10T12:00:00Z", NOON),
            ("2014-04-10T14:00:00+02:00", NOON),
            ("2014-04-10T12:00:00.250Z", NOON + 250),
            ("2014-04-10 12:00:00", NOON),
            ("2014-04-10T12:00", NOON),
            ("2014-04-10", NOON - 12 * HOUR),
            ("1397131200", NOON),
            ("1397131200000", NOON),
            ("0", 0),
            ("now", NOON),
            (" now ", NOON),
            ("-1h", NOON - HOUR),
            ("now-1h30m", NOON - HOUR * 3 / 2),
            ("now+5m", NOON + HOUR / 12),
            ("-7d", NOON - 7 * 24 * HOUR),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text), Ok(want), "{text}");
        }
        let fine = parse_time("2014-04-10T12:00:00.000001Z", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(fine.as_microsecond(), NOON * 1_000 + 1, "nothing is rounded");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "-",
            "yesterday",
            "2014-04-31",
            "2014-13-01",
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
            assert_eq!(parse(text), Err(TimeError::NotTime(text.to_owned())), "{text}");
        }
        for text in
            ["2014-04-10T12:00:00[Europe/Berlin]", "2014-04-10T12:00:00+02:00[Europe/Berlin]", "2014-04-10[UTC]"]
        {
            assert_eq!(parse(text), Err(TimeError::Zone(text.to_owned())), "{text}");
        }
        for text in ["99999999999999999999", "9999999999999999", "-99999y"] {
            assert_eq!(parse(text), Err(TimeError::OutOfRange(text.to_owned())), "{text}");
        }
    }
}
