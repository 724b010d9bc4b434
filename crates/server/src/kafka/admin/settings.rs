//! The settings that Kafka knows of topics and brokers: what they are here, and which of them can be changed.
//!
//! What a topic keeps can be set. All others are the same for every topic; a client may set them to what they are.

use crate::kafka::error::Refusal;
use crate::kafka::{Client, IDLE_MAX, KafkaConfig, fetch};
use rawline_batch::Limits;
use rawline_broker::Settings;
use rawline_broker::limits::SEGMENT_BYTES;
use rawline_contract::Hours;
use rawline_kafka::ErrorCode;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::time::Duration;

/// The topic's setting with its number of partitions.
pub(super) const PARTITIONS: &str = "partitions";

/// The topic's setting with the age up to which it keeps records, in hours.
const RETAIN_HOURS: &str = "retain_hours";

/// The topic's setting with the number of bytes that it keeps.
const RETAIN_BYTES: &str = "retain_bytes";

/// The topic's setting of what becomes of old records.
const POLICY: &str = "cleanup_policy";

/// The topic's setting with the time for which tombstones stay, in hours.
const TOMBSTONE_HOURS: &str = "tombstone_hours";

const MS_PER_HOUR: f64 = 3_600_000.0;

/// Stands for no limit.
const UNLIMITED: i64 = -1;

/// In milliseconds, how far in the future a record may be.
const HOUR: &str = "3600000";

/// As a limit, stands for none: [`i64::MAX`].
const NEVER: &str = "9223372036854775807";

/// A setting's type. The numbers are Kafka's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub(super) enum Kind {
    Flag = 1,
    Text = 2,
    Int = 3,
    Long = 5,
    Double = 6,
    List = 7,
}

/// Where a value comes from. The numbers are Kafka's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub(super) enum Source {
    Topic = 1,
    Broker = 4,
    Default = 5,
}

