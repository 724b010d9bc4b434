//! Topics as the API describes them.

use crate::{Hours, Partitions};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use std::num::NonZeroU64;

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicInfo {
    /// Its name.
    pub name: String,
    /// Offset of the oldest record of one partition: of the requested one, or of partition 0.
    pub first_offset: u64,
    /// Offset that the next record of the same partition will get.
    pub next_offset: u64,
    /// Number of partitions.
    #[serde(default)]
    pub partitions: Partitions,
    /// Number of stored objects of all partitions.
    #[serde(default)]
    pub objects: u64,
    /// Size of the stored objects of all partitions in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// Time of the newest commit, by the broker's clock; none in an empty topic.
    #[serde(default)]
    pub latest_commit_at: Option<Timestamp>,
    /// The type of its records.
    #[serde(default)]
    pub payload: Payload,
    /// Records are deleted when they are older; none keeps them.
    #[serde(default)]
    pub retain_hours: Option<Hours>,
    /// The oldest records are deleted while the objects of all partitions have more bytes; none keeps them.
    #[serde(default)]
    pub retain_bytes: Option<u64>,
    /// The cleanup of old records.
    #[serde(default, skip_serializing_if = "CleanupPolicy::is_default")]
    pub cleanup_policy: CleanupPolicy,
    /// In a compacted topic, tombstones stay for this long; none: a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tombstone_hours: Option<Hours>,
    /// The extent of each partition, in order. Empty in a list of topics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<Extent>,
}

/// The offsets of a partition's records: `first_offset..next_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Offset of the oldest record.
    pub first_offset: u64,
    /// Offset that the next record will get.
    pub next_offset: u64,
}

impl Extent {
    /// Number of records.
    pub fn records(&self) -> u64 {
        self.next_offset.saturating_sub(self.first_offset)
    }
}

impl TopicInfo {
    /// Number of records: of all partitions, or in a list of topics of partition 0.
    pub fn records(&self) -> u64 {
        match self.offsets.as_slice() {
            [] => self.extent().records(),
            offsets => offsets.iter().map(Extent::records).sum(),
        }
    }

    /// The extent of each partition, in order. Without it, only that of partition 0 is known.
    pub fn extents(&self) -> Vec<Extent> {
        if self.offsets.is_empty() { vec![self.extent()] } else { self.offsets.clone() }
    }

    fn extent(&self) -> Extent {
        Extent { first_offset: self.first_offset, next_offset: self.next_offset }
    }
}

/// Number of topics in a page of their list, unless a request says another.
pub const TOPICS_PAGE: u32 = 1_000;

/// Maximum number of topics in a page: they have up to 8 MB.
pub const TOPICS_PAGE_MAX: u32 = 10_000;

/// A page of the list of topics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicList {
    /// By name.
    pub topics: Vec<TopicInfo>,
    /// The name after which the next page begins; absent in the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Changes of a topic's settings. `None` keeps a setting; `Some(None)` restores the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The type of its records.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "mentioned")]
    pub payload: Option<Option<Payload>>,
    /// How old records get before they are deleted.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "mentioned")]
    pub retain_hours: Option<Option<Hours>>,
    /// Size of the objects of all its partitions in bytes from which on the oldest are deleted.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "mentioned")]
    pub retain_bytes: Option<Option<NonZeroU64>>,
    /// The cleanup of old records.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "mentioned")]
    pub cleanup_policy: Option<Option<CleanupPolicy>>,
    /// How long tombstones stay in a compacted topic.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "mentioned")]
    pub tombstone_hours: Option<Option<Hours>>,
    /// Number of partitions; it can only grow.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "mentioned")]
    pub partitions: Option<Partitions>,
}

/// An existing member, null or not.
fn mentioned<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The type of a topic's records, for programs that display them. The broker treats all records alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Payload {
    /// Any bytes.
    #[default]
    Bytes,
    /// Structured values.
    Value,
}

impl std::fmt::Display for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Payload::Bytes => "bytes",
            Payload::Value => "value",
        })
    }
}

impl std::str::FromStr for Payload {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "bytes" => Ok(Payload::Bytes),
            "value" => Ok(Payload::Value),
            _ => Err(format!("unknown payload {name:?}; use bytes or value")),
        }
    }
}

