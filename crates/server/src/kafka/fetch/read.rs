//! The records of one partition for a Fetch request.

use super::Asked;
use crate::convert::to_record_batches;
use crate::kafka::admin::epochs;
use crate::kafka::client::Client;
use crate::kafka::error::Refusal;
use crate::kafka::lookup::partition_of;
use crate::kafka::watched::Watched;
use bytes::Bytes;
use rawline_broker::store::StoreError;
use rawline_broker::{BatchKind, Bounds, Partition, Piece, ReadRequest, View};
use rawline_kafka::fetch::{FetchPartition, FetchedPartition};
use rawline_kafka::{Api, ErrorCode};
use std::time::Duration;

/// The result of one partition.
pub(super) struct Found {
    pub fetched: FetchedPartition,
    pub records: Vec<Bytes>,
    /// Number of records, and of the offsets between them that have none.
    pub count: u64,
    /// Number of pieces that were read.
    pub pieces: usize,
    /// Whether some of the records are in buffers of the pool.
    pub holds_buffers: bool,
}

impl Found {
    /// The response for a partition that can't be read.
    pub fn refused(partition: i32, Refusal { code, message }: Refusal) -> Found {
        tracing::debug!(partition, message, "refused a Kafka client's fetch");
        Found::without_records(FetchedPartition {
            partition,
            error: code.into(),
            next_offset: -1,
            stable_offset: -1,
            first_offset: -1,
            aborted: Vec::new(),
            preferred: -1,
            records_bytes: 0,
        })
    }

    fn without_records(fetched: FetchedPartition) -> Found {
        Found { fetched, records: Vec::new(), count: 0, pieces: 0, holds_buffers: false }
    }
}

/// Reads the partition at a place of a request: at most `left` bytes, or a batch if it is the first.
pub(super) async fn read_one(
    client: &Client,
    asked: &Asked,
    place: usize,
    watched: &mut Watched,
    left: u64,
    is_first: bool,
) -> Result<Found, Refusal> {
    let (topic, wanted) = asked.at(place);
    let partition = match watched.known(topic, wanted.partition, place) {
        Some(partition) => partition,
        None => {
            let partition = partition_of(client, Api::Fetch, topic, wanted.partition).await?;
            watched.add(topic, wanted.partition, place, &partition);
            partition
        }
    };
    epochs::check(wanted.leader_epoch)?;
    // Before the read, so that later records wake the request.
    let bounds = partition.bounds();
    if let Some(preferred) = nearer_of(asked, &partition, wanted.partition) {
        let described = describe(wanted, bounds, bounds.stable_offset);
        return Ok(Found::without_records(FetchedPartition { preferred, ..described }));
    }
    if is_at_end(wanted.offset, asked.view, bounds) {
        return Ok(Found::without_records(describe(wanted, bounds, bounds.stable_offset)));
    }
    let offset = in_range(&partition, wanted.offset).await?;
    let bytes_max = u64::try_from(wanted.bytes_max).unwrap_or_default().min(left);
    let (mut records, mut count, mut pieces, mut holds_buffers, mut aborted) = (Vec::new(), 0, 0, false, Vec::new());
    if bytes_max > 0 || is_first {
        // 0 means no limit.
        let bytes_max = bytes_max.max(1);
        let request = ReadRequest { offset, records_max: 0, bytes_max, wait: Duration::ZERO, verify: false };
        let read = partition.read_as(&request, asked.view).await?;
        pieces = read.pieces.len();
        count = read.end_offset - read.first_offset;
        if asked.view == View::Stable && !read.pieces.is_empty() {
            aborted = partition.aborted_among(read.first_offset..read.end_offset);
        }
        if read.kind == BatchKind::Kafka {
            // In a new list: the read's list is larger.
            records.reserve_exact(pieces);
            records.extend(read.pieces.into_iter().map(whole));
        } else if !read.pieces.is_empty() {
            let kafka = &client.kafka;
            let raw_bytes_max = kafka.config.batch_limits.raw_bytes_max;
            let converted = to_record_batches(&kafka.converting, read, bytes_max, raw_bytes_max).await?;
            records = converted.into_buffers(&client.peer.holder, kafka.config.pool_wait).await?;
            holds_buffers = true;
        }
    }
    let records_bytes: usize = records.iter().map(Bytes::len).sum();
    let described = describe(wanted, partition.bounds(), bounds.stable_offset);
    let records_bytes =
        u32::try_from(records_bytes).unwrap_or_else(|_| unreachable!("{records_bytes} bytes of records"));
    let fetched = FetchedPartition { aborted, records_bytes, ..described };
    Ok(Found { fetched, records, count, pieces, holds_buffers })
}

/// The number of the broker in the client's zone that serves this partition's readers.
fn nearer_of(asked: &Asked, partition: &Partition, number: i32) -> Option<i32> {
    let (zone, brokers) = asked.nearer.as_ref()?;
    let card = brokers.reader(zone, partition.topic_name(), number.cast_unsigned(), |card| card.kafka.is_some())?;
    Some(card.id.node())
}

/// Whether a partition has no record at an offset yet that may be seen, and its next one may be there.
fn is_at_end(offset: i64, view: View, bounds: Bounds) -> bool {
    let end = if view == View::Stored { bounds.next_offset } else { bounds.stable_offset };
    u64::try_from(offset).is_ok_and(|offset| (end..=bounds.next_offset).contains(&offset))
}

fn describe(wanted: &FetchPartition, bounds: Bounds, stable_offset: u64) -> FetchedPartition {
    FetchedPartition {
        partition: wanted.partition,
        error: ErrorCode::None.into(),
        next_offset: bounds.next_offset as i64,
        stable_offset: stable_offset as i64,
        first_offset: bounds.first_offset as i64,
        aborted: Vec::new(),
        preferred: -1,
        records_bytes: 0,
    }
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
        Piece::Slice { .. } => unreachable!("a part of a Kafka batch"),
    }
}