/// A setting as clients see it.
pub(super) struct Described {
    pub name: &'static str,
    pub kind: Kind,
    pub value: String,
    pub source: Source,
    pub is_read_only: bool,
    /// The broker's setting that counts where a topic has none, and its value.
    pub default: Option<(&'static str, String)>,
}

/// A setting of topics.
struct TopicSetting {
    name: &'static str,
    kind: Kind,
    /// The broker's setting that counts where a topic has none.
    of_broker: Option<&'static str>,
    means: Means,
}

/// What a setting of topics is here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    /// The age up to which the topic keeps records.
    Age,
    /// The number of bytes that the topic keeps.
    Bytes,
    /// What becomes of old records.
    Policy,
    /// How long tombstones stay in a compacted topic.
    TombstoneAge,
    /// The maximum size of a batch.
    BatchBytes,
    /// The size of a segment on a directory.
    SegmentBytes,
    /// What the broker does, or what Kafka's default is if the broker has nothing like it.
    Fixed(&'static str),
}

const fn setting(name: &'static str, kind: Kind, of_broker: &'static str, means: Means) -> TopicSetting {
    TopicSetting { name, kind, of_broker: Some(of_broker), means }
}

/// One that brokers don't have.
const fn of_topics_only(name: &'static str, kind: Kind, value: &'static str) -> TopicSetting {
    TopicSetting { name, kind, of_broker: None, means: Means::Fixed(value) }
}

const CLEANUP_POLICY: &str = "cleanup.policy";
const TIMESTAMP_TYPE: &str = "message.timestamp.type";

/// Kafka's settings of topics, by name.
const OF_TOPICS: &[TopicSetting] = &[
    setting(CLEANUP_POLICY, Kind::List, "log.cleanup.policy", Means::Policy),
    setting("compression.gzip.level", Kind::Int, "compression.gzip.level", Means::Fixed("-1")),
    setting("compression.lz4.level", Kind::Int, "compression.lz4.level", Means::Fixed("9")),
    setting("compression.type", Kind::Text, "compression.type", Means::Fixed("producer")),
    setting("compression.zstd.level", Kind::Int, "compression.zstd.level", Means::Fixed("3")),
    setting("delete.retention.ms", Kind::Long, "log.cleaner.delete.retention.ms", Means::TombstoneAge),
    setting("file.delete.delay.ms", Kind::Long, "log.segment.delete.delay.ms", Means::Fixed("60000")),
    setting("flush.messages", Kind::Long, "log.flush.interval.messages", Means::Fixed(NEVER)),
    setting("flush.ms", Kind::Long, "log.flush.interval.ms", Means::Fixed(NEVER)),
    of_topics_only("follower.replication.throttled.replicas", Kind::List, ""),
    setting("index.interval.bytes", Kind::Int, "log.index.interval.bytes", Means::Fixed("4096")),
    of_topics_only("leader.replication.throttled.replicas", Kind::List, ""),
    setting("local.retention.bytes", Kind::Long, "log.local.retention.bytes", Means::Fixed("-2")),
    setting("local.retention.ms", Kind::Long, "log.local.retention.ms", Means::Fixed("-2")),
    setting("max.compaction.lag.ms", Kind::Long, "log.cleaner.max.compaction.lag.ms", Means::Fixed(NEVER)),
    setting("max.message.bytes", Kind::Int, "message.max.bytes", Means::BatchBytes),
    setting("message.timestamp.after.max.ms", Kind::Long, "log.message.timestamp.after.max.ms", Means::Fixed(HOUR)),
    setting("message.timestamp.before.max.ms", Kind::Long, "log.message.timestamp.before.max.ms", Means::Fixed(NEVER)),
    setting(TIMESTAMP_TYPE, Kind::Text, "log.message.timestamp.type", Means::Fixed("CreateTime")),
    setting("min.cleanable.dirty.ratio", Kind::Double, "log.cleaner.min.cleanable.ratio", Means::Fixed("0.5")),
    setting("min.compaction.lag.ms", Kind::Long, "log.cleaner.min.compaction.lag.ms", Means::Fixed("0")),
    setting("min.insync.replicas", Kind::Int, "min.insync.replicas", Means::Fixed("1")),
    setting("preallocate", Kind::Flag, "log.preallocate", Means::Fixed("false")),
    of_topics_only("remote.log.copy.disable", Kind::Flag, "false"),
    of_topics_only("remote.log.delete.on.disable", Kind::Flag, "false"),
    of_topics_only("remote.storage.enable", Kind::Flag, "false"),
    setting("retention.bytes", Kind::Long, "log.retention.bytes", Means::Bytes),
    setting("retention.ms", Kind::Long, "log.retention.ms", Means::Age),
    setting("segment.bytes", Kind::Int, "log.segment.bytes", Means::SegmentBytes),
    setting("segment.index.bytes", Kind::Int, "log.index.size.max.bytes", Means::Fixed("10485760")),
    setting("segment.jitter.ms", Kind::Long, "log.roll.jitter.ms", Means::Fixed("0")),
    setting("segment.ms", Kind::Long, "log.roll.ms", Means::Fixed("604800000")),
    setting("unclean.leader.election.enable", Kind::Flag, "unclean.leader.election.enable", Means::Fixed("false")),
];

impl TopicSetting {
    fn named(name: &str) -> Result<&'static TopicSetting, Refusal> {
        OF_TOPICS.iter().find(|setting| setting.name == name).ok_or_else(|| {
            let message = format!("topics have no setting {name:?}; leave it out");
            Refusal::new(ErrorCode::InvalidConfig, message)
        })
    }

    /// The value in a topic with these settings.
    fn value(&self, config: &KafkaConfig, settings: &Settings) -> String {
        let ms = |age: Duration| (age.as_micros() + 500) / 1000;
        match self.means {
            Means::Age => limit(settings.retention().age.map(ms)),
            Means::Bytes => limit(settings.retention().bytes.map(u128::from)),
            Means::Policy => match (settings.compaction().is_some(), settings.deletes()) {
                (true, true) => "compact,delete",
                (true, false) => "compact",
                (false, _) => "delete",
            }
            .to_owned(),
            Means::TombstoneAge => ms(settings.tombstone_age()).to_string(),
            Means::BatchBytes => config.batch_limits.batch_bytes_max.to_string(),
            Means::SegmentBytes => SEGMENT_BYTES.to_string(),
            Means::Fixed(value) => value.to_owned(),
        }
    }

    /// The value in a topic of which nothing is set.
    fn default(&self, config: &KafkaConfig) -> String {
        self.value(config, &Settings::default())
    }

