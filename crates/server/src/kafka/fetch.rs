//! Fetch: records of many partitions, as they are stored, once there are enough of them.

mod progress;
mod read;

use super::building::Building;
use super::client::Client;
use super::error::ConnectionError;
use super::reply::{Pending, Reply};
use super::watched::Watched;
use crate::metrics::{Metered, Protocol};
use crate::net::commit_thread::DELIVERY_BYTES_MAX;
use crate::net::join::join;
use bytes::Bytes;
use futures_util::future::FutureExt;
use progress::Progress;
use rawline_broker::View;
use rawline_broker::cluster::Brokers;
use rawline_broker::metrics::Crossing;
use rawline_kafka::fetch::{FetchPartition, FetchRequest, FetchResponse, request, response};
use rawline_kafka::frame::RequestHeader;
use rawline_kafka::produce::TopicRef;
use rawline_kafka::{Api, ErrorCode};
use read::{Found, read_one};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// Maximum wait of a request. Clients request half a second.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// Maximum size of all records in one response in bytes, whatever clients request.
pub(super) const BYTES_MAX: u64 = 64 << 20;

/// The content of a request. A partition's place is its number among all partitions of the request, in its order.
struct Asked {
    /// The topics, and how many partitions of each follow one another.
    topics: Vec<(TopicRef, usize)>,
    /// The partitions, and the places of their topics in `topics`.
    wanted: Vec<(usize, FetchPartition)>,
    /// The client's zone, and the brokers, if some are there and this one isn't.
    nearer: Option<(String, Arc<Brokers>)>,
    view: View,
    wait: Duration,
    bytes_min: u64,
    bytes_max: u64,
}

impl Asked {
    fn new(request: FetchRequest, nearer: Option<Arc<Brokers>>) -> Asked {
        const READ_COMMITTED: i8 = 1;
        let mut wanted = Vec::with_capacity(request.topics.iter().map(|(_, partitions)| partitions.len()).sum());
        let mut topics = Vec::with_capacity(request.topics.len());
        for (topic, partitions) in request.topics {
            let count = partitions.len();
            wanted.extend(partitions.into_iter().map(|partition| (topics.len(), partition)));
            topics.push((topic, count));
        }
        Asked {
            topics,
            wanted,
            nearer: nearer.map(|brokers| (request.rack, brokers)),
            view: if request.isolation_level == READ_COMMITTED { View::Stable } else { View::Stored },
            wait: Duration::from_millis(u64::try_from(request.wait_max_ms).unwrap_or_default()).min(WAIT_MAX),
            bytes_min: u64::try_from(request.bytes_min).unwrap_or_default(),
            bytes_max: u64::try_from(request.bytes_max).unwrap_or_default().min(BYTES_MAX),
        }
    }

    /// The topic and the partition at a place.
    fn at(&self, place: usize) -> (&TopicRef, &FetchPartition) {
        let wanted = self.wanted.get(place);
        match wanted.and_then(|(topic, wanted)| Some((&self.topics.get(*topic)?.0, wanted))) {
            Some(found) => found,
            None => unreachable!("place {place} of {} partitions", self.wanted.len()),
        }
    }
}

/// Reads a request, and returns the future response. A large request keeps its permit until then, or until it
/// waits in room that is counted otherwise. On the commit thread, a response is small.
pub(super) fn begin(
    client: &Arc<Client>,
    header: RequestHeader,
    body: &[u8],
    permit: Option<OwnedSemaphorePermit>,
    is_on_commit_thread: bool,
) -> Result<Pending, ConnectionError> {
    let request = request(header.version, body)?;
    let nearer = client.in_zone(&request.rack);
    client.activity.crosses(Crossing::between(request.rack.as_bytes(), client.kafka.broker.zone()));
    let (mut asked, client) = (Asked::new(request, nearer), client.clone());
    if is_on_commit_thread {
        asked.bytes_max = asked.bytes_max.min(DELIVERY_BYTES_MAX);
    }
    let fetched = async move {
        let mut watched = client.fetches.take(&client.caller());
        let found = fetch(&client, &asked, &mut watched, permit).await;
        client.deliveries.note(found.iter().map(|found| u64::from(found.fetched.records_bytes)).sum());
        client.fetches.keep(watched, &client.kafka.watching, asked.wanted.len());
        let mut building = Building::new(&client.kafka);
        building.begin(found.len()).await;
        Ok(Some(reply(&client, &header, asked, found).await))
    };
    Ok(Pending::Later(fetched.boxed()))
}

