//! DeleteRecords: deletes the records of partitions before an offset.

use super::many::each;
use crate::kafka::client::Client;
use crate::kafka::error::Refusal;
use crate::kafka::lookup::partition;
use rawline_kafka::messages::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteRecordsTopic, DeleteRecordsTopicResult,
};
use rawline_kafka::{Api, ErrorCode};

/// Stands for the offset after the last record.
const ALL: i64 = -1;

pub(super) async fn delete(client: &Client, request: DeleteRecordsRequest) -> DeleteRecordsResponse {
    let topics = each(request.topics, |topic| of_topic(client, topic)).await;
    DeleteRecordsResponse { topics, ..DeleteRecordsResponse::default() }
}

async fn of_topic(client: &Client, topic: DeleteRecordsTopic) -> DeleteRecordsTopicResult {
    let DeleteRecordsTopic { name, partitions } = topic;
    let partitions = each(partitions, |partition| of_partition(client, &name, partition)).await;
    DeleteRecordsTopicResult { name, partitions }
}

async fn of_partition(client: &Client, topic: &str, wanted: DeleteRecordsPartition) -> DeleteRecordsPartitionResult {
    let partition_index = wanted.partition_index;
    match client.audited("topic.truncate", topic, trim(client, topic, wanted).await) {
        Ok(first_offset) => DeleteRecordsPartitionResult {
            partition_index,
            low_watermark: first_offset as i64,
            error_code: ErrorCode::None.into(),
        },
        Err(Refusal { code, message }) => {
            tracing::debug!(
                topic,
                partition = partition_index,
                message,
                "refused a Kafka client's deletion of records"
            );
            DeleteRecordsPartitionResult { partition_index, low_watermark: -1, error_code: code.into() }
        }
    }
}

/// Returns the partition's first offset.
async fn trim(client: &Client, topic: &str, wanted: DeleteRecordsPartition) -> Result<u64, Refusal> {
    let partition = partition(client, Api::DeleteRecords, topic, wanted.partition_index).await?;
    client.kafka.broker.see_ends([topic]).await?;
    let before = match wanted.offset {
        ALL => partition.offsets().end,
        offset => u64::try_from(offset)
            .map_err(|_| Refusal::new(ErrorCode::OffsetOutOfRange, format!("there is no offset {offset}")))?,
    };
    Ok(partition.trim(before).await?.first_offset)
}
