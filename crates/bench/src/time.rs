//! Times in flags.

use serde::{Serialize, Serializer};
use std::time::Duration;

/// Parses a time greater than 0, such as `50ms` or `1.5s`.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let time = text.parse::<jiff::SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok());
    let time = time.filter(|time| !time.is_zero());
    time.ok_or_else(|| format!("{text:?} is not a time greater than 0; give a number with a unit, such as 50ms or 1s"))
}

/// Serializes it as text, such as `50ms`.
pub fn as_text<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| format!("{time:?}")).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(parse_time("1.5s"), Ok(Duration::from_millis(1500)));
        for wrong in ["50", "", "0s", "-1s", "a while"] {
            assert!(parse_time(wrong).unwrap_err().contains("50ms"), "{wrong}");
        }
    }
}
