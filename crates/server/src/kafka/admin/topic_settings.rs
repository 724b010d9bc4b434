//! Kafka's settings of topics, the one table: which the broker carries out, which it only keeps, which it refuses.

use super::setting_values::Check;
use crate::kafka::config::KafkaConfig;
use crate::kafka::error::Refusal;
use rawline_broker::Settings;
use rawline_broker::limits::SEGMENT_BYTES;
use rawline_contract::Hours;
use rawline_kafka::ErrorCode;
use serde_json::Value;
use std::time::Duration;

/// The topic's setting with the age up to which it keeps records, in hours.
const RETAIN_HOURS: &str = "retain_hours";

/// The topic's setting with the number of bytes that it keeps.
const RETAIN_BYTES: &str = "retain_bytes";

/// The topic's setting for the cleanup of old records.
const POLICY: &str = "cleanup_policy";

/// The topic's setting with the time for which tombstones stay, in hours.
const TOMBSTONE_HOURS: &str = "tombstone_hours";

/// The topic's setting with the maximum size of a batch.
const BATCH_BYTES_MAX: &str = "batch_bytes_max";

/// The prefix of the names of kept settings, before Kafka's name.
const KEPT: &str = "kafka.";

const MS_PER_HOUR: f64 = 3_600_000.0;

/// Stands for no limit.
const UNLIMITED: i64 = -1;

/// As a limit, means none: [`i64::MAX`].
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

/// A setting of topics.
pub(super) struct TopicSetting {
    pub name: &'static str,
    pub kind: Kind,
    /// The broker's default for the topic's setting.
    pub of_broker: Option<&'static str>,
    pub means: Means,
}

/// The kind of a topic's setting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    /// The age up to which the topic keeps records.
    Age,
    /// The number of bytes that the topic keeps.
    Bytes,
    /// The cleanup of old records.
    Policy,
    /// How long tombstones stay in a compacted topic.
    TombstoneAge,
    /// The maximum size of a batch.
    BatchBytes,
    /// Stored and described, but without effect, which no producer or consumer notices. Has its default, and Kafka's
    /// valid values.
    Kept(&'static str, Check),
    /// The same in all topics, since the broker doesn't support other values. Has its value, and the reason.
    Fixed(&'static str, &'static str),
}

const fn setting(name: &'static str, kind: Kind, of_broker: &'static str, means: Means) -> TopicSetting {
    TopicSetting { name, kind, of_broker: Some(of_broker), means }
}

/// One that brokers don't have.
const fn of_topics_only(name: &'static str, kind: Kind, means: Means) -> TopicSetting {
    TopicSetting { name, kind, of_broker: None, means }
}

/// One that is kept.
const fn kept(default: &'static str, check: Check) -> Means {
    Means::Kept(default, check)
}

/// The broker's size of a segment as text.
const SEGMENT: &str = "268435456";
const _: () = assert!(SEGMENT_BYTES == 268_435_456, "the text of the size of segments");

const WHY_TIERED: &str = "there is no second storage to which segments move: records stay in the broker's storage";
const WHY_LAG: &str = "the broker decides when it compacts; see docs/kafka.md#compaction";
const WHY_TIMES: &str =
    "it isn't checked per topic: a record may be up to an hour ahead of the broker's time, and of any age";
const WHY_CREATE_TIME: &str = "batches are stored as producers send them, with the producers' times";

const TIMES_AFTER: Means = Means::Fixed("3600000", WHY_TIMES);
const TIMES_BEFORE: Means = Means::Fixed(NEVER, WHY_TIMES);
const CREATE_TIME: Means = Means::Fixed("CreateTime", WHY_CREATE_TIME);
const CODECS: Check = Check::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]);
const FLAG: Check = Check::OneOf(&["true", "false"]);
const GZIP_LEVEL: Check = Check::Int(-1, 9);
const LZ4_LEVEL: Check = Check::Int(1, 17);
const ZSTD_LEVEL: Check = Check::Int(-131_072, 22);
const REPLICAS: Check = Check::Replicas;

