//! ListOffsets: a partition's first and next offset, or the first record of a time.

use super::admin::epochs;
use super::client::Client;
use super::error::Refusal;
use crate::convert::{ConvertError, DatedRecord, Wanted, find_time};
use rawline_broker::{BatchKind, DatedBatch, Partition, ReadRequest, View};
use rawline_kafka::messages::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};
use rawline_kafka::{Api, ErrorCode};
use std::time::Duration;

/// Stands for the offset after the last record.
const LATEST: i64 = -1;
/// Stand for the first record, and for the first on local disk, which is the same.
const EARLIEST: [i64; 2] = [-2, -4];
/// Stands for the record with the greatest time.
const MAX_TIMESTAMP: i64 = -3;
/// Stands for the last record in other storage.
const LATEST_TIERED: i64 = -5;

/// Ignores records of uncommitted transactions.
const READ_COMMITTED: i8 = 1;

/// Batches whose header has a time that none of their records has, before a search ends after them. Only a client that
/// makes up headers sends them.
const UNPACKED_MAX: usize = 10;

/// The result of a search by time: the offset, and its time if it is known, in milliseconds since the Unix epoch.
struct At {
    offset: i64,
    timestamp_ms: i64,
}

pub(super) async fn respond(client: &Client, request: ListOffsetsRequest) -> ListOffsetsResponse {
    let seen = client.kafka.broker.see_ends(request.topics.iter().map(|topic| &*topic.name)).await;
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in topic.partitions {
            let found = match &seen {
                Ok(()) => find(client, &topic.name, &partition, request.isolation_level).await,
                Err(error) => Err(error.clone().into()),
            };
            partitions.push(described(partition.partition_index, found));
        }
        topics.push(ListOffsetsTopicResponse { name: topic.name, partitions });
    }
    ListOffsetsResponse { topics, ..ListOffsetsResponse::default() }
}

fn described(partition_index: i32, found: Result<At, Refusal>) -> ListOffsetsPartitionResponse {
    match found {
        Ok(At { offset, timestamp_ms }) => ListOffsetsPartitionResponse {
            partition_index,
            offset,
            timestamp: timestamp_ms,
            leader_epoch: if offset < 0 { -1 } else { 0 },
            ..ListOffsetsPartitionResponse::default()
        },
        Err(Refusal { code, .. }) => ListOffsetsPartitionResponse {
            partition_index,
            error_code: code.into(),
            ..ListOffsetsPartitionResponse::default()
        },
    }
}

async fn find(client: &Client, topic: &str, wanted: &ListOffsetsPartition, isolation_level: i8) -> Result<At, Refusal> {
    let partition = super::lookup::partition(client, Api::ListOffsets, topic, wanted.partition_index).await?;
    epochs::check(wanted.current_leader_epoch)?;
    let offsets = partition.offsets();
    let at = |offset: u64| At { offset: offset as i64, timestamp_ms: -1 };
    let end_offset = if isolation_level == READ_COMMITTED { partition.stable_offset() } else { offsets.end };
    let found = match wanted.timestamp {
        LATEST => Ok(at(end_offset)),
        timestamp if EARLIEST.contains(&timestamp) => Ok(at(offsets.start)),
        LATEST_TIERED => Ok(At::NONE),
        MAX_TIMESTAMP => Search { client, partition: &partition }.newest(offsets.start).await,
        time_ms => Search { client, partition: &partition }.since(time_ms).await,
    }?;
    // Records of open transactions, and those after them, aren't there yet.
    let is_hidden = isolation_level == READ_COMMITTED && found.offset > end_offset as i64
        || found.timestamp_ms >= 0 && found.offset >= end_offset as i64 && end_offset < offsets.end;
    Ok(if is_hidden { At::NONE } else { found })
}

impl At {
    const NONE: At = At { offset: -1, timestamp_ms: -1 };
}

impl From<DatedRecord> for At {
    fn from(DatedRecord { offset, time_ms }: DatedRecord) -> At {
        At { offset: offset as i64, timestamp_ms: time_ms }
    }
}

/// A search by the times of records.
struct Search<'a> {
    client: &'a Client,
    partition: &'a Partition,
}

impl Search<'_> {
    /// The first record of this time or later.
    async fn since(&self, time_ms: i64) -> Result<At, Refusal> {
        let Ok(time_us) = u64::try_from(time_ms).map(|ms| ms.saturating_mul(1000)) else {
            return Err(Refusal::new(ErrorCode::InvalidRequest, format!("{time_ms} isn't a time")));
        };
        let mut offset = 0;
        for _ in 0..UNPACKED_MAX {
            let permit = self.client.kafka.searching.acquire().await;
            let Some(batch) = self.partition.batch_since(time_us, offset).await? else {
                return Ok(At::NONE);
            };
            drop(permit);
            if let Some(found) = self.within(&batch, Wanted::Since(time_ms)).await? {
                return Ok(found.into());
            }
            offset = batch.end_offset;
        }
        // Nothing before it has the time.
        Ok(At { offset: offset as i64, timestamp_ms: time_ms })
    }

    /// The first of the records with the greatest time, of those from this offset on.
    async fn newest(&self, offset: u64) -> Result<At, Refusal> {
        let Some((batch, newest)) = self.newest_from(offset).await? else { return Ok(At::NONE) };
        if batch.first_offset >= offset {
            return Ok(newest.map_or(At::NONE, At::from));
        }
        // Its newest record may be one of those that were deleted.
        let other = self.newest_from(batch.end_offset).await?.and_then(|(_, newest)| newest);
        let newest = [newest, other].into_iter().flatten();
        let newest = newest.reduce(|newest, other| if other.time_ms > newest.time_ms { other } else { newest });
        Ok(newest.map_or(At::NONE, At::from))
    }

    /// The batch with the greatest time, and its record with that time.
    async fn newest_from(&self, offset: u64) -> Result<Option<(DatedBatch, Option<DatedRecord>)>, Refusal> {
        let permit = self.client.kafka.searching.acquire().await;
        let Some(batch) = self.partition.newest_batch(offset).await? else { return Ok(None) };
        drop(permit);
        Ok(Some((batch, self.within(&batch, Wanted::Newest).await?)))
    }

    /// The record in a batch. Batches of ours have one time.
    async fn within(&self, batch: &DatedBatch, wanted: Wanted) -> Result<Option<DatedRecord>, Refusal> {
        let kafka = &self.client.kafka;
        let offset = batch.first_offset.max(self.partition.offsets().start);
        let of_batch = Some(DatedRecord { offset, time_ms: (batch.newest_us / 1000) as i64 });
        if batch.kind == BatchKind::Rawline {
            return Ok(of_batch);
        }
        // The batch whole, whatever its size.
        let request = ReadRequest { offset, records_max: 1, bytes_max: 1, wait: Duration::ZERO, verify: false };
        let read = self.partition.read_as(&request, View::Stored).await?;
        if read.kind != BatchKind::Kafka || read.first_offset != batch.first_offset {
            // Deleted or replaced meanwhile; the remaining batches begin at its offset or later.
            return Ok(of_batch);
        }
        let raw_bytes_max = kafka.config.batch_limits.raw_bytes_max;
        match find_time(&kafka.converting, read, offset, wanted, raw_bytes_max).await {
            Ok(found) => Ok(found),
            Err(error @ ConvertError::Pool(_)) => Err(error.into()),
            Err(error) => {
                // Consumers get such a batch as it was sent, and handle it.
                tracing::debug!(offset, %error, "the times of a batch's records can't be read");
                Ok(of_batch)
            }
        }
    }
}
