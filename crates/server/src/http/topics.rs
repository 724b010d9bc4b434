//! `/topic`, `/topics`, `/trim` and `/offset`: descriptions and settings of topics, without their records.

use crate::access::Caller;
use crate::http::api::Api;
use crate::http::body::BodyReader;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::render::{self, Buffer};
use crate::http::response::{self, ApiResponse};
use crate::net::peer::Peer;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use rawline_broker::limits::{SETTINGS_BYTES_MAX, TOPIC_NAME_BYTES_MAX};
use rawline_broker::pool::Gathered;
use rawline_broker::{ListedTopic, Partition, Status};
use rawline_contract::{
    Extent, MediaType, OffsetFound, PARTITIONS_MAX, Partitions, Payload, Settings, TOPICS_PAGE, TOPICS_PAGE_MAX,
    TopicInfo, Trimmed, code, timestamp,
};
use serde::de::{Deserialize, DeserializeOwned, Error};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::{Map, Value};
use std::ops::{Bound, Range};

/// Length of a topic in a list of topics without its name: field names, nine numbers of up to 25 digits, a time.
const INFO_BYTES_MAX: u64 = 540;

const _: () =
    assert!(PARTITIONS_MAX == rawline_broker::limits::TOPIC_PARTITIONS_MAX, "clients know the broker's limit");

/// The type of the topic's records.
pub(crate) fn payload(topic: &Partition) -> Payload {
    setting(&topic.settings(), "payload").unwrap_or_default()
}

/// One of a topic's settings. A value that this version doesn't know, because a later one stored it, counts as absent.
fn setting<T: DeserializeOwned>(settings: &rawline_broker::Settings, name: &str) -> Option<T> {
    settings.get(name).and_then(|value| T::deserialize(value).ok())
}

/// A topic as a list of topics describes it.
fn info(topic: &ListedTopic) -> TopicInfo {
    let (status, settings) = (topic.summary(), topic.settings());
    let partitions = topic.partitions();
    assert!(status.first_offset <= status.next_offset, "{status:?}");
    let Some(partitions) = Partitions::new(partitions) else {
        unreachable!("topic {} has {partitions} partitions", status.name)
    };
    let Status { name, first_offset, next_offset, .. } = status;
    TopicInfo {
        name,
        first_offset,
        next_offset,
        partitions,
        offsets: Vec::new(),
        objects: status.objects,
        bytes: status.bytes,
        latest_commit_at: status.latest_commit_us.map(timestamp),
        payload: setting(&settings, "payload").unwrap_or_default(),
        retain_hours: setting(&settings, "retain_hours"),
        retain_bytes: settings.retention().bytes,
        cleanup_policy: setting(&settings, "cleanup_policy").unwrap_or_default(),
        tombstone_hours: setting(&settings, "tombstone_hours"),
    }
}

/// A topic with the extents of all partitions.
fn describe(topic: &ListedTopic, partition: u64) -> TopicInfo {
    let all = topic.all_offsets();
    let extent = |offsets: Range<u64>| Extent { first_offset: offsets.start, next_offset: offsets.end };
    let Some(offsets) = usize::try_from(partition).ok().and_then(|number| all.get(number)) else {
        unreachable!("topic {} has {} partitions, and not {partition}", topic.topic_name(), all.len())
    };
    let Extent { first_offset, next_offset } = extent(offsets.clone());
    let Some(partitions) = u32::try_from(all.len()).ok().and_then(Partitions::new) else {
        unreachable!("a topic has {} partitions", all.len())
    };
    let offsets = all.into_iter().map(extent).collect();
    TopicInfo { first_offset, next_offset, partitions, offsets, ..info(topic) }
}

/// One topic.
pub(crate) async fn topic(api: &Api, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    let query = Query::of(&request);
    let (name, number) = (query.topic()?.into_owned(), query.partition()?);
    api.broker.see_ends([&*name]).await?;
    // Another broker may have added the partition: this finds out.
    let partition = api.broker.partition(&name, number).await?;
    Ok(response::json(StatusCode::OK, &describe(&partition.listed(), number)))
}

/// Changes a topic's settings; creates the topic if it doesn't exist.
pub(crate) async fn set_topic(api: &Api, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    let (name, changes) = named_changes(api, request).await?;
    let topic = api.broker.topic_or_create(&name).await?;
    topic.change_settings(changes).await?;
    Ok(response::json(StatusCode::OK, &describe(&topic.listed(), 0)))
}

/// Creates a topic with settings; fails if it exists.
pub(crate) async fn create_topic(api: &Api, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    let (name, settings) = named_changes(api, request).await?;
    let topic = api.broker.create_listed(&name, settings).await?;
    Ok(response::json(StatusCode::CREATED, &describe(&topic, 0)))
}

/// Deletes a topic.
pub(crate) async fn delete_topic(api: &Api, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    // A body has no meaning and is not read.
    let (request, _body) = BodyReader::split(api, request);
    let name = Query::of(&request).topic()?.into_owned();
    api.broker.delete_topic(&name).await?;
    Ok(response::no_content())
}

/// A topic's name, and the settings that the request's body changes.
async fn named_changes(api: &Api, request: Request<Incoming>) -> Result<(String, Map<String, Value>), ApiError> {
    let (request, mut body) = BodyReader::split(api, request);
    let name = Query::of(&request).topic()?.into_owned();
    let text = body.text(SETTINGS_BYTES_MAX).await?;
    Ok((name, changes(&text)?))
}

