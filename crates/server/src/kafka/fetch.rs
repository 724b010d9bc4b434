//! Fetch: records of many partitions, as they are stored, once there are enough of them.

use super::Client;
use super::admin::epochs;
use super::error::{ConnectionError, Refusal};
use super::lookup::partition_of;
use super::reply::{Pending, Reply};
use crate::convert::to_record_batches;
use crate::net::join::join;
use bytes::Bytes;
use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rawline_broker::store::StoreError;
use rawline_broker::{BatchKind, Partition, Piece, ReadRequest, View};
use rawline_kafka::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchedPartition, request, response};
use rawline_kafka::frame::RequestHeader;
use rawline_kafka::produce::TopicRef;
use rawline_kafka::{Api, ErrorCode};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// A request never waits longer. Clients ask for half a second.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// Maximum size of all records in one response in bytes, whatever clients ask for.
pub(super) const BYTES_MAX: u64 = 64 << 20;

/// What was found of one partition.
struct Found {
    fetched: FetchedPartition,
    records: Vec<Bytes>,
    holds_buffers: bool,
}

/// What was found of all.
struct All {
    topics: Vec<(TopicRef, Vec<Found>)>,
    bytes: u64,
    has_failed: bool,
}

/// Reads a request, and returns what becomes the response. A large request keeps its permit until then.
pub(super) fn begin(
    client: &Arc<Client>,
    header: RequestHeader,
    body: &[u8],
    permit: Option<OwnedSemaphorePermit>,
) -> Result<Pending, ConnectionError> {
    let asked = request(header.version, body)?;
    let client = client.clone();
    let fetched = async move {
        let reply = fetch(&client, &header, &asked).await;
        drop(permit);
        Some(reply)
    };
    Ok(Pending::Later(fetched.boxed()))
}

async fn fetch(client: &Client, header: &RequestHeader, asked: &FetchRequest) -> Reply {
    let wait = Duration::from_millis(u64::try_from(asked.wait_max_ms).unwrap_or_default()).min(WAIT_MAX);
    let until = Instant::now() + wait;
    let bytes_min = u64::try_from(asked.bytes_min).unwrap_or_default();
    loop {
        let all = read_all(client, asked).await;
        if all.bytes >= bytes_min || all.has_failed || Instant::now() >= until || *client.kafka.stopping.borrow() {
            return reply(client, header, all).await;
        }
        wait_for_more(client, asked, &all, until).await;
    }
}

async fn read_all(client: &Client, asked: &FetchRequest) -> All {
    let bytes_max = u64::try_from(asked.bytes_max).unwrap_or_default().min(BYTES_MAX);
    let mut all = All { topics: Vec::with_capacity(asked.topics.len()), bytes: 0, has_failed: false };
    for (topic, partitions) in &asked.topics {
        let mut found = Vec::with_capacity(partitions.len());
        for wanted in partitions {
            // The first batch comes whatever the limit is; without it a consumer would be stuck.
            let left = bytes_max.saturating_sub(all.bytes);
            let one = read_one(client, topic, wanted, view(asked), left, all.bytes == 0).await;
            all.bytes += u64::from(one.fetched.records_bytes);
            all.has_failed |= one.fetched.error != 0;
            found.push(one);
        }
        all.topics.push((topic.clone(), found));
    }
    all
}

/// What a request's isolation level allows to see.
fn view(asked: &FetchRequest) -> View {
    const READ_COMMITTED: i8 = 1;
    if asked.isolation_level == READ_COMMITTED { View::Stable } else { View::Stored }
}

async fn read_one(
    client: &Client,
    topic: &TopicRef,
    wanted: &FetchPartition,
    view: View,
    left: u64,
    is_first: bool,
) -> Found {
    let number = wanted.partition;
    match try_read(client, topic, wanted, view, left, is_first).await {
        Ok(found) => found,
        Err(Refusal { code, message }) => {
            tracing::debug!(partition = number, message, "a Kafka client fetches in vain");
            let (next_offset, stable_offset, first_offset, records_bytes) = (-1, -1, -1, 0);
            let error = code.into();
            let fetched = FetchedPartition {
                partition: number,
                error,
                next_offset,
                stable_offset,
                first_offset,
                aborted: Vec::new(),
                records_bytes,
            };
            Found { fetched, records: Vec::new(), holds_buffers: false }
        }
    }
}

