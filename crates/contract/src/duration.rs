//! Durations in Go's notation, such as `250ms` or `1m30s`.

use std::time::Duration;

/// Longest duration that is accepted: a longer one is a mistake in its unit.
const DURATION_MAX: Duration = Duration::from_secs(24 * 3600);

/// Parses a duration in Go's notation: numbers with the units `ns`, `us`, `µs`, `ms`, `s`, `m`, `h`, one after the
/// other, or a lone 0. None if it is something else, or longer than a day.
pub fn parse_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0f64;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after_number) = rest.split_at_checked(number_end)?;
        let unit_end = after_number.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after_number.len());
        let (unit, after_unit) = after_number.split_at_checked(unit_end)?;
        let unit_seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * unit_seconds;
        rest = after_unit;
    }
    let duration = Duration::try_from_secs_f64(seconds).ok()?;
    (!text.is_empty() && duration <= DURATION_MAX).then_some(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations() {
        for (text, ms) in [("5s", 5000), ("250ms", 250), ("1m30s", 90_000), ("1.5s", 1500), ("0", 0), ("0s", 0)] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for wrong in ["", "5", "s", "-1s", "5 s", "1x", "1s5", "99999h", ".s", "1e3s", "…"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }
}