/// The settings that a request changes, checked.
fn changes(text: &[u8]) -> Result<Map<String, Value>, ApiError> {
    let object: Result<Map<String, Value>, _> = serde_json::from_slice(text);
    let checked = object.and_then(|object| {
        let settings = Settings::deserialize(Value::Object(object.clone()))?;
        match settings.retain_bytes.flatten() {
            // Clients whose integers have a sign could not read the topic.
            Some(bytes) if i64::try_from(bytes.get()).is_err() => {
                Err(serde_json::Error::custom(format!("retain_bytes {bytes} is 2^63 or more")))
            }
            _ => Ok(object),
        }
    });
    checked.map_err(|error| {
        let message = format!(
            "send a JSON object with some of \"payload\" (\"bytes\" or \"value\"), \"retain_hours\" (a number greater \
             than 0), \"retain_bytes\" (a whole number of 1 or more), \"cleanup_policy\" (\"delete\", \"compact\" or \
             \"compact,delete\") and \"tombstone_hours\" (a number greater than 0), or null to clear one of them, and \
             \"partitions\" (1 to {PARTITIONS_MAX}): {error}"
        );
        ApiError::new(code::SETTINGS_INVALID, message)
    })
}

/// Deletes records from a partition's front.
pub(crate) async fn trim(api: &Api, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    // A body has no meaning and is not read.
    let (request, _body) = BodyReader::split(api, request);
    let query = Query::of(&request);
    let (name, partition) = (query.topic()?.into_owned(), query.partition()?);
    let before = query.number("before", None)?;
    let partition = api.broker.partition(&name, partition).await?;
    let rawline_broker::Trimmed { first_offset, next_offset } = partition.trim(before).await?;
    Ok(response::json(StatusCode::OK, &Trimmed { first_offset, next_offset }))
}

/// A page of the topics that the caller may use, by name. It can have megabytes, so it lies in buffers of the pool.
pub(crate) async fn topics<B>(
    api: &Api,
    peer: &Peer,
    caller: &Caller,
    request: &Request<B>,
) -> Result<ApiResponse, ApiError> {
    let query = Query::of(request);
    let has_totals = query.switch("totals")?;
    let (prefix, after) = (query.text("prefix").unwrap_or_default(), query.text("after"));
    let begin = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let limit = query.number("limit", Some(TOPICS_PAGE.into()))?;
    if !(1..=u64::from(TOPICS_PAGE_MAX)).contains(&limit) {
        let message = format!("limit={limit} is not 1 to {TOPICS_PAGE_MAX}: request several pages");
        return Err(ApiError::new(code::QUERY_INVALID, message));
    }
    let sees = |name: &str| caller.grants().sees(name);
    let (page, has_more) = api.broker.topics_page(&prefix, begin, limit as usize, sees);
    let next = page.last().filter(|_| has_more).map(|topic| topic.topic_name().to_owned());
    let mut topics = Topics { has_totals, topics: Vec::with_capacity(page.len()), next };
    for topic in page {
        let offsets = has_totals.then(|| topic.all_offsets());
        topics.topics.push((topic, Totals::of(offsets.as_deref())));
    }
    let bytes = topics.topics.len() as u64 * (INFO_BYTES_MAX + TOPIC_NAME_BYTES_MAX as u64) + INFO_BYTES_MAX;
    let mut text = Buffer(Gathered::new(render::reserve(api, peer, bytes).await?));
    serde_json::to_writer(&mut text, &topics).map_err(render::too_large)?;
    Ok(response::buffers(MediaType::Json.header_value(), text.0.freeze()))
}

/// Has the form of a [`rawline_contract::TopicList`], and makes one topic's part of it at a time.
struct Topics {
    has_totals: bool,
    topics: Vec<(ListedTopic, Totals)>,
    next: Option<String>,
}

/// Of all partitions of a topic; `None` if one of them can't be opened.
#[derive(Clone, Copy, serde::Serialize)]
struct Totals {
    records: Option<u64>,
    /// Grows with each record that is appended to any of them.
    next_offsets: Option<u64>,
}

impl Totals {
    fn of(offsets: Option<&[Range<u64>]>) -> Totals {
        let sum = |of: fn(&Range<u64>) -> u64| offsets.map(|offsets| offsets.iter().map(of).sum());
        Totals { records: sum(|offsets| offsets.end - offsets.start), next_offsets: sum(|offsets| offsets.end) }
    }
}

impl Serialize for Topics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Info {
            #[serde(flatten)]
            info: TopicInfo,
            #[serde(flatten)]
            totals: Totals,
        }
        struct Infos<'a>(&'a Topics);
        impl Serialize for Infos<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Topics { has_totals, topics, .. } = self.0;
                if *has_totals {
                    let infos = topics.iter().map(|(topic, totals)| Info { info: info(topic), totals: *totals });
                    return serializer.collect_seq(infos);
                }
                serializer.collect_seq(topics.iter().map(|(topic, _)| info(topic)))
            }
        }
        let mut list = serializer.serialize_struct("TopicList", 2)?;
        list.serialize_field("topics", &Infos(self))?;
        if let Some(next) = &self.next {
            list.serialize_field("next", next)?;
        }
        list.end()
    }
}

/// The first offset at or after a time.
pub(crate) async fn offset(api: &Api, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    let query = Query::of(&request);
    let (name, partition) = (query.topic()?.into_owned(), query.partition()?);
    let time_us = query.time_us("time", api.clock.now_us())?;
    api.broker.see_ends([&*name]).await?;
    let partition = api.broker.partition(&name, partition).await?;
    let offset = partition.offset_at(time_us).await?;
    Ok(response::json(StatusCode::OK, &OffsetFound { offset }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_that_are_unknown_are_not_zero() {
        let json = |offsets| serde_json::to_value(Totals::of(offsets)).unwrap();
        assert_eq!(json(Some(&[2..5, 0..7])), serde_json::json!({"records": 10, "next_offsets": 12}));
        assert_eq!(json(None), serde_json::json!({"records": null, "next_offsets": null}));
    }
}