async fn try_read(
    client: &Client,
    topic: &TopicRef,
    wanted: &FetchPartition,
    view: View,
    left: u64,
    is_first: bool,
) -> Result<Found, Refusal> {
    let partition = partition_of(client, Api::Fetch, topic, wanted.partition).await?;
    epochs::check(wanted.leader_epoch)?;
    let offset = in_range(&partition, wanted.offset).await?;
    let bytes_max = u64::try_from(wanted.bytes_max).unwrap_or_default().min(left);
    let (mut records, mut holds_buffers, mut aborted) = (Vec::new(), false, Vec::new());
    // Before the read: what isn't read now is waited for.
    let stable_offset = partition.stable_offset();
    if bytes_max > 0 || is_first {
        // 0 stands for no limit.
        let bytes_max = bytes_max.max(1);
        let request = ReadRequest { offset, records_max: 0, bytes_max, wait: Duration::ZERO, verify: false };
        let read = partition.read_as(&request, view).await?;
        if view == View::Stable && !read.pieces.is_empty() {
            aborted = partition.aborted_among(read.first_offset..read.end_offset);
        }
        if read.kind == BatchKind::Kafka {
            records = read.pieces.into_iter().map(whole).collect();
        } else if !read.pieces.is_empty() {
            let kafka = &client.kafka;
            let raw_bytes_max = kafka.config.batch_limits.raw_bytes_max;
            let converted = to_record_batches(&kafka.converting, read, bytes_max, raw_bytes_max).await?;
            records = converted.into_buffers(&client.peer.holder, kafka.config.pool_wait).await?;
            holds_buffers = true;
        }
    }
    let records_bytes: usize = records.iter().map(Bytes::len).sum();
    let next_offset = partition.offsets().end as i64;
    let fetched = FetchedPartition {
        partition: wanted.partition,
        error: ErrorCode::None.into(),
        next_offset,
        stable_offset: stable_offset as i64,
        aborted,
        first_offset: partition.offsets().start as i64,
        records_bytes: u32::try_from(records_bytes)
            .unwrap_or_else(|_| unreachable!("{records_bytes} bytes of records")),
    };
    Ok(Found { fetched, records, holds_buffers })
}

/// The offset, if the partition has it or will have it next.
async fn in_range(partition: &Partition, offset: i64) -> Result<u64, Refusal> {
    let out_of_range = || {
        Refusal::new(ErrorCode::OffsetOutOfRange, format!("offset {offset} is not one of {:?}", partition.offsets()))
    };
    let wanted = u64::try_from(offset).map_err(|_| out_of_range())?;
    let retry = |error: StoreError| Refusal::new(ErrorCode::NotLeaderOrFollower, error.to_string());
    if Box::pin(partition.reaches(wanted)).await.map_err(retry)? { Ok(wanted) } else { Err(out_of_range()) }
}

fn whole(piece: Piece) -> Bytes {
    match piece {
        Piece::Whole(bytes) => bytes,
        Piece::Slice { .. } => unreachable!("a part of one of Kafka's batches"),
    }
}

/// Waits until one of the partitions has more, the time is over, the client is gone or the broker stops.
async fn wait_for_more(client: &Client, asked: &FetchRequest, all: &All, until: Instant) {
    let mut arrivals = FuturesUnordered::new();
    let found = all.topics.iter().flat_map(|(_, partitions)| partitions);
    let wanted =
        asked.topics.iter().flat_map(|(topic, partitions)| partitions.iter().map(move |wanted| (topic, wanted)));
    for ((topic, wanted), found) in wanted.zip(found) {
        let (view, fetched) = (view(asked), &found.fetched);
        let seen = if view == View::Stored { fetched.next_offset } else { fetched.stable_offset } as u64;
        arrivals.push(async move {
            if let Ok(partition) = partition_of(client, Api::Fetch, topic, wanted.partition).await {
                partition.wait_as(seen, WAIT_MAX, view).await;
            }
        });
    }
    let mut stopping = client.kafka.stopping.clone();
    tokio::select! {
        Some(()) = arrivals.next() => {}
        () = tokio::time::sleep_until(until) => {}
        () = client.peer.gone() => {}
        _ = stopping.wait_for(|&stop| stop) => {}
    }
}

async fn reply(client: &Client, header: &RequestHeader, all: All) -> Reply {
    let described = |found: &[Found]| found.iter().map(|found| found.fetched.clone()).collect();
    let topics: Vec<_> = all.topics.iter().map(|(topic, found)| (topic.clone(), described(found))).collect();
    let caller = client.caller();
    caller.read(all.bytes);
    let throttle_ms = client.session.mute(caller.read_wait());
    let FetchResponse { parts, .. } = response(header.version, ErrorCode::None.into(), throttle_ms, &topics);
    let found = all.topics.into_iter().flat_map(|(_, found)| found);
    let (mut body, mut holds_buffers) = (Vec::with_capacity(parts.len()), false);
    let mut parts = parts.into_iter().map(Bytes::from);
    for found in found {
        body.extend(parts.next());
        body.extend(found.records);
        holds_buffers |= found.holds_buffers;
    }
    body.extend(parts);
    let joined = join(&client.peer, body).await;
    let reply = Reply::new(header, Api::Fetch, joined.pieces);
    if holds_buffers || joined.holds_buffers { reply.with_buffers() } else { reply }
}
