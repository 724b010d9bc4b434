//! The settings of a subscription, and the request that they make.

use crate::call::{Call, query_value};
use crate::consumer::Start;
use crate::error::ClientError;
use crate::retry::RetryPolicy;
use http::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use jiff::Timestamp;
use rawline_contract::header::LAST_EVENT_ID;
use rawline_contract::path;
use rawline_contract::subscription::{CURSOR_BYTES_MAX, Cursor, WEBSOCKET_PROTOCOL};
use std::fmt::Write;

/// The action for a subscription that is too slow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Slow {
    /// It ends with an error, code `subscriber_slow`; the next call continues where it was.
    #[default]
    Disconnect,
    /// It skips records, and reports how many: [`Delivered::Skipped`](super::Delivered::Skipped).
    Skip,
}

/// The settings of a [`Subscription`](super::Subscription).
#[derive(Debug, Clone)]
pub struct SubscriptionConfig {
    /// The topics, which exist. With `prefixes`, at most 1,024.
    pub topics: Vec<String>,
    /// Prefixes of topics' names: all topics that have one, including topics that are created later. The empty prefix
    /// matches all.
    pub prefixes: Vec<String>,
    /// The partition of each topic to receive; without it, all.
    pub partition: Option<u32>,
    /// The first record of each partition. An offset needs exactly one topic and one partition. Topics and partitions
    /// that come later begin with their first record.
    pub start: Start,
    /// Position of an earlier subscription ([`Subscription::cursor`](super::Subscription::cursor)); takes precedence
    /// over `start`.
    pub cursor: Option<String>,
    /// Delivers only records with a field of this value, such as `id.resp_p=53/udp`, of topics with structured values.
    pub filter: Option<String>,
    /// The action if the subscription lags more than `lag_max` records in a partition.
    pub slow: Slow,
    /// Maximum number of records between the subscription's position and the partition's end. Without it, none with
    /// [`Slow::Disconnect`], and 65,536 with [`Slow::Skip`].
    pub lag_max: Option<u64>,
    /// How a broken connection is retried.
    pub retries: RetryPolicy,
}

impl Default for SubscriptionConfig {
    /// Of no topic yet: everything that is appended from now on.
    fn default() -> Self {
        SubscriptionConfig {
            topics: Vec::new(),
            prefixes: Vec::new(),
            partition: None,
            start: Start::Latest,
            cursor: None,
            filter: None,
            slow: Slow::default(),
            lag_max: None,
            retries: RetryPolicy::default(),
        }
    }
}

impl SubscriptionConfig {
    /// The settings of a subscription of one topic.
    pub fn new(topic: impl Into<String>) -> Self {
        SubscriptionConfig { topics: vec![topic.into()], ..SubscriptionConfig::default() }
    }

    /// The settings of a subscription of all topics whose names have a prefix.
    pub fn with_prefix(prefix: impl Into<String>) -> Self {
        SubscriptionConfig { prefixes: vec![prefix.into()], ..SubscriptionConfig::default() }
    }

    /// The start, if a cursor sets it.
    pub(super) fn cursor(&self) -> Result<Option<Cursor>, ClientError> {
        let cursor = self.cursor.as_deref().map(str::parse).transpose();
        cursor.map_err(|error| ClientError::Config { reason: format!("{error}; use a cursor that `cursor` returned") })
    }

    /// The request that opens it at `cursor`, or where the settings say.
    pub(super) fn call(&self, key: &str, cursor: Option<&Cursor>) -> Result<Call, ClientError> {
        let mut target = format!("{}?", path::SUBSCRIBE);
        let mut add = |name: &str, value: &dyn std::fmt::Display| {
            let separator = if target.ends_with('?') { "" } else { "&" };
            // Writing to a string doesn't fail.
            let _ = write!(target, "{separator}{name}={value}");
        };
        self.topics.iter().for_each(|topic| add("topic-name", &query_value(topic)));
        self.prefixes.iter().for_each(|prefix| add("topic-prefix", &query_value(prefix)));
        if let Some(partition) = self.partition {
            add("partition", &partition);
        }
        match self.start {
            Start::Latest => {}
            Start::Earliest => add("from", &"first"),
            Start::Offset(offset) => add("from", &offset),
            Start::Time(time) => {
                let time = Timestamp::try_from(time);
                let time = time.map_err(|error| ClientError::Config { reason: error.to_string() })?;
                add("from", &query_value(&time.to_string()));
            }
        }
        if let Some(filter) = &self.filter {
            add("where", &query_value(filter));
        }
        if self.slow == Slow::Skip {
            add("slow", &"skip");
        }
        if let Some(lag_max) = self.lag_max {
            add("max-lag", &lag_max);
        }
        let key = HeaderValue::from_str(key).map_err(|error| ClientError::Config { reason: error.to_string() })?;
        let mut call = Call::get(target)
            .header(CONNECTION, HeaderValue::from_static("Upgrade"))
            .header(UPGRADE, HeaderValue::from_static("websocket"))
            .header(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"))
            .header(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(WEBSOCKET_PROTOCOL))
            .header(SEC_WEBSOCKET_KEY, key);
        if let Some(cursor) = cursor {
            let text = cursor.to_string();
            if text.len() > CURSOR_BYTES_MAX {
                let reason = format!(
                    "the subscription's cursor has {} bytes, the maximum is {CURSOR_BYTES_MAX}; use fewer topics",
                    text.len()
                );
                return Err(ClientError::Config { reason });
            }
            let text =
                HeaderValue::from_str(&text).map_err(|error| ClientError::Config { reason: error.to_string() })?;
            // A query would have to escape it.
            call = call.header(LAST_EVENT_ID, text);
        }
        Ok(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn settings_become_a_query_and_a_cursor_a_header() {
        let config = SubscriptionConfig::new("dns");
        let call = config.call("key", None).unwrap();
        assert_eq!(call.target, "/subscribe?topic-name=dns");
        assert!(!call.headers.iter().any(|(name, _)| name == LAST_EVENT_ID));
        let config = SubscriptionConfig {
            topics: vec!["a".into(), "b".into()],
            prefixes: vec![String::new(), "zeek.".into()],
            partition: Some(3),
            start: Start::Time(UNIX_EPOCH + Duration::from_millis(1500)),
            filter: Some("id.resp_p=53/udp".into()),
            slow: Slow::Skip,
            lag_max: Some(10),
            ..SubscriptionConfig::default()
        };
        let call = config.call("key", Some(&"5;a/0=1".parse().unwrap())).unwrap();
        assert_eq!(
            call.target,
            "/subscribe?topic-name=a&topic-name=b&topic-prefix=&topic-prefix=zeek.&partition=3\
             &from=1970-01-01T00%3A00%3A01.5Z&where=id.resp_p%3D53%2Fudp&slow=skip&max-lag=10"
        );
        assert!(call.headers.iter().any(|(name, value)| name == LAST_EVENT_ID && value == "5;a/0=1"));
    }

    #[test]
    fn a_cursor_that_is_none_is_refused_before_a_request_is_sent() {
        let config = SubscriptionConfig { cursor: Some("now".into()), ..SubscriptionConfig::new("dns") };
        assert!(matches!(config.cursor(), Err(ClientError::Config { .. })));
        let mut cursor = Cursor::default();
        (0..2000).for_each(|number| cursor.set(&format!("a-topic-of-some-length-{number}"), 0, 1));
        assert!(matches!(config.call("key", Some(&cursor)), Err(ClientError::Config { .. })));
    }
}
