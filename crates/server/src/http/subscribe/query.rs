//! The query of a subscription. Its errors are returned before any record.

use super::deliver::Wanted;
use crate::access::{Caller, Operation};
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::query::{Query, time_us};
use crate::http::topics;
use http::{HeaderMap, Request};
use rawline_broker::limits::TOPIC_NAME_BYTES_MAX;
use rawline_broker::subscriptions::{Position, Slow, Subscribe};
use rawline_contract::subscription::InTopic;
use rawline_contract::{Cursor, Payload, code, header};
use rawline_value::Filter;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of names and prefixes: each new topic is compared with them.
const TOPICS_MAX: usize = 1024;

/// The maximum lag of a subscriber that skips, if it gives none, in records.
const LAG_MAX_IF_SKIPPING: u64 = 65_536;

/// Reads the request, and begins the subscription.
pub(super) async fn read<B>(api: &Api, caller: &Arc<Caller>, request: &Request<B>) -> Result<Wanted, ApiError> {
    let query = Query::of(request);
    let mut names = query.all("topic-name");
    names.sort_unstable();
    names.dedup();
    let prefixes = prefixes(&query)?;
    match names.len() + prefixes.len() {
        0 => {
            let message = "name what to subscribe to: topic-name=NAME, or topic-prefix=PREFIX, which may be empty for \
                           all topics";
            return Err(ApiError::new(code::QUERY_MISSING, message));
        }
        count if count > TOPICS_MAX => {
            return Err(invalid(format!("{count} topics and prefixes; subscribe to at most {TOPICS_MAX} at once")));
        }
        _ => {}
    }
    names.iter().try_for_each(|name| caller.grants().topic(Operation::Read, name))?;
    let prefixes = granted(api, caller, prefixes, &mut names).await?;
    if names.is_empty() && prefixes.is_empty() {
        let message = "none of the topics that this key may read exists yet; subscribe when one does";
        return Err(ApiError::new(code::TOPIC_NOT_FOUND, message));
    }
    let partition = match query.text("partition") {
        None => None,
        Some(_) => Some(u32::try_from(query.partition()?).unwrap_or(u32::MAX)),
    };
    let filter = filter(&query)?;
    let slow = slow(&query)?;
    let mut request_of = Subscribe {
        names,
        prefixes,
        partition,
        after_us: None,
        positions: BTreeMap::new(),
        slow,
        lag_max: lag_max(&query, slow)?,
    };
    match resumed(&query, request.headers())? {
        Some(cursor) => {
            request_of.after_us = Some(cursor.after_us);
            let each = cursor.topics.into_iter().flat_map(|(name, InTopic { id, positions })| {
                let position = move |next_offset| Position { topic: id.map(|id| id.0), next_offset };
                positions.into_iter().map(move |(partition, next)| ((name.clone(), partition), position(next)))
            });
            request_of.positions = each.collect();
        }
        None => from(api, &query, &mut request_of).await?,
    }
    if filter.is_some() {
        for name in &request_of.names {
            let topic = api.broker.topic(name).await?;
            if topics::payload(&topic) != Payload::Value {
                let message = format!(
                    "where= filters structured values, and topic {name} has the payload bytes; leave out where=, or \
                     set the topic's payload to value"
                );
                return Err(invalid(message));
            }
        }
    }
    let subscription = api.broker.subscribe(request_of).await?;
    Ok(Wanted { caller: caller.clone(), subscription, filter })
}

fn prefixes(query: &Query<'_>) -> Result<Vec<String>, ApiError> {
    let mut prefixes = query.all("topic-prefix");
    prefixes.sort_unstable();
    prefixes.dedup();
    match prefixes.iter().find(|prefix| prefix.len() > TOPIC_NAME_BYTES_MAX) {
        Some(long) => Err(invalid(format!(
            "a topic-prefix of {} bytes matches no topic; names have at most {TOPIC_NAME_BYTES_MAX}",
            long.len()
        ))),
        None => Ok(prefixes),
    }
}

