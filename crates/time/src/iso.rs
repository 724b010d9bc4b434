//! Dates and times as text: ISO 8601 with nothing dropped.
//!
//! jiff also reads zone names in brackets (and then ignores them, or the offset), times where a date is asked for, a
//! leap second as the second before it, and offsets of more than a day. These are refused here: a part of a text that
//! is dropped is an error that goes unnoticed.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};

/// A point in time: a date, a time of day, and `Z` or an offset of less than a day.
pub fn timestamp(text: &str) -> Option<Timestamp> {
    let (date, rest) = split(text)?;
    let (time, offset) = rest.split_at(rest.find(['Z', 'z', '+', '-'])?);
    (is_date(date) && is_time(time) && is_offset(offset)).then(|| text.parse().ok())?
}

/// A date and a time of day without a zone.
pub fn datetime(text: &str) -> Option<DateTime> {
    let (date, time) = split(text)?;
    (is_date(date) && is_time(time)).then(|| text.parse().ok())?
}

/// A date.
pub fn date(text: &str) -> Option<Date> {
    is_date(text).then(|| text.parse().ok())?
}

/// A time of day.
pub fn time(text: &str) -> Option<Time> {
    is_time(text).then(|| text.parse().ok())?
}

fn split(text: &str) -> Option<(&str, &str)> {
    text.split_once(['T', 't', ' '])
}

fn is_date(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+')) && text.ends_with(is_digit)
}

/// Hours and minutes, with seconds up to 59 or without.
fn is_time(text: &str) -> bool {
    let has_digits = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
    has_digits && text.get(2..3) == Some(":") && text.get(5..8) != Some(":60") && text.ends_with(is_digit)
}

/// `Z`, or an offset of at most 23:59.
fn is_offset(text: &str) -> bool {
    match text.strip_prefix(['+', '-']) {
        Some(offset) => {
            let hours = offset.get(..2).and_then(|hours| hours.parse::<u8>().ok());
            hours.is_some_and(|hours| hours < 24) && offset.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
        }
        None => matches!(text, "Z" | "z"),
    }
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_dropped() {
        for good in [
            "2020-09-13T12:26:40Z",
            "2020-09-13t12:26:40.123456789z",
            "2020-09-13 12:26:40+02:00",
            "2020-09-13T12:26-23:59",
            "2020-09-13T12:26:40+0200",
            "-009999-01-02T01:59:59Z",
        ] {
            assert!(timestamp(good).is_some(), "{good}");
        }
        for bad in [
            "2020-09-13T12:26:40",
            "2020-09-13T12:26:40Z[Europe/Berlin]",
            "2020-09-13T12:26:40+02:00[Europe/Berlin]",
            "2020-09-13T12:26:40[Europe/Berlin]",
            "2020-09-13T12:26:40[u-ca=hebrew]",
            "2020-09-13T12:26:60Z",
            "2020-09-13T12:26:61Z",
            "2020-09-13T12:26:40+24:00",
            "2020-09-13T12:26:40+25:00",
            "2020-09-13T12:26:40+2",
            "2020-09-13",
            "2020-09-13Z",
            "12:26:40Z",
            "",
        ] {
            assert_eq!(timestamp(bad), None, "{bad}");
        }
        assert!(datetime("2020-09-13T12:26:40.5").is_some() && datetime("2020-09-13 12:26").is_some());
        for bad in
            ["2020-09-13T12:26:40Z", "2020-09-13T12:26:40+02:00", "2020-09-13T12:26:40[Europe/Berlin]", "2020-09-13"]
        {
            assert_eq!(datetime(bad), None, "{bad}");
        }
        assert!(date("2020-09-13").is_some() && time("12:26:40.5").is_some() && time("12:26").is_some());
        for bad in ["2020-09-13T23:00:00-05:00", "2020-09-13T12:00:00", "2020-09-13[u-ca=hebrew]", "2020-02-30"] {
            assert_eq!(date(bad), None, "{bad}");
        }
        for bad in ["12:26:40Z", "12:26:40+02:00", "2020-09-13T12:26:40", "T12:26:40", "12:26:60", "24:00"] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }
}
