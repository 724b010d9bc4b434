//! A record as a JSON object, and the text of its time.

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// A record as JSON: as text where it is UTF-8, else in base64.
#[derive(Debug, Serialize)]
pub struct JsonRecord<'a> {
    /// The partition that it is from, where records of several are together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<u32>,
    /// Its offset in the partition.
    pub offset: u64,
    /// When its batch was made: a [`timestamp`] as text.
    pub time: &'a str,
    /// The record, if it is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'a str>,
    /// The record, if it isn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    record_base64: Option<Base64<'a>>,
}

impl<'a> JsonRecord<'a> {
    /// The record at `offset`. Allocates nothing, neither here nor when it is written.
    pub fn new(offset: u64, time: &'a str, bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => JsonRecord { partition: None, offset, time, record: Some(text), record_base64: None },
            Err(_) => JsonRecord { partition: None, offset, time, record: None, record_base64: Some(Base64(bytes)) },
        }
    }

    /// The same with the number of its partition.
    #[must_use]
    pub fn of_partition(self, partition: Option<u32>) -> Self {
        JsonRecord { partition, ..self }
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