/// The prefixes, as far as the caller may read all their topics. Of the others, those topics that it may read by name
/// and that exist are added to `names`.
pub(crate) async fn granted(
    api: &Api,
    caller: &Caller,
    asked: Vec<String>,
    names: &mut Vec<String>,
) -> Result<Vec<String>, ApiError> {
    let mut prefixes = Vec::with_capacity(asked.len());
    for prefix in asked {
        let (granted, single) = caller.grants().readable(&prefix)?;
        prefixes.extend(granted);
        for name in single {
            if api.broker.topic(&name).await.is_ok() {
                names.push(name);
            }
        }
    }
    for list in [names, &mut prefixes] {
        list.sort_unstable();
        list.dedup();
    }
    Ok(prefixes)
}

fn filter(query: &Query<'_>) -> Result<Option<Filter>, ApiError> {
    let parse = |text: String| text.parse::<Filter>().map_err(|error| invalid(format!("where: {error}")));
    query.text("where").map(parse).transpose()
}

fn slow(query: &Query<'_>) -> Result<Slow, ApiError> {
    match query.text("slow").as_deref() {
        None | Some("disconnect") => Ok(Slow::Disconnect),
        Some("skip") => Ok(Slow::Skip),
        Some(other) => Err(invalid(format!("slow={other}: use disconnect or skip"))),
    }
}

fn lag_max(query: &Query<'_>, slow: Slow) -> Result<Option<u64>, ApiError> {
    if query.text("max-lag").is_none() {
        return Ok((slow == Slow::Skip).then_some(LAG_MAX_IF_SKIPPING));
    }
    match query.number("max-lag", None)? {
        0 => Err(invalid("max-lag=0: use a number of records of 1 or more".to_owned())),
        lag_max => Ok(Some(lag_max)),
    }
}

/// The cursor to continue from.
fn resumed(query: &Query<'_>, headers: &HeaderMap) -> Result<Option<Cursor>, ApiError> {
    let parse = |what: &str, text: &str| text.parse().map_err(|error| invalid(format!("{what}: {error}")));
    if let Some(id) = headers.get(header::LAST_EVENT_ID).filter(|id| !id.is_empty()) {
        let text = id.to_str().map_err(|_| invalid("Last-Event-ID: a cursor is plain text".to_owned()))?;
        return parse("Last-Event-ID", text).map(Some);
    }
    query.text("resume").map(|text| parse("resume", &text)).transpose()
}

/// The start without a cursor.
async fn from(api: &Api, query: &Query<'_>, request: &mut Subscribe) -> Result<(), ApiError> {
    match query.text("from").as_deref() {
        None | Some("end") => {}
        Some("first") => request.after_us = Some(0),
        Some(offset) if !offset.is_empty() && offset.bytes().all(|byte| byte.is_ascii_digit()) => {
            let offset = query.number("from", None)?;
            let (name, partition) = only_partition(api, request).await?;
            let found = api.broker.partition(&name, partition.into()).await?;
            if !found.reaches(offset).await? {
                let next_offset = found.offsets().end;
                let message = format!("from={offset} is not written yet; the partition's next offset is {next_offset}");
                return Err(ApiError::new(code::OFFSET_OUT_OF_BOUNDS, message));
            }
            request.positions.insert((name, partition), Position { topic: None, next_offset: offset });
        }
        Some(time) => {
            let time_us = time_us("from", time, api.clock.now_us());
            let time_us = time_us.map_err(|error| invalid(format!("{error}; or give end, first, or an offset")))?;
            request.after_us = Some(time_us.saturating_sub(1));
        }
    }
    Ok(())
}

/// The one partition that is subscribed to.
async fn only_partition(api: &Api, request: &Subscribe) -> Result<(String, u32), ApiError> {
    let ([name], []) = (&*request.names, &*request.prefixes) else {
        let message = "an offset belongs to one partition; with several topics or a prefix use from=first, from=end, a \
                       time, or resume=CURSOR";
        return Err(invalid(message.to_owned()));
    };
    let topic = api.broker.topic(name).await?;
    match request.partition {
        Some(partition) => Ok((name.clone(), partition)),
        None if topic.partitions() == 1 => Ok((name.clone(), 0)),
        None => {
            let partitions = topic.partitions();
            Err(invalid(format!("topic {name} has {partitions} partitions; name the offset's with partition=NUMBER")))
        }
    }
}

fn invalid(message: String) -> ApiError {
    ApiError::new(code::QUERY_INVALID, message)
}