const fn int(min: i32) -> Check {
    Check::Int(min, i32::MAX)
}

/// The table, by name. `docs/kafka.md` has it for users.
#[rustfmt::skip]
pub(super) const OF_TOPICS: &[TopicSetting] = &[
    setting("cleanup.policy", Kind::List, "log.cleanup.policy", Means::Policy),
    setting("compression.gzip.level", Kind::Int, "compression.gzip.level", kept("-1", GZIP_LEVEL)),
    setting("compression.lz4.level", Kind::Int, "compression.lz4.level", kept("9", LZ4_LEVEL)),
    setting("compression.type", Kind::Text, "compression.type", kept("producer", CODECS)),
    setting("compression.zstd.level", Kind::Int, "compression.zstd.level", kept("3", ZSTD_LEVEL)),
    setting("delete.retention.ms", Kind::Long, "log.cleaner.delete.retention.ms", Means::TombstoneAge),
    setting("file.delete.delay.ms", Kind::Long, "log.segment.delete.delay.ms", kept("60000", Check::Long(0))),
    setting("flush.messages", Kind::Long, "log.flush.interval.messages", kept(NEVER, Check::Long(1))),
    setting("flush.ms", Kind::Long, "log.flush.interval.ms", kept(NEVER, Check::Long(0))),
    of_topics_only("follower.replication.throttled.replicas", Kind::List, kept("", REPLICAS)),
    setting("index.interval.bytes", Kind::Int, "log.index.interval.bytes", kept("4096", int(0))),
    of_topics_only("leader.replication.throttled.replicas", Kind::List, kept("", REPLICAS)),
    setting("local.retention.bytes", Kind::Long, "log.local.retention.bytes", kept("-2", Check::Long(-2))),
    setting("local.retention.ms", Kind::Long, "log.local.retention.ms", kept("-2", Check::Long(-2))),
    setting("max.compaction.lag.ms", Kind::Long, "log.cleaner.max.compaction.lag.ms", Means::Fixed(NEVER, WHY_LAG)),
    setting("max.message.bytes", Kind::Int, "message.max.bytes", Means::BatchBytes),
    setting("message.timestamp.after.max.ms", Kind::Long, "log.message.timestamp.after.max.ms", TIMES_AFTER),
    setting("message.timestamp.before.max.ms", Kind::Long, "log.message.timestamp.before.max.ms", TIMES_BEFORE),
    setting("message.timestamp.type", Kind::Text, "log.message.timestamp.type", CREATE_TIME),
    setting("min.cleanable.dirty.ratio", Kind::Double, "log.cleaner.min.cleanable.ratio", kept("0.5", Check::Ratio)),
    setting("min.compaction.lag.ms", Kind::Long, "log.cleaner.min.compaction.lag.ms", Means::Fixed("0", WHY_LAG)),
    setting("min.insync.replicas", Kind::Int, "min.insync.replicas", kept("1", int(1))),
    setting("preallocate", Kind::Flag, "log.preallocate", kept("false", FLAG)),
    of_topics_only("remote.log.copy.disable", Kind::Flag, kept("false", FLAG)),
    of_topics_only("remote.log.delete.on.disable", Kind::Flag, kept("false", FLAG)),
    of_topics_only("remote.storage.enable", Kind::Flag, Means::Fixed("false", WHY_TIERED)),
    setting("retention.bytes", Kind::Long, "log.retention.bytes", Means::Bytes),
    setting("retention.ms", Kind::Long, "log.retention.ms", Means::Age),
    setting("segment.bytes", Kind::Int, "log.segment.bytes", kept(SEGMENT, int(1 << 20))),
    setting("segment.index.bytes", Kind::Int, "log.index.size.max.bytes", kept("10485760", int(4))),
    setting("segment.jitter.ms", Kind::Long, "log.roll.jitter.ms", kept("0", Check::Long(0))),
    setting("segment.ms", Kind::Long, "log.roll.ms", kept("604800000", Check::Long(1))),
    setting("unclean.leader.election.enable", Kind::Flag, "unclean.leader.election.enable", kept("false", FLAG)),
];

