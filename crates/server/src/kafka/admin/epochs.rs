//! OffsetForLeaderEpoch: where the leaders' epochs ended. There is one epoch, which never ends: logs are not truncated.

use crate::kafka::client::Client;
use crate::kafka::error::Refusal;
use crate::kafka::lookup::partition;
use crate::kafka::metadata::EPOCH;
use rawline_broker::store::StoreError;
use rawline_kafka::messages::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
};
use rawline_kafka::{Api, ErrorCode};

pub(super) async fn respond(client: &Client, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse {
    let seen = client.kafka.broker.see_ends(request.topics.iter().map(|asked| &*asked.topic)).await;
    let mut topics = Vec::with_capacity(request.topics.len());
    for asked in request.topics {
        let mut partitions = Vec::with_capacity(asked.partitions.len());
        for partition in asked.partitions {
            partitions.push(of_partition(client, &asked.topic, &partition, &seen).await);
        }
        topics.push(OffsetForLeaderTopicResult { topic: asked.topic, partitions });
    }
    OffsetForLeaderEpochResponse { topics, ..OffsetForLeaderEpochResponse::default() }
}

async fn of_partition(
    client: &Client,
    topic: &str,
    asked: &OffsetForLeaderPartition,
    seen: &Result<(), StoreError>,
) -> EpochEndOffset {
    let partition = asked.partition;
    let found = match seen {
        Ok(()) => end_of(client, topic, asked).await,
        Err(error) => Err(error.clone().into()),
    };
    match found {
        Ok(Some(offset)) => {
            EpochEndOffset { partition, leader_epoch: EPOCH, end_offset: offset as i64, ..EpochEndOffset::default() }
        }
        Ok(None) => EpochEndOffset { partition, ..EpochEndOffset::default() },
        Err(Refusal { code, message }) => {
            tracing::debug!(topic, partition, message, "refused a Kafka client's request for an epoch");
            EpochEndOffset { partition, error_code: code.into(), ..EpochEndOffset::default() }
        }
    }
}

/// The offset after the epoch's last record; `None` if no leader has had the epoch.
async fn end_of(client: &Client, topic: &str, asked: &OffsetForLeaderPartition) -> Result<Option<u64>, Refusal> {
    check(asked.current_leader_epoch)?;
    let end = partition(client, Api::OffsetForLeaderEpoch, topic, asked.partition).await?.offsets().end;
    Ok((asked.leader_epoch == EPOCH).then_some(end))
}

/// Fails if a client knows a leader's epoch that never existed. A negative one means none.
pub(in crate::kafka) fn check(current_leader_epoch: i32) -> Result<(), Refusal> {
    if current_leader_epoch <= EPOCH {
        return Ok(());
    }
    let message = format!("the leader's epoch is {EPOCH}, and not {current_leader_epoch}; ask for metadata again");
    Err(Refusal::new(ErrorCode::UnknownLeaderEpoch, message))
}
