//! A topic's settings as they are stored: a JSON object. The broker reads nine of its members and keeps the others.

use crate::limits::{SETTINGS_BYTES_MAX, TOMBSTONE_AGE, TOPIC_PARTITIONS_MAX};
use crate::store_error::StoreError;
use bytes::Bytes;
use rawline_batch::Kind;
use rawline_journal::TopicId;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Records are deleted once they are older than this many hours.
const RETAIN_HOURS: &str = "retain_hours";

/// A partition's oldest records are deleted while its objects have more bytes than this.
const RETAIN_BYTES: &str = "retain_bytes";

/// The cleanup of old records: [`DELETE`], which is the default, [`COMPACT`], or both, separated by a comma.
const CLEANUP_POLICY: &str = "cleanup_policy";

/// Records beyond the limits are deleted.
const DELETE: &str = "delete";

/// Of the records with one key, all but the newest are removed.
const COMPACT: &str = "compact";

/// In a compacted topic, tombstones stay for this many hours.
const TOMBSTONE_HOURS: &str = "tombstone_hours";

/// Maximum size of a batch in bytes, if it is lower than the broker's.
const BATCH_BYTES_MAX: &str = "batch_bytes_max";

/// Number of partitions: a member of requests, not of the stored settings.
const PARTITIONS: &str = "partitions";

/// The topic's id, if it was created with one.
const TOPIC_ID: &str = "topic_id";

/// Which records a topic keeps; the default is all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Objects that were appended longer ago are deleted.
    pub age: Option<Duration>,
    /// The oldest objects are deleted while all of them have more bytes.
    pub bytes: Option<u64>,
}

/// How a topic is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    /// Tombstones stay for this long once they are compacted, so that readers see them.
    pub tombstone_age: Duration,
}

/// A topic's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    members: Map<String, Value>,
    retention: Retention,
    compacts: bool,
    tombstone_age: Duration,
    /// Whether records beyond the limits are deleted.
    deletes: bool,
    batch_bytes_max: Option<u64>,
}

impl Default for Settings {
    /// Those of a topic whose settings never changed.
    fn default() -> Self {
        Settings {
            members: Map::new(),
            retention: Retention::default(),
            compacts: false,
            tombstone_age: TOMBSTONE_AGE,
            deletes: true,
            batch_bytes_max: None,
        }
    }
}

impl Settings {
    /// Parses the stored settings of `topic`, and the id that it was created with, if it was. Invalid ones are logged,
    /// and have no effect. Most topics have no settings: they share the default.
    pub(crate) fn parse(topic: &str, stored: &[u8]) -> Result<(Option<TopicId>, Arc<Settings>), StoreError> {
        static DEFAULT: LazyLock<Arc<Settings>> = LazyLock::new(Arc::default);
        if stored.is_empty() {
            return Ok((None, DEFAULT.clone()));
        }
        if let Some(topic_id) = only_id(stored) {
            return Ok((Some(topic_id), DEFAULT.clone()));
        }
        let mut members: Map<String, Value> = serde_json::from_slice(stored).map_err(|error| {
            StoreError::human(format!("the settings of topic {topic} are not a JSON object: {error}"))
        })?;
        let topic_id = members.get(TOPIC_ID).and_then(Value::as_str).and_then(TopicId::parse);
        if topic_id.is_some() {
            members.remove(TOPIC_ID);
        }
        let settings = if members.is_empty() { DEFAULT.clone() } else { Arc::new(Settings::of(topic, members)) };
        Ok((topic_id, settings))
    }

    /// A member, whether or not the broker reads it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// The topic's retention limits. They have an effect if [`Settings::deletes`].
    pub fn retention(&self) -> Retention {
        self.retention
    }

    /// Whether records beyond the limits are deleted. Not if the topic is only compacted.
    pub fn deletes(&self) -> bool {
        self.deletes
    }

    /// How the topic is compacted, if it is.
    pub fn compaction(&self) -> Option<Compaction> {
        self.compacts.then_some(Compaction { tombstone_age: self.tombstone_age })
    }

    /// How long tombstones stay if the topic is compacted.
    pub fn tombstone_age(&self) -> Duration {
        self.tombstone_age
    }

    /// Maximum size of a batch in bytes, if the topic has its own.
    pub fn batch_bytes_max(&self) -> Option<u64> {
        self.batch_bytes_max
    }

    /// The limits that have an effect.
    pub(crate) fn expiry(&self) -> Retention {
        if self.deletes { self.retention } else { Retention::default() }
    }

    /// Takes the number of partitions out of changes of settings, if it is among them: it isn't stored with
    /// them, and needs a check everywhere.
    pub(crate) fn take_partitions(changes: &mut Map<String, Value>) -> Option<u32> {
        let wanted = changes.remove(PARTITIONS)?;
        let Some(partitions) = as_partitions(&wanted) else { unreachable!("{wanted} {PARTITIONS} were not refused") };
        Some(partitions)
    }

