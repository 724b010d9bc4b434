//! A request's query: named values, numbers, times and Go durations, each with its error.

use crate::http::error::ApiError;
use std::borrow::Cow;
use std::time::Duration;

/// The query of a request. A name that is given twice counts the first time.
pub(crate) struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    pub fn of<B>(request: &'a http::Request<B>) -> Self {
        Query(request.uri().query().unwrap_or_default())
    }

    fn find(&self, name: &str) -> Option<Cow<'a, str>> {
        form_urlencoded::parse(self.0.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The topic's name, which every request needs.
    pub fn topic(&self) -> Result<Cow<'a, str>, ApiError> {
        match self.find("topic-name") {
            Some(name) if !name.is_empty() => Ok(name),
            _ => Err(ApiError::bad("topic_name_missing", "say which topic: ?topic-name=NAME")),
        }
    }

    /// A whole number, `default` if it is not given.
    pub fn number(&self, name: &str, default: Option<u64>) -> Result<u64, ApiError> {
        match (self.find(name), default) {
            (Some(value), _) => value
                .parse()
                .map_err(|_| ApiError::bad("query_number", format!("{name}={value} is not a whole number from 0 on"))),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(ApiError::bad("query_missing", format!("say {name}=NUMBER in the query"))),
        }
    }

    /// A duration in Go's notation, `default` if it is not given.
    pub fn duration(&self, name: &str, default: Duration) -> Result<Duration, ApiError> {
        let Some(value) = self.find(name) else { return Ok(default) };
        parse_go_duration(&value).ok_or_else(|| {
            let message = format!("{name}={value} is not a duration of at most a day, such as 250ms, 5s or 1m30s");
            ApiError::bad("query_duration", message)
        })
    }

    /// A point in time as RFC 3339, in microseconds since the Unix epoch.
    pub fn time_us(&self, name: &str) -> Result<u64, ApiError> {
        let value =
            self.find(name).ok_or_else(|| ApiError::bad("query_missing", format!("say {name}=TIME in the query")))?;
        let time: jiff::Timestamp = value.parse().map_err(|_| {
            let message = format!("{name}={value} is not a time such as 2026-11-21T09:00:00Z (a + is sent as %2B)");
            ApiError::bad("query_time", message)
        })?;
        // Before the epoch there are no records.
        Ok(u64::try_from(time.as_microsecond()).unwrap_or(0))
    }
}

/// Longest wait that is believed: a longer one is a mistake in its unit.
const DURATION_MAX: Duration = Duration::from_secs(24 * 3600);

/// Reads a duration as Go writes it: numbers with the units `ns`, `us`, `µs`, `ms`, `s`, `m`, `h`, one after the other,
/// or a lone 0.
pub fn parse_go_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0f64;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (value, behind) = rest.split_at_checked(number)?;
        let unit_end = behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(unit_end)?;
        let unit_seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += value.parse::<f64>().ok()? * unit_seconds;
        rest = behind;
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
            assert_eq!(parse_go_duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for wrong in ["", "5", "s", "-1s", "5 s", "1x", "1s5", "99999h", ".s", "1e3s", "…"] {
            assert_eq!(parse_go_duration(wrong), None, "{wrong}");
        }
    }
}
