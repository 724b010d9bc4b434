//! A record as a JSON object, and the text of its time.

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use rawline_batch::record_batch::{Headers, Record};
use serde::{Serialize, Serializer};

/// A record as JSON: as text where it is UTF-8, else in base64. So are the keys and headers that records of Kafka's
/// have.
#[derive(Debug, Serialize)]
pub struct JsonRecord<'a> {
    /// The topic that it is from, where records of several are together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<&'a str>,
    /// The partition that it is from, where records of several are together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<u32>,
    /// Its offset in the partition.
    pub offset: u64,
    /// Time at which its batch was built, or the record's own time: a [`timestamp`] as text. Null if a record of
    /// Kafka's has none.
    pub time: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_base64: Option<Base64<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<JsonHeaders<'a>>,
    /// The record, if it is UTF-8, or null if a record of Kafka's has no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<Option<&'a str>>,
    /// The record, if it isn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    record_base64: Option<Base64<'a>>,
}

impl<'a> JsonRecord<'a> {
    /// The record at `offset`. Allocates nothing, neither here nor when it is written.
    pub fn new(offset: u64, time: &'a str, bytes: &'a [u8]) -> Self {
        let (text, record_base64) = text_or_base64(bytes);
        let record = text.map(Some);
        let (key, key_base64, headers) = (None, None, None);
        let time = Some(time);
        JsonRecord { topic: None, partition: None, offset, time, key, key_base64, headers, record, record_base64 }
    }

    /// The same of a record of Kafka's, with its key and headers. The time is its [`timestamp_ms`] as text.
    pub fn of_kafka(offset: u64, time: &'a str, record: &Record<'a>) -> Self {
        let plain = match record.value {
            Some(value) => JsonRecord::new(offset, time, value),
            None => JsonRecord { record: Some(None), ..JsonRecord::new(offset, time, b"") },
        };
        let (key, key_base64) = record.key.map_or((None, None), text_or_base64);
        let headers = (record.headers.len() > 0).then_some(JsonHeaders(record.headers));
        let time = plain.time.filter(|_| record.timestamp_ms != NO_TIME_MS);
        JsonRecord { time, key, key_base64, headers, ..plain }
    }

    /// The maximum size of the JSON that a record's key and headers take, in bytes.
    pub fn fields_bytes_max(record: &Record<'_>) -> u64 {
        // A control character takes six bytes in JSON.
        let text_bytes = |bytes: Option<&[u8]>| bytes.map_or(0, |bytes| bytes.len() as u64 * 6);
        let names = |text: &str| text.len() as u64;
        let headers = record.headers;
        let headers_bytes = headers.map(|(key, value)| {
            text_bytes(Some(key)) + text_bytes(value) + names(r#"{"key_base64":"","value_base64":""},"#)
        });
        text_bytes(record.key) + names(r#""key_base64":"","headers":[],"#) + headers_bytes.sum::<u64>()
    }

    /// The same with the number of its partition.
    #[must_use]
    pub fn of_partition(self, partition: Option<u32>) -> Self {
        JsonRecord { partition, ..self }
    }

    /// The same with the name of its topic.
    #[must_use]
    pub fn of_topic(self, topic: Option<&'a str>) -> Self {
        JsonRecord { topic, ..self }
    }
}

/// The headers of a record of Kafka's, in order.
#[derive(Debug)]
struct JsonHeaders<'a>(Headers<'a>);

impl Serialize for JsonHeaders<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.map(|(key, value)| JsonHeader::new(key, value)))
    }
}

#[derive(Serialize)]
struct JsonHeader<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_base64: Option<Base64<'a>>,
    /// Null if it has no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_base64: Option<Base64<'a>>,
}

impl<'a> JsonHeader<'a> {
    fn new(key: &'a [u8], value: Option<&'a [u8]>) -> Self {
        let (key, key_base64) = text_or_base64(key);
        let (value, value_base64) = match value {
            Some(value) => {
                let (text, base64) = text_or_base64(value);
                (text.map(Some), base64)
            }
            None => (Some(None), None),
        };
        JsonHeader { key, key_base64, value, value_base64 }
    }
}

fn text_or_base64(bytes: &[u8]) -> (Option<&str>, Option<Base64<'_>>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(_) => (None, Some(Base64(bytes))),
    }
}

#[derive(Debug)]
struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}

/// The time of a batch, from microseconds since the Unix epoch.
///
/// A producer may send any number as a time. One that lies after the last time that RFC 3339 can write, at the end of
/// the year 9999, is shown as that: it can't be mistaken for a real time, as the epoch can.
pub fn timestamp(time_us: u64) -> Timestamp {
    let time = i64::try_from(time_us).ok().and_then(|us| Timestamp::from_microsecond(us).ok());
    time.unwrap_or(Timestamp::MAX)
}

/// The value of a missing time in a Kafka record.
const NO_TIME_MS: i64 = -1;

/// The time of a record of Kafka's, from milliseconds since the Unix epoch, also before it. As [`timestamp`], one that
/// RFC 3339 can't write is shown as the nearest that it can.
pub fn timestamp_ms(time_ms: i64) -> Timestamp {
    let nearest = if time_ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(time_ms).unwrap_or(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_text_or_base64() {
        let json = |bytes: &[u8]| serde_json::to_string(&JsonRecord::new(7, "T", bytes)).unwrap();
        assert_eq!(json("a\"b\nü".as_bytes()), r#"{"offset":7,"time":"T","record":"a\"b\nü"}"#);
        let from_partition = JsonRecord::new(7, "T", b"a").of_partition(Some(3));
        let text = serde_json::to_string(&from_partition).unwrap();
        assert_eq!(text, r#"{"partition":3,"offset":7,"time":"T","record":"a"}"#);
        assert_eq!(json(b""), r#"{"offset":7,"time":"T","record":""}"#);
        assert_eq!(json(&[0xff, 0]), r#"{"offset":7,"time":"T","record_base64":"/wA="}"#);
    }

    /// Defect 29: `GET /records` and `rawline consume` once showed different years.
    #[test]
    fn an_impossible_time_is_the_last_possible_one() {
        assert_eq!(timestamp(0).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(1_000_001).to_string(), "1970-01-01T00:00:01.000001Z");
        for impossible in [u64::MAX, i64::MAX as u64, i64::MAX as u64 + 1] {
            assert_eq!(timestamp(impossible), Timestamp::MAX);
            assert!(timestamp(impossible).to_string().starts_with("9999-"));
        }
    }
}
