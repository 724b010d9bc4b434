//! A request's query: named values, numbers, times and durations, each with its error.

use crate::http::error::ApiError;
use rawline_contract::{code, parse_duration};
use std::borrow::Cow;
use std::time::Duration;

/// The query of a request, whose names `parameters.rs` has checked.
pub(crate) struct Query<'a>(&'a str);

/// The topic, group or producer that a request's query names, for the audit log.
pub(crate) fn resource(uri: &http::Uri) -> String {
    let query = Query::of_uri(uri);
    let named = ["topic-name", "group-name", "producer-name"].into_iter().find_map(|name| {
        let value = query.find(name)?;
        let kind = name.split_once('-').map_or(name, |(kind, _)| kind);
        Some(format!("{kind} {}", crate::access::shown(&value)))
    });
    named.unwrap_or_default()
}

impl<'a> Query<'a> {
    pub fn of<B>(request: &'a http::Request<B>) -> Self {
        Query::of_uri(request.uri())
    }

    pub fn of_uri(uri: &'a http::Uri) -> Self {
        Query(uri.query().unwrap_or_default())
    }

    fn find(&self, name: &str) -> Option<Cow<'a, str>> {
        form_urlencoded::parse(self.0.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value)
    }

    fn require(&self, name: &str, example: &str) -> Result<Cow<'a, str>, ApiError> {
        self.find(name).ok_or_else(|| ApiError::new(code::QUERY_MISSING, format!("add {name}={example} to the query")))
    }

    /// All values with this name, in order.
    pub fn all(&self, name: &str) -> Vec<String> {
        let values = form_urlencoded::parse(self.0.as_bytes()).filter(|(key, _)| key == name);
        values.map(|(_, value)| value.into_owned()).collect()
    }

    /// A value, unchanged.
    pub fn text(&self, name: &str) -> Option<String> {
        self.find(name).map(Cow::into_owned)
    }

    /// The topic's name, which is required.
    pub fn topic(&self) -> Result<Cow<'a, str>, ApiError> {
        match self.find("topic-name") {
            Some(name) if !name.is_empty() => Ok(name),
            _ => Err(ApiError::new(code::TOPIC_NAME_MISSING, "name a topic: ?topic-name=NAME")),
        }
    }

    /// A whole number; `default` if it is missing. Without a default it is required.
    pub fn number(&self, name: &str, default: Option<u64>) -> Result<u64, ApiError> {
        let value = match (self.find(name), default) {
            (None, Some(default)) => return Ok(default),
            (Some(value), _) => value,
            (None, None) => self.require(name, "NUMBER")?,
        };
        value.parse().map_err(|_| {
            ApiError::new(code::QUERY_NUMBER, format!("{name}={value} is not a whole number of 0 or more"))
        })
    }

    /// The number of a partition; 0 by default.
    pub fn partition(&self) -> Result<u64, ApiError> {
        self.number("partition", Some(0))
    }

    /// The name of a producer, which is required.
    pub fn producer_name(&self) -> Result<Cow<'a, str>, ApiError> {
        match self.find("producer-name") {
            Some(name) if !name.is_empty() => Ok(name),
            _ => Err(ApiError::new(code::PRODUCER_NAME, "name a producer: ?producer-name=NAME")),
        }
    }

    /// The name of a group, which is required.
    pub fn group(&self) -> Result<Cow<'a, str>, ApiError> {
        match self.find("group-name") {
            Some(name) if !name.is_empty() => Ok(name),
            _ => Err(ApiError::new(code::GROUP_NAME, "name a group: ?group-name=NAME")),
        }
    }

    /// The id of a group's member, which is required.
    pub fn member(&self) -> Result<Cow<'a, str>, ApiError> {
        self.require("member", "ID")
    }

    /// The instance of a member, under which it gets its partitions back after a restart.
    pub fn instance(&self) -> Option<String> {
        self.find("instance").map(Cow::into_owned)
    }

    /// The generation that a member knows; required.
    pub fn generation(&self) -> Result<u32, ApiError> {
        let generation = self.number("generation", None)?;
        // No generation is greater.
        Ok(u32::try_from(generation).unwrap_or(u32::MAX))
    }

    /// The number of partitions that a member has divided, if it leads.
    pub fn divided(&self) -> Result<Option<u64>, ApiError> {
        if self.find("divided").is_some() { self.number("divided", None).map(Some) } else { Ok(None) }
    }

    /// The replacement for a key.
    pub fn ticket(&self) -> Option<Cow<'a, str>> {
        self.find("ticket")
    }

    /// Whether a switch is on; off by default.
    pub fn switch(&self, name: &str) -> Result<bool, ApiError> {
        match self.find(name).as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(value) => {
                let message = format!("{name}={value} is neither true nor false");
                Err(ApiError::new(code::QUERY_INVALID, message))
            }
        }
    }

    /// The selector of series, which is required.
    pub fn selector(&self) -> Result<String, ApiError> {
        self.require("selector", "SELECTOR").map(Cow::into_owned)
    }

    /// Whether a topic is named.
    pub fn has_topic(&self) -> bool {
        self.find("topic-name").is_some()
    }

    /// The epoch of a producer, for an exactly-once append.
    pub fn producer_epoch(&self) -> Result<Option<u16>, ApiError> {
        let Some(epoch) = self.find("producer-epoch") else { return Ok(None) };
        let wrong = |_| format!("producer-epoch={epoch} is not a whole number from 0 to 65535");
        epoch.parse().map(Some).map_err(|error| ApiError::new(code::QUERY_NUMBER, wrong(error)))
    }

    /// A duration in Go's notation; `default` if it is missing.
    pub fn duration(&self, name: &str, default: Duration) -> Result<Duration, ApiError> {
        let Some(value) = self.find(name) else { return Ok(default) };
        parse_duration(&value).ok_or_else(|| {
            let message = format!("{name}={value} is not a duration of at most a day, such as 250ms, 5s or 1m30s");
            ApiError::new(code::QUERY_DURATION, message)
        })
    }

    /// A time, which may be relative to now, in microseconds since the Unix epoch; required.
    pub fn time_us(&self, name: &str, now_us: u64) -> Result<u64, ApiError> {
        let value = self.require(name, "TIME")?;
        time_us(name, &value, now_us).map_err(|message| ApiError::new(code::QUERY_TIME, message))
    }
}

/// A parameter's time in microseconds since the Unix epoch, or its error.
pub fn time_us(name: &str, value: &str, now_us: u64) -> Result<u64, String> {
    let time = rawline_time::parse_time(value, rawline_contract::timestamp(now_us));
    let time = time.map_err(|error| format!("{name}: {error} (send + as %2B)"))?;
    // No record is older than the epoch.
    Ok(u64::try_from(time.as_microsecond()).unwrap_or(0))
}
