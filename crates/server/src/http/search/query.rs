//! The query of a search. Its errors are returned before anything is read.

use super::criteria::Criteria;
use super::remaining::{Order, Remaining};
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::query::{Query, time_us};
use http::Request;
use rawline_broker::Partition;
use rawline_contract::code;
use std::ops::Range;
use std::time::Duration;

/// Matches of one request, by default and at most.
const MATCHES_DEFAULT: u64 = 100;
const MATCHES_MAX: u64 = 10_000;

/// How long one request searches, by default and at most.
const TIME_DEFAULT: Duration = Duration::from_secs(10);
const TIME_MAX: Duration = Duration::from_secs(60);

/// What one request looks for, where, and how long.
pub(super) struct Wanted {
    pub topic: String,
    pub criteria: Criteria,
    pub remaining: Remaining,
    pub matches_max: u64,
    /// Bytes of records to look through.
    pub bytes_max: u64,
    pub time: Duration,
}

/// Reads the request.
pub(super) async fn read<B>(api: &Api, request: &Request<B>) -> Result<Wanted, ApiError> {
    let query = Query::of(request);
    let topic = query.topic()?.into_owned();
    let criteria = criteria(&query)?;
    let matches_max = match query.number("max-records", Some(MATCHES_DEFAULT))? {
        number @ 1..=MATCHES_MAX => number,
        other => return Err(invalid(format!("max-records={other}: use 1 to {MATCHES_MAX}"))),
    };
    let bytes_max = match query.number("max-bytes", Some(0))? {
        0 => u64::MAX,
        bytes => bytes,
    };
    let time = query.duration("timeout", TIME_DEFAULT)?.min(TIME_MAX);
    api.broker.see_ends([&*topic]).await?;
    let remaining = remaining(api, &query, &topic).await?;
    Ok(Wanted { topic, criteria, remaining, matches_max, bytes_max, time })
}

fn criteria(query: &Query<'_>) -> Result<Criteria, ApiError> {
    let mut criteria = Criteria::default();
    query.text("text").map_or(Ok(()), |text| criteria.text(&text))?;
    query.text("regex").map_or(Ok(()), |text| criteria.regex(&text))?;
    query.text("where").map_or(Ok(()), |text| criteria.filter(&text))?;
    query.text("key").map_or(Ok(()), |text| criteria.key(&text))?;
    if criteria.is_empty() {
        let message = "say what to look for: text=TEXT, regex=REGEX, where=FIELD=VALUE or key=KEY";
        return Err(ApiError::new(code::QUERY_MISSING, message));
    }
    Ok(criteria)
}

/// The ranges to look through: those of a cursor, or of all partitions or one.
async fn remaining(api: &Api, query: &Query<'_>, topic: &str) -> Result<Remaining, ApiError> {
    if let Some(cursor) = query.text("resume") {
        let others = ["partition", "from", "to", "newest-first"];
        if let Some(other) = others.into_iter().find(|name| query.text(name).is_some()) {
            return Err(invalid(format!(
                "resume already has the range and the order of the search; leave out {other}"
            )));
        }
        let left = cursor.parse::<Remaining>().map_err(|error| invalid(format!("resume: {error}")))?;
        let mut ranges = Vec::new();
        for (number, range) in left.ranges() {
            if ranges.iter().any(|(known, _)| known == number) {
                return Err(invalid("resume has a partition more than once; send it as it was returned".to_owned()));
            }
            let readable = readable(&*api.broker.partition(topic, (*number).into()).await?);
            ranges.push((*number, range.start.max(readable.start)..range.end.min(readable.end)));
        }
        return Ok(Remaining::new(left.order, ranges));
    }
    let numbers = match query.text("partition") {
        Some(_) => vec![query.partition()?],
        None => (0..u64::from(api.broker.topic(topic).await?.partitions())).collect(),
    };
    let mut ranges = Vec::with_capacity(numbers.len());
    for number in numbers {
        let partition = api.broker.partition(topic, number).await?;
        ranges.push((u32::try_from(number).unwrap_or(u32::MAX), range(api, query, &partition).await?));
    }
    let order = if query.switch("newest-first")? { Order::NewestFirst } else { Order::OldestFirst };
    Ok(Remaining::new(order, ranges))
}

/// The range of one partition, within the records that it has now.
async fn range(api: &Api, query: &Query<'_>, partition: &Partition) -> Result<Range<u64>, ApiError> {
    let readable = readable(partition);
    let from = position(api, query, "from", partition).await?.unwrap_or(readable.start);
    let to = position(api, query, "to", partition).await?.unwrap_or(readable.end);
    Ok(from.max(readable.start)..to.min(readable.end))
}

/// The offsets that can be searched: what an open transaction may still abort isn't there yet.
fn readable(partition: &Partition) -> Range<u64> {
    let all = partition.offsets();
    all.start..all.end.min(partition.stable_offset())
}

/// An offset, or the first one of a time; of each partition.
async fn position(api: &Api, query: &Query<'_>, name: &str, partition: &Partition) -> Result<Option<u64>, ApiError> {
    match query.text(name) {
        None => Ok(None),
        Some(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            query.number(name, None).map(Some)
        }
        Some(text) => {
            let time_us = time_us(name, &text, api.clock.now_us());
            let time_us = time_us.map_err(|error| invalid(format!("{error}; or give an offset")))?;
            Ok(Some(partition.offset_at(time_us).await?))
        }
    }
}

fn invalid(message: String) -> ApiError {
    ApiError::new(code::QUERY_INVALID, message)
}
