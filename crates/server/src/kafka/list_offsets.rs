//! ListOffsets: a partition's first and next offset, or the offset of a time.

use super::Client;
use super::error::Refusal;
use rawline_broker::Partition;
use rawline_kafka::ErrorCode;
use rawline_kafka::messages::{
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopicResponse,
};

/// Stands for the offset after the last record.
const LATEST: i64 = -1;
/// Stand for the first record, and for the first on local disk, which is the same.
const EARLIEST: [i64; 2] = [-2, -4];
/// Stands for the record with the greatest time.
const MAX_TIMESTAMP: i64 = -3;
/// Stands for the last record in other storage.
const LATEST_TIERED: i64 = -5;

/// Where a time is found: the offset, and a time if one is known, in milliseconds since the Unix epoch.
struct At {
    offset: i64,
    timestamp_ms: i64,
}

pub(super) async fn respond(client: &Client, request: ListOffsetsRequest) -> ListOffsetsResponse {
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in topic.partitions {
            let found = find(client, &topic.name, partition.partition_index, partition.timestamp).await;
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
            leader_epoch: 0,
            ..ListOffsetsPartitionResponse::default()
        },
        Err(Refusal { code, .. }) => ListOffsetsPartitionResponse {
            partition_index,
            error_code: code.into(),
            ..ListOffsetsPartitionResponse::default()
        },
    }
}

async fn find(client: &Client, topic: &str, partition: i32, timestamp: i64) -> Result<At, Refusal> {
    let partition = super::produce::partition(client, topic, partition).await?;
    let offsets = partition.offsets();
    let at = |offset: u64| At { offset: offset as i64, timestamp_ms: -1 };
    match timestamp {
        LATEST => Ok(at(offsets.end)),
        _ if EARLIEST.contains(&timestamp) => Ok(at(offsets.start)),
        // The newest, as far as clocks agree.
        MAX_TIMESTAMP if offsets.is_empty() => Ok(At { offset: -1, timestamp_ms: -1 }),
        MAX_TIMESTAMP => Ok(at(offsets.end - 1)),
        LATEST_TIERED => Ok(At { offset: -1, timestamp_ms: -1 }),
        time_ms => at_time(&partition, time_ms).await,
    }
}

/// The first record that was appended at this time or later.
async fn at_time(partition: &Partition, time_ms: i64) -> Result<At, Refusal> {
    let Ok(time_us) = u64::try_from(time_ms).map(|ms| ms.saturating_mul(1000)) else {
        return Err(Refusal::new(ErrorCode::InvalidRequest, format!("{time_ms} is no time")));
    };
    let offset = partition.offset_at(time_us).await?;
    let is_there = offset < partition.offsets().end;
    Ok(if is_there { At { offset: offset as i64, timestamp_ms: time_ms } } else { At { offset: -1, timestamp_ms: -1 } })
}