fn invalid(message: String) -> Refusal {
    Refusal::new(ErrorCode::InvalidConfig, message)
}

impl TopicSetting {
    pub fn named(name: &str) -> Result<&'static TopicSetting, Refusal> {
        let found = OF_TOPICS.iter().find(|setting| setting.name == name);
        found.ok_or_else(|| invalid(format!("topics have no setting {name:?}; leave it out")))
    }

    /// The value in a topic with these settings.
    pub fn value(&self, config: &KafkaConfig, settings: &Settings) -> String {
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
            Means::BatchBytes => {
                let of_broker = u64::from(config.batch_limits.batch_bytes_max);
                settings.batch_bytes_max().map_or(of_broker, |bytes| bytes.min(of_broker)).to_string()
            }
            Means::Kept(default, _) => {
                let kept = settings.get(&self.kept_as()).and_then(Value::as_str);
                kept.unwrap_or(default).to_owned()
            }
            Means::Fixed(value, _) => value.to_owned(),
        }
    }

    /// Whether a topic with these settings has its own value, even if that is the default.
    pub fn is_own(&self, settings: &Settings) -> bool {
        let is_kept = matches!(self.means, Means::BatchBytes | Means::Kept(..));
        is_kept && self.changes().is_some_and(|member| settings.get(&member).is_some())
    }

    /// The value in a topic of which nothing is set.
    pub fn default(&self, config: &KafkaConfig) -> String {
        self.value(config, &Settings::default())
    }

    fn kept_as(&self) -> String {
        format!("{KEPT}{}", self.name)
    }

    /// The topic's setting that can be changed.
    pub fn changes(&self) -> Option<String> {
        match self.means {
            Means::Age => Some(RETAIN_HOURS.to_owned()),
            Means::Bytes => Some(RETAIN_BYTES.to_owned()),
            Means::Policy => Some(POLICY.to_owned()),
            Means::TombstoneAge => Some(TOMBSTONE_HOURS.to_owned()),
            Means::BatchBytes => Some(BATCH_BYTES_MAX.to_owned()),
            Means::Kept(..) => Some(self.kept_as()),
            Means::Fixed(..) => None,
        }
    }

    /// The topic's setting for this value; `None` if it is the fixed value of all topics.
    pub fn parse(&self, config: &KafkaConfig, value: &str) -> Result<Option<Value>, Refusal> {
        let value = value.trim();
        match self.means {
            Means::Age => {
                let hours = self.parse_limit(value)?.and_then(|ms| Hours::new(ms as f64 / MS_PER_HOUR));
                Ok(Some(hours.map_or(Value::Null, |hours| hours.get().into())))
            }
            Means::Bytes => Ok(Some(self.parse_limit(value)?.map_or(Value::Null, Value::from))),
            Means::Policy => self.parse_policy(value).map(Some),
            Means::TombstoneAge => self.parse_age(value).map(Some),
            Means::BatchBytes => self.parse_batch_bytes(config, value).map(Some),
            Means::Kept(_, check) => match check.allows(value) {
                true => Ok(Some(value.into())),
                false => Err(invalid(format!("{} can't be {value:?}; use {check}", self.name))),
            },
            Means::Fixed(only, _) if value.eq_ignore_ascii_case(only) => Ok(None),
            Means::Fixed(only, why) => {
                let message = format!("{} can't be {value:?}: {why}; use {only:?}, or leave it out", self.name);
                Err(invalid(message))
            }
        }
    }

    /// A limit; `None` for no limit.
    fn parse_limit(&self, value: &str) -> Result<Option<i64>, Refusal> {
        match value.parse() {
            Ok(UNLIMITED) => Ok(None),
            Ok(limit) if limit > 0 => Ok(Some(limit)),
            _ => Err(invalid(format!(
                "{} can't be {value:?}; use a whole number of 1 or more, or -1 for no limit",
                self.name
            ))),
        }
    }

    /// The cleanup of old records.
    fn parse_policy(&self, value: &str) -> Result<Value, Refusal> {
        let has = |element| elements(value).any(|found| found.eq_ignore_ascii_case(element));
        let is_known = |element: &str| ["compact", "delete"].iter().any(|known| element.eq_ignore_ascii_case(known));
        match (has("compact"), has("delete")) {
            _ if value.is_empty() || !elements(value).all(is_known) => {
                Err(invalid(format!("{} can't be {value:?}; use delete, compact or compact,delete", self.name)))
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
            invalid(format!("{} can't be {value:?}; use a whole number of milliseconds, 0 or more", self.name))
        })
    }

    /// The maximum size of a batch, which the broker must be able to take.
    fn parse_batch_bytes(&self, config: &KafkaConfig, value: &str) -> Result<Value, Refusal> {
        let of_broker = u64::from(config.batch_limits.batch_bytes_max);
        match value.parse::<u32>().map(u64::from) {
            Ok(bytes) if bytes <= of_broker => Ok(bytes.into()),
            Ok(_) => Err(invalid(format!(
                "{} can't be {value}: the broker takes batches of at most {of_broker} bytes; use less, or start it \
                 with a larger batch-bytes-max",
                self.name
            ))),
            Err(_) => {
                Err(invalid(format!("{} can't be {value:?}; use a number of bytes up to {of_broker}", self.name)))
            }
        }
    }
}