    /// These settings with `changes`: a member that is null is removed. The number of partitions isn't among them.
    pub fn changed(&self, topic: &str, changes: Map<String, Value>) -> Settings {
        assert!(!changes.contains_key(PARTITIONS), "the number of partitions changes by itself");
        assert!(!changes.contains_key(TOPIC_ID), "a topic's id never changes");
        let mut members = self.members.clone();
        for (name, value) in changes {
            match value {
                Value::Null => drop(members.remove(&name)),
                value => drop(members.insert(name, value)),
            }
        }
        Settings::of(topic, members)
    }

    fn of(topic: &str, members: Map<String, Value>) -> Settings {
        let retention = retention(topic, &members);
        let (compacts, deletes) = policy(topic, &members);
        let tombstone_age = tombstone_age(topic, &members);
        let batch_bytes_max = member(&members, BATCH_BYTES_MAX).and_then(Value::as_u64);
        Settings { members, retention, compacts, tombstone_age, deletes, batch_bytes_max }
    }

    /// The form in which they are stored, with the topic's id.
    pub(crate) fn encode(&self, id: TopicId) -> Result<Bytes, StoreError> {
        let id = (TOPIC_ID.to_owned(), id.to_string().into());
        let members: Map<String, Value> = self.members.clone().into_iter().chain([id]).collect();
        let encoded = match serde_json::to_vec(&members) {
            Ok(encoded) => encoded,
            Err(error) => unreachable!("{members:?} has no JSON form: {error}"),
        };
        if encoded.len() > SETTINGS_BYTES_MAX {
            return Err(StoreError::new(
                Kind::FixRequest,
                format!(
                    "the settings would have {} bytes of at most {SETTINGS_BYTES_MAX}; make them smaller",
                    encoded.len()
                ),
            ));
        }
        Ok(encoded.into())
    }
}

/// The id, if nothing else is stored, as for most topics: a start with a million of them parses no JSON.
fn only_id(stored: &[u8]) -> Option<TopicId> {
    let id = stored.strip_prefix(br#"{"topic_id":""#)?.strip_suffix(br#""}"#)?;
    TopicId::parse(str::from_utf8(id).ok()?)
}

/// A number of partitions, if it is one that a topic can have.
fn as_partitions(value: &Value) -> Option<u32> {
    let partitions = value.as_u64().and_then(|partitions| u32::try_from(partitions).ok());
    partitions.filter(|partitions| (1..=TOPIC_PARTITIONS_MAX).contains(partitions))
}

/// An existing member that isn't null.
fn member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members.get(name).filter(|value| !value.is_null())
}

/// A time in hours among a topic's settings, if it is one.
fn hours(value: &Value) -> Option<Duration> {
    let hours = value.as_f64().filter(|&hours| hours > 0.0)?;
    Duration::try_from_secs_f64(hours * 3600.0).ok()
}

/// The limits among a topic's settings. Those that this version doesn't understand count as absent.
fn retention(topic: &str, members: &Map<String, Value>) -> Retention {
    let warn = |setting, value: &Value| {
        tracing::warn!(topic, setting, %value, "this limit is not understood and deletes nothing; set it again");
    };
    let age = member(members, RETAIN_HOURS).and_then(|value| {
        hours(value).or_else(|| {
            warn(RETAIN_HOURS, value);
            None
        })
    });
    let bytes = member(members, RETAIN_BYTES).and_then(|value| {
        value.as_u64().filter(|&bytes| bytes > 0).or_else(|| {
            warn(RETAIN_BYTES, value);
            None
        })
    });
    Retention { age, bytes }
}

/// Whether a topic is compacted, and whether records beyond the limits are deleted. Neither, if this version doesn't
/// understand the policy.
fn policy(topic: &str, members: &Map<String, Value>) -> (bool, bool) {
    let Some(value) = member(members, CLEANUP_POLICY) else { return (false, true) };
    let policies: Vec<&str> = value.as_str().unwrap_or_default().split(',').collect();
    if policies.iter().all(|policy| [COMPACT, DELETE].contains(policy)) {
        return (policies.contains(&COMPACT), policies.contains(&DELETE));
    }
    tracing::warn!(topic, %value, "this {CLEANUP_POLICY} is not understood and removes nothing; set it again");
    (false, false)
}