/// The cleanup of a topic's old records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CleanupPolicy {
    /// Those beyond the limits are deleted.
    #[default]
    #[serde(rename = "delete")]
    Delete,
    /// Of the records with one key, all but the newest are removed; the limits have no effect.
    #[serde(rename = "compact")]
    Compact,
    /// Both.
    #[serde(rename = "compact,delete", alias = "delete,compact")]
    CompactDelete,
}

impl CleanupPolicy {
    const ALL: [CleanupPolicy; 3] = [CleanupPolicy::Delete, CleanupPolicy::Compact, CleanupPolicy::CompactDelete];

    fn is_default(&self) -> bool {
        *self == CleanupPolicy::default()
    }
}

impl std::fmt::Display for CleanupPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CleanupPolicy::Delete => "delete",
            CleanupPolicy::Compact => "compact",
            CleanupPolicy::CompactDelete => "compact,delete",
        })
    }
}

impl std::str::FromStr for CleanupPolicy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = CleanupPolicy::ALL.into_iter().find(|policy| policy.to_string() == name);
        found.ok_or_else(|| format!("unknown policy {name:?}; use delete, compact or compact,delete"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_of_an_older_broker_has_defaults() {
        let topic: TopicInfo = serde_json::from_str(r#"{"name":"t","first_offset":2,"next_offset":5}"#).unwrap();
        assert_eq!((topic.records(), topic.bytes, topic.payload), (3, 0, Payload::Bytes));
        assert_eq!(topic.latest_commit_at, None);
        assert_eq!((topic.partitions.get(), topic.offsets.len()), (1, 0));
        assert_eq!(topic.extents(), [Extent { first_offset: 2, next_offset: 5 }]);
    }

    #[test]
    fn records_are_those_of_all_partitions() {
        let text = r#"{"name":"t","first_offset":2,"next_offset":5,"partitions":2,
            "offsets":[{"first_offset":2,"next_offset":5},{"first_offset":0,"next_offset":7}]}"#;
        let topic: TopicInfo = serde_json::from_str(text).unwrap();
        assert_eq!((topic.records(), topic.partitions.get()), (10, 2));
        let again: TopicInfo = serde_json::from_str(&serde_json::to_string(&topic).unwrap()).unwrap();
        assert_eq!(again, topic);
    }

    #[test]
    fn settings_tell_null_from_absent() {
        for (json, settings) in [
            ("{}", Settings::default()),
            (r#"{"payload":null}"#, Settings { payload: Some(None), ..Settings::default() }),
            (
                r#"{"retain_hours":0.5,"retain_bytes":7}"#,
                Settings {
                    retain_hours: Some(Hours::new(0.5)),
                    retain_bytes: Some(NonZeroU64::new(7)),
                    ..Settings::default()
                },
            ),
            (r#"{"retain_bytes":null}"#, Settings { retain_bytes: Some(None), ..Settings::default() }),
            (
                r#"{"cleanup_policy":"compact,delete","tombstone_hours":2}"#,
                Settings {
                    cleanup_policy: Some(Some(CleanupPolicy::CompactDelete)),
                    tombstone_hours: Some(Hours::new(2.0)),
                    ..Settings::default()
                },
            ),
            (r#"{"partitions":4}"#, Settings { partitions: Partitions::new(4), ..Settings::default() }),
        ] {
            assert_eq!(serde_json::from_str::<Settings>(json).unwrap(), settings);
            assert_eq!(serde_json::to_string(&settings).unwrap(), json);
        }
        for wrong in [
            r#"{"retain_bytes":0}"#,
            r#"{"retain_hours":0}"#,
            r#"{"retain_hours":"24"}"#,
            r#"{"retain":1}"#,
            r#"{"partitions":null}"#,
            r#"{"partitions":0}"#,
            r#"{"partitions":1025}"#,
        ] {
            assert!(serde_json::from_str::<Settings>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_payload_has_one_name_as_text_and_as_json() {
        for payload in [Payload::Bytes, Payload::Value] {
            assert_eq!(payload.to_string().parse(), Ok(payload));
            assert_eq!(serde_json::to_string(&payload).unwrap(), format!("\"{payload}\""));
        }
        assert!("text".parse::<Payload>().is_err());
        assert!(serde_json::from_str::<Settings>(r#"{"payload":"bytes","more":1}"#).is_err());
    }
}