/// The elements of a list.
pub(super) fn elements(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

/// A limit as a value.
fn limit(limit: Option<u128>) -> String {
    limit.map_or(UNLIMITED, |limit| i64::try_from(limit).unwrap_or(i64::MAX)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Kafka 4.3.1's settings of topics.
    const OF_KAFKA: [&str; 33] = [
        "cleanup.policy",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "delete.retention.ms",
        "file.delete.delay.ms",
        "flush.messages",
        "flush.ms",
        "follower.replication.throttled.replicas",
        "index.interval.bytes",
        "leader.replication.throttled.replicas",
        "local.retention.bytes",
        "local.retention.ms",
        "max.compaction.lag.ms",
        "max.message.bytes",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.type",
        "min.cleanable.dirty.ratio",
        "min.compaction.lag.ms",
        "min.insync.replicas",
        "preallocate",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
        "retention.bytes",
        "retention.ms",
        "segment.bytes",
        "segment.index.bytes",
        "segment.jitter.ms",
        "segment.ms",
        "unclean.leader.election.enable",
    ];

    /// The column of the document's table in which a setting is.
    fn class(means: Means) -> &'static str {
        match means {
            Means::Kept(..) => "kept",
            Means::Fixed(..) => "fixed",
            _ => "served",
        }
    }

    #[test]
    fn every_setting_of_kafka_is_served_kept_or_refused_and_documented_so() {
        assert_eq!(OF_TOPICS.iter().map(|setting| setting.name).collect::<Vec<_>>(), OF_KAFKA);
        let text = include_str!("../../../../../docs/kafka.md");
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
        let mut documented = BTreeMap::new();
        for (names, rest) in rows {
            documented.extend(names.split("`, `").map(|name| (name, rest)));
        }
        for setting in OF_TOPICS {
            let row = documented.get(setting.name).copied().unwrap_or_default();
            assert!(row.starts_with(class(setting.means)), "{} is {}: {row:?}", setting.name, class(setting.means));
        }
    }

    #[test]
    fn defaults_are_values_that_can_be_set() {
        for TopicSetting { name, means, .. } in OF_TOPICS {
            if let Means::Kept(default, check) = means {
                assert!(check.allows(default), "{name}: {default:?}");
            }
        }
    }
}