/// How long tombstones stay; the default if this version doesn't understand it.
fn tombstone_age(topic: &str, members: &Map<String, Value>) -> Duration {
    let Some(value) = member(members, TOMBSTONE_HOURS) else { return TOMBSTONE_AGE };
    let is_none = value.as_f64() == Some(0.0);
    hours(value).or(is_none.then_some(Duration::ZERO)).unwrap_or_else(|| {
        tracing::warn!(topic, %value, "these {TOMBSTONE_HOURS} are not understood; tombstones stay for a day");
        TOMBSTONE_AGE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00000000000040058000000000000006";

    fn id() -> TopicId {
        TopicId::new(5, 6)
    }

    fn parse(text: &str) -> Result<Arc<Settings>, StoreError> {
        Settings::parse("t", text.as_bytes()).map(|(_, settings)| settings)
    }

    /// The members that are stored besides the id.
    fn stored(settings: &Settings) -> String {
        let mut members: Map<String, Value> = serde_json::from_slice(&settings.encode(id()).unwrap()).unwrap();
        assert_eq!(members.remove(TOPIC_ID), Some(TEXT.into()));
        Value::Object(members).to_string()
    }

    fn changes(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn members_are_read_and_unknown_ones_are_kept() {
        let stored = r#"{"later":[1],"payload":"value","retain_bytes":10,"retain_hours":0.5}"#;
        let settings = parse(stored).unwrap();
        let retention = Retention { age: Some(Duration::from_secs(1800)), bytes: Some(10) };
        assert_eq!(settings.retention(), retention);
        assert_eq!(super::tests::stored(&settings), stored);
        let changed = settings.changed("t", changes(r#"{"retain_hours":null,"retain_bytes":11}"#));
        assert_eq!(super::tests::stored(&changed), r#"{"later":[1],"payload":"value","retain_bytes":11}"#);
        assert_eq!(changed.retention(), Retention { age: None, bytes: Some(11) });
        for text in ["one", "[]"] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains("topic t"), "{text}: {error}");
        }
    }

    #[test]
    fn the_number_of_partitions_is_taken_out_of_changes() {
        let mut members = changes(r#"{"partitions":1024,"payload":"value"}"#);
        assert_eq!(Settings::take_partitions(&mut members), Some(1024));
        assert_eq!((Settings::take_partitions(&mut members), members.len()), (None, 1));
    }

    #[test]
    fn a_limit_that_is_not_understood_deletes_nothing() {
        for text in [
            r#"{"retain_hours":0}"#,
            r#"{"retain_hours":-1}"#,
            r#"{"retain_hours":"2h"}"#,
            r#"{"retain_hours":1e300}"#,
            r#"{"retain_bytes":0}"#,
            r#"{"retain_bytes":-5}"#,
            r#"{"retain_hours":null,"retain_bytes":null}"#,
        ] {
            assert_eq!(parse(text).unwrap().retention(), Retention::default(), "{text}");
        }
    }

    #[test]
    fn a_topic_is_compacted_or_deletes_or_both() {
        let compaction = |hours: u64| Some(Compaction { tombstone_age: Duration::from_secs(hours * 3600) });
        let limits = Retention { age: None, bytes: Some(7) };
        for (policy, expected, deletes) in [
            ("null", None, true),
            (r#""delete""#, None, true),
            (r#""compact""#, compaction(24), false),
            (r#""compact,delete""#, compaction(24), true),
            (r#""delete,compact""#, compaction(24), true),
            (r#""both""#, None, false),
            ("7", None, false),
        ] {
            let text = format!(r#"{{"cleanup_policy":{policy},"retain_bytes":7}}"#);
            let settings = parse(&text).unwrap();
            assert_eq!((settings.compaction(), settings.deletes()), (expected, deletes), "{policy}");
            let expiry = if deletes { limits } else { Retention::default() };
            assert_eq!((settings.retention(), settings.expiry()), (limits, expiry), "{policy}");
        }
        let settings = parse(r#"{"cleanup_policy":"compact","tombstone_hours":2}"#).unwrap();
        assert_eq!(settings.compaction(), compaction(2));
        assert_eq!(settings.changed("t", changes(r#"{"tombstone_hours":0}"#)).compaction(), compaction(0));
        assert_eq!(settings.changed("t", changes(r#"{"tombstone_hours":"1"}"#)).compaction(), compaction(24));
        assert_eq!(settings.changed("t", changes(r#"{"cleanup_policy":null}"#)).compaction(), None);
    }

    #[test]
    fn the_id_stays_when_settings_change() {
        let changed = Settings::default().changed("t", changes(r#"{"retain_bytes":1}"#));
        let stored = changed.encode(id()).unwrap();
        assert_eq!(stored, r#"{"retain_bytes":1,"topic_id":"00000000000040058000000000000006"}"#);
        assert_eq!(Settings::parse("t", &stored).unwrap(), (Some(id()), Arc::new(changed)));
        for text in ["", "{}", r#"{"topic_id":7}"#, r#"{"topic_id":"7"}"#] {
            assert_eq!(Settings::parse("t", text.as_bytes()).unwrap().0, None, "{text}");
        }
    }

    #[test]
    fn settings_that_are_too_large_are_refused() {
        let long = format!(r#"{{"x":"{}"}}"#, "x".repeat(SETTINGS_BYTES_MAX));
        let error = Settings::default().changed("t", changes(&long)).encode(id()).unwrap_err();
        assert_eq!(error.kind, Kind::FixRequest);
    }
}