    /// The topic's setting that can be changed.
    fn changes(&self) -> Option<&'static str> {
        match self.means {
            Means::Age => Some(RETAIN_HOURS),
            Means::Bytes => Some(RETAIN_BYTES),
            Means::Policy => Some(POLICY),
            Means::TombstoneAge => Some(TOMBSTONE_HOURS),
            Means::BatchBytes | Means::SegmentBytes | Means::Fixed(_) => None,
        }
    }

    /// What the topic's setting becomes for this value; `None` if the value is what the setting is in all topics.
    fn parse(&self, config: &KafkaConfig, value: &str) -> Result<Option<Value>, Refusal> {
        let value = value.trim();
        match self.means {
            Means::Age => {
                let hours = self.parse_limit(value)?.and_then(|ms| Hours::new(ms as f64 / MS_PER_HOUR));
                Ok(Some(hours.map_or(Value::Null, |hours| hours.get().into())))
            }
            Means::Bytes => Ok(Some(self.parse_limit(value)?.map_or(Value::Null, Value::from))),
            Means::Policy => self.parse_policy(value).map(Some),
            Means::TombstoneAge => self.parse_age(value).map(Some),
            Means::BatchBytes | Means::SegmentBytes | Means::Fixed(_) => self.check(config, value).map(|()| None),
        }
    }

    /// A limit; `None` if there is to be no limit.
    fn parse_limit(&self, value: &str) -> Result<Option<i64>, Refusal> {
        match value.parse() {
            Ok(UNLIMITED) => Ok(None),
            Ok(limit) if limit > 0 => Ok(Some(limit)),
            _ => {
                let message =
                    format!("{} can't be {value:?}; use a whole number of 1 or more, or -1 for no limit", self.name);
                Err(Refusal::new(ErrorCode::InvalidConfig, message))
            }
        }
    }

    /// What becomes of old records.
    fn parse_policy(&self, value: &str) -> Result<Value, Refusal> {
        let has = |element| has_element(value, element);
        let is_known =
            |element: &str| ["compact", "delete"].iter().any(|known| element.trim().eq_ignore_ascii_case(known));
        match (has("compact"), has("delete")) {
            _ if !value.split(',').all(is_known) => {
                let message = format!("{} can't be {value:?}; use delete, compact or compact,delete", self.name);
                Err(Refusal::new(ErrorCode::InvalidConfig, message))
            }
            (true, true) => Ok("compact,delete".into()),
            (true, false) => Ok("compact".into()),
            (false, _) => Ok(Value::Null),
        }
    }

    /// A time, in hours. None at all becomes the shortest, a millisecond.
    fn parse_age(&self, value: &str) -> Result<Value, Refusal> {
        let ms = value.parse::<i64>().ok().filter(|ms| *ms >= 0);
        let hours = ms.and_then(|ms| Hours::new(ms.max(1) as f64 / MS_PER_HOUR));
        hours.map(|hours| hours.get().into()).ok_or_else(|| {
            let message = format!("{} can't be {value:?}; use a whole number of milliseconds, 0 or more", self.name);
            Refusal::new(ErrorCode::InvalidConfig, message)
        })
    }

    /// Fails unless this is what the setting is in all topics.
    fn check(&self, config: &KafkaConfig, value: &str) -> Result<(), Refusal> {
        let expected = self.default(config);
        if value.eq_ignore_ascii_case(&expected) {
            return Ok(());
        }
        let message = match self.name {
            TIMESTAMP_TYPE => format!(
                "{TIMESTAMP_TYPE} can't be {value:?}: batches are stored as producers send them, with the producers' \
                 times; use {expected:?}"
            ),
            name => format!("{name} can't be {value:?}: it is {expected:?} in all topics of this broker; leave it out"),
        };
        Err(Refusal::new(ErrorCode::InvalidConfig, message))
    }
}

/// A limit as a value.
fn limit(limit: Option<u128>) -> String {
    limit.map_or(UNLIMITED, |limit| i64::try_from(limit).unwrap_or(i64::MAX)).to_string()
}

fn has_element(list: &str, element: &str) -> bool {
    list.split(',').any(|found| found.trim().eq_ignore_ascii_case(element))
}

/// Kafka's settings of a topic with these settings.
pub(super) fn of_topic(config: &KafkaConfig, settings: &Settings) -> Vec<Described> {
    let described = |setting: &TopicSetting| {
        let (value, default) = (setting.value(config, settings), setting.default(config));
        Described {
            name: setting.name,
            kind: setting.kind,
            source: if value == default { Source::Default } else { Source::Topic },
            value,
            is_read_only: setting.changes().is_none(),
            default: setting.of_broker.map(|name| (name, default)),
        }
    };
    OF_TOPICS.iter().map(described).collect()
}

