//! DescribeProducers: the producers of partitions, and the beginnings of their open transactions.

use super::many::TOPICS_MAX;
use crate::kafka::building::Building;
use crate::kafka::client::Client;
use crate::kafka::error::{ConnectionError, Refusal};
use crate::kafka::lookup::partition;
use rawline_broker::{Kind, PartitionProducer};
use rawline_kafka::messages::{
    DescribeProducersPartitionResponse, DescribeProducersRequest, DescribeProducersResponse,
    DescribeProducersTopicResponse, ProducerState,
};
use rawline_kafka::{Api, ErrorCode};

/// Maximum number of producers in a response: those of a hundred partitions that have as many as they remember.
const PRODUCERS_MAX: usize = 100_000;

/// As in Kafka, without the marker of a coordinator.
const COORDINATOR_EPOCH: i32 = -1;

pub(super) async fn describe(
    client: &Client,
    request: DescribeProducersRequest,
    building: &mut Building<'_>,
) -> Result<DescribeProducersResponse, ConnectionError> {
    let partitions = request.topics.iter().map(|topic| topic.partition_indexes.len()).sum::<usize>();
    if partitions.max(request.topics.len()) > TOPICS_MAX {
        return Err(ConnectionError::Topics { limit: TOPICS_MAX });
    }
    building.begin(usize::MAX).await;
    let (mut topics, mut left) = (Vec::with_capacity(request.topics.len()), PRODUCERS_MAX);
    for topic in request.topics {
        let mut described = Vec::with_capacity(topic.partition_indexes.len());
        for number in topic.partition_indexes {
            let found = of_partition(client, &topic.name, number, left).await;
            left -= found.as_ref().map_or(0, Vec::len);
            described.push(response(number, found));
        }
        topics.push(DescribeProducersTopicResponse { name: topic.name, partitions: described });
    }
    Ok(DescribeProducersResponse { topics, ..DescribeProducersResponse::default() })
}

async fn of_partition(
    client: &Client,
    topic: &str,
    number: i32,
    producers_max: usize,
) -> Result<Vec<PartitionProducer>, Refusal> {
    client.kafka.broker.see_ends([topic]).await?;
    let found = partition(client, Api::DescribeProducers, topic, number).await?.producers().await.map_err(|error| {
        let code = match error.kind {
            Kind::TellHuman => ErrorCode::KafkaStorageError,
            _ => ErrorCode::NotLeaderOrFollower,
        };
        Refusal::new(code, error.to_string())
    })?;
    if found.len() > producers_max {
        let message = format!("the response would have more than {PRODUCERS_MAX} producers; ask for fewer partitions");
        return Err(Refusal::new(ErrorCode::InvalidRequest, message));
    }
    Ok(found)
}

fn response(number: i32, found: Result<Vec<PartitionProducer>, Refusal>) -> DescribeProducersPartitionResponse {
    let (producers, code, error_message) = match found {
        Ok(producers) => (producers, ErrorCode::None, None),
        Err(Refusal { code, message }) => (Vec::new(), code, Some(message)),
    };
    DescribeProducersPartitionResponse {
        partition_index: number,
        error_code: code.into(),
        error_message,
        active_producers: producers.into_iter().map(state).collect(),
    }
}

fn state(producer: PartitionProducer) -> ProducerState {
    let PartitionProducer { id, epoch, newest_sequence, appended_us, transaction_from } = producer;
    ProducerState {
        producer_id: id as i64,
        producer_epoch: epoch.into(),
        // Those of our batches don't wrap.
        last_sequence: (newest_sequence % (1 << 31)) as i32,
        last_timestamp: (appended_us / 1000) as i64,
        coordinator_epoch: COORDINATOR_EPOCH,
        current_txn_start_offset: transaction_from.map_or(-1, |offset| offset as i64),
    }
}