/// Reads until there are enough bytes, the wait times out, the client disconnects or the broker stops. The result is
/// in the order of the request.
async fn fetch(
    client: &Client,
    asked: &Asked,
    watched: &mut Box<Watched>,
    mut permit: Option<OwnedSemaphorePermit>,
) -> Vec<Found> {
    let until = Instant::now() + asked.wait;
    let mut progress = Progress::new(asked.wanted.len());
    loop {
        while let Some(place) = progress.next() {
            // The first batch comes whatever the limit is; without it a consumer would be stuck.
            let (left, is_first) = (asked.bytes_max.saturating_sub(progress.bytes()), progress.bytes() == 0);
            let left = if progress.is_full() { 0 } else { left };
            let read = read_one(client, asked, place, watched, left, is_first).await;
            progress.read(place, read.unwrap_or_else(|why| Found::refused(asked.at(place).1.partition, why)));
        }
        let is_over = || Instant::now() >= until || *client.kafka.stopping.borrow() || client.peer.is_gone();
        if progress.is_enough(asked.bytes_min) || is_over() {
            return progress.into_found();
        }
        progress.release_buffers();
        if watched.find_room(&client.kafka.watching, asked.wanted.len()) {
            drop(permit.take());
        }
        wait_for_changes(client, watched, until).await;
        let caller = client.caller();
        if watched.is_for(&caller) {
            progress.changed(watched.changes());
        } else {
            // It may have lost the grant for the records that it has read.
            *watched = client.fetches.take(&caller);
            progress = Progress::new(asked.wanted.len());
        }
    }
}

/// Waits until one of the partitions has changed, the time is over, the client is gone or the broker stops.
async fn wait_for_changes(client: &Client, watched: &Watched, until: Instant) {
    let (mut stopping, caller) = (client.kafka.stopping.clone(), client.caller());
    tokio::select! {
        () = watched.changed() => {}
        // All requested partitions are looked up again with its current grants.
        () = caller.ended() => {}
        () = tokio::time::sleep_until(until) => {}
        () = client.peer.gone() => {}
        _ = stopping.wait_for(|&stop| stop) => {}
    }
}

async fn reply(client: &Client, header: &RequestHeader, asked: Asked, found: Vec<Found>) -> Reply {
    let (mut count, mut bytes, mut holds_buffers, mut error) = (0, 0, false, 0);
    let mut records = Vec::new();
    let mut fetched = found.into_iter().map(|found| {
        bytes += u64::from(found.fetched.records_bytes);
        holds_buffers |= found.holds_buffers;
        count += found.count;
        error = if error == 0 { found.fetched.error } else { error };
        if found.fetched.records_bytes > 0 {
            records.push(found.records);
        }
        found.fetched
    });
    let topics: Vec<_> =
        asked.topics.into_iter().map(|(topic, count)| (topic, fetched.by_ref().take(count).collect())).collect();
    drop(fetched);
    let caller = client.caller();
    caller.read(bytes);
    let (metrics, wait) = (&client.kafka.config.metrics, caller.read_wait());
    if bytes > 0 {
        metrics.returned(Protocol::Kafka, count, bytes);
    }
    if !wait.is_zero() {
        metrics.exceeded(Protocol::Kafka, Metered::Read);
    }
    let throttle_ms = client.session.mute(wait);
    let FetchResponse { parts, .. } = response(header.version, ErrorCode::None.into(), throttle_ms, &topics);
    let mut body = Vec::with_capacity(parts.len());
    let mut records = records.into_iter();
    for part in parts {
        body.push(Bytes::from(part.bytes));
        if part.has_records {
            body.extend(records.next().into_iter().flatten());
        }
    }
    assert!(records.next().is_none(), "records without a place in the response");
    let joined = join(&client.peer, body).await;
    let reply = Reply::new(header, Api::Fetch, joined.pieces).with_error(error);
    if holds_buffers || joined.holds_buffers { reply.with_buffers() } else { reply }
}