/// Kafka's settings of this broker: its own, and those that topics have if nothing is set.
pub(super) fn of_broker(client: &Client) -> Vec<Described> {
    let config = &client.kafka.config;
    let described = |name, kind, value: String, is_default| Described {
        name,
        kind,
        value,
        source: if is_default { Source::Default } else { Source::Broker },
        is_read_only: true,
        default: None,
    };
    let (host, port) = client.advertised();
    let listeners = format!("PLAINTEXT://{host}:{port}");
    let creates = config.create_topics;
    let mut all = vec![
        described("advertised.listeners", Kind::Text, listeners, config.advertise.is_none()),
        described("auto.create.topics.enable", Kind::Flag, creates.to_string(), creates),
        described("broker.id", Kind::Int, client.node().to_string(), true),
        described("connections.max.idle.ms", Kind::Long, IDLE_MAX.as_millis().to_string(), true),
        described("default.replication.factor", Kind::Int, "1".to_owned(), true),
        described("delete.topic.enable", Kind::Flag, "true".to_owned(), true),
        described("fetch.max.bytes", Kind::Int, fetch::BYTES_MAX.to_string(), true),
        described("max.connections", Kind::Int, config.connections_max.to_string(), true),
        described("node.id", Kind::Int, client.node().to_string(), true),
        described("num.partitions", Kind::Int, "1".to_owned(), true),
        described("socket.request.max.bytes", Kind::Int, config.request_bytes_max.to_string(), true),
    ];
    let has_default_limits = config.batch_limits == Limits::default();
    all.extend(OF_TOPICS.iter().filter_map(|setting| {
        let is_default = setting.means != Means::BatchBytes || has_default_limits;
        Some(described(setting.of_broker?, setting.kind, setting.default(config), is_default))
    }));
    all.sort_unstable_by_key(|setting| setting.name);
    all
}

/// A change of the topic's settings: the name of one, and what it becomes.
pub(super) type Change = Option<(String, Value)>;

/// What setting one of Kafka's settings changes.
pub(super) fn set(config: &KafkaConfig, name: &str, value: Option<&str>) -> Result<Change, Refusal> {
    let setting = TopicSetting::named(name)?;
    let value = given(name, value)?;
    let changed = setting.parse(config, value)?;
    Ok(setting.changes().zip(changed).map(|(member, value)| (member.to_owned(), value)))
}

/// What taking one of Kafka's settings back changes.
pub(super) fn unset(name: &str) -> Result<Change, Refusal> {
    Ok(TopicSetting::named(name)?.changes().map(|member| (member.to_owned(), Value::Null)))
}

/// What makes all settings their defaults.
pub(super) fn defaults() -> Map<String, Value> {
    let members = OF_TOPICS.iter().filter_map(TopicSetting::changes);
    members.map(|member| (member.to_owned(), Value::Null)).collect()
}

/// What adding elements to a list changes.
pub(super) fn add(config: &KafkaConfig, name: &str, value: Option<&str>) -> Result<Change, Refusal> {
    // The others have one possible value.
    list(name)?.check(config, given(name, value)?.trim()).map(|()| None)
}

/// What removing elements from a list changes.
pub(super) fn remove(config: &KafkaConfig, name: &str, value: Option<&str>) -> Result<Change, Refusal> {
    let setting = list(name)?;
    let (removed, has) = (given(name, value)?, setting.default(config));
    if has.is_empty() || !has_element(removed, &has) {
        return Ok(None);
    }
    let message = format!("{name} can't be without {has:?}; it is the same in all topics of this broker");
    Err(Refusal::new(ErrorCode::InvalidConfig, message))
}

fn list(name: &str) -> Result<&'static TopicSetting, Refusal> {
    let setting = TopicSetting::named(name)?;
    if setting.kind != Kind::List {
        let message = format!("{name} isn't a list, to which elements can be added; set it");
        return Err(Refusal::new(ErrorCode::InvalidConfig, message));
    }
    if setting.changes().is_some() {
        let message = format!("{name} can't be changed by elements; set it to the whole list");
        return Err(Refusal::new(ErrorCode::InvalidConfig, message));
    }
    Ok(setting)
}

fn given<'a>(name: &str, value: Option<&'a str>) -> Result<&'a str, Refusal> {
    value.ok_or_else(|| Refusal::new(ErrorCode::InvalidConfig, format!("{name} has no value; send one")))
}

/// What these values, each with the name of one of Kafka's settings, change of a topic's settings.
pub(super) fn changes<'a>(
    config: &KafkaConfig,
    values: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Result<Map<String, Value>, Refusal> {
    merged(values.map(|(name, value)| (name, set(config, name, value))))
}

/// All changes together. Fails if one of Kafka's settings is changed twice.
pub(super) fn merged<'a>(
    changes: impl Iterator<Item = (&'a str, Result<Change, Refusal>)>,
) -> Result<Map<String, Value>, Refusal> {
    let (mut seen, mut all) = (BTreeSet::new(), Map::new());
    for (name, change) in changes {
        if !seen.insert(name) {
            let message = format!("the request has {name} more than once; send it once");
            return Err(Refusal::new(ErrorCode::InvalidRequest, message));
        }
        all.extend(change?);
    }
    Ok(all)
}
