//! Kafka's settings of topics and brokers, as clients see and change them.

use super::topic_settings::{Kind, Means, OF_TOPICS, TopicSetting, elements};
use crate::kafka::client::Client;
use crate::kafka::config::{IDLE_MAX, KafkaConfig};
use crate::kafka::error::Refusal;
use crate::kafka::fetch;
use rawline_batch::Limits;
use rawline_broker::Settings;
use rawline_kafka::ErrorCode;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The topic's setting with its number of partitions.
pub(super) const PARTITIONS: &str = "partitions";

/// The source of a value. The numbers are Kafka's.
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
    /// The broker's default for the topic's setting, and its value.
    pub default: Option<(&'static str, String)>,
}

/// Kafka's settings of a topic with these settings.
pub(super) fn of_topic(config: &KafkaConfig, settings: &Settings) -> Vec<Described> {
    let described = |setting: &TopicSetting| {
        let (value, default) = (setting.value(config, settings), setting.default(config));
        Described {
            name: setting.name,
            kind: setting.kind,
            source: if value == default && !setting.is_own(settings) { Source::Default } else { Source::Topic },
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

/// A change of one of the topic's settings: its name and new value.
pub(super) type Change = Option<(String, Value)>;

/// The change of setting one of Kafka's settings.
pub(super) fn set(config: &KafkaConfig, name: &str, value: Option<&str>) -> Result<Change, Refusal> {
    let setting = TopicSetting::named(name)?;
    let value = given(name, value)?;
    let changed = setting.parse(config, value)?;
    Ok(setting.changes().zip(changed))
}

/// The change of deleting one of Kafka's settings.
pub(super) fn unset(name: &str) -> Result<Change, Refusal> {
    Ok(TopicSetting::named(name)?.changes().map(|member| (member, Value::Null)))
}

/// The changes that restore all defaults.
pub(super) fn defaults() -> Map<String, Value> {
    OF_TOPICS.iter().filter_map(TopicSetting::changes).map(|member| (member, Value::Null)).collect()
}

/// How the elements of a list change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    /// They are added, if they aren't among them.
    Add,
    /// They are removed, if they are among them.
    Remove,
}

/// The change of adding or removing elements of a list, in a topic with these settings.
pub(super) fn edit(
    config: &KafkaConfig,
    settings: &Settings,
    name: &str,
    edit: Edit,
    value: Option<&str>,
) -> Result<Change, Refusal> {
    let setting = TopicSetting::named(name)?;
    if setting.kind != Kind::List {
        let message = format!("{name} isn't a list, to which elements can be added; set it");
        return Err(Refusal::new(ErrorCode::InvalidConfig, message));
    }
    let before = setting.value(config, settings);
    let given = given(name, value)?;
    let mut list: Vec<&str> = elements(&before).filter(|element| !element.is_empty()).collect();
    for element in elements(given).filter(|element| !element.is_empty()) {
        let place = list.iter().position(|found| found.eq_ignore_ascii_case(element));
        match (edit, place) {
            (Edit::Add, None) => list.push(element),
            (Edit::Remove, Some(place)) => drop(list.remove(place)),
            (Edit::Add, Some(_)) | (Edit::Remove, None) => {}
        }
    }
    set(config, name, Some(&list.join(",")))
}

fn given<'a>(name: &str, value: Option<&'a str>) -> Result<&'a str, Refusal> {
    value.ok_or_else(|| Refusal::new(ErrorCode::InvalidConfig, format!("{name} has no value; send one")))
}

/// The changes of a topic's settings by these values, each with the name of one of Kafka's settings.
pub(super) fn changes<'a>(
    config: &KafkaConfig,
    values: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Result<Map<String, Value>, Refusal> {
    merged(values.map(|(name, value)| (name, set(config, name, value))))
}

/// All changes together. Fails if one of Kafka's settings is changed more than once.
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
