//! Durations as text: a number with a unit, as in PromQL.

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

/// Reasons why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LengthError {
    /// It is not a number with a unit.
    #[error("{0:?} is not a duration; use a number with a unit, such as 30s, 5m, 1h, 1d or 1h30m")]
    NotLength(String),
    /// It doesn't fit into 64 bits.
    #[error("{0:?} is too long")]
    OutOfRange(String),
}

/// Parses a duration; returns milliseconds, at least 1: `30s`, `5m`, `1h30m`. Each unit may occur once, the longest
/// first.
pub fn parse_length(text: &str) -> Result<i64, LengthError> {
    let text = text.trim();
    let wrong = || LengthError::NotLength(text.to_owned());
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
            .ok_or_else(|| LengthError::OutOfRange(text.to_owned()))?;
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

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(parse_length(text), Err(LengthError::NotLength(text.to_owned())), "{text}");
        }
        assert_eq!(parse_length("9999999999999y"), Err(LengthError::OutOfRange("9999999999999y".to_owned())));
    }
}
