//! ListTransactions and DescribeTransactions: producers that can have transactions, and how far those are.

use super::many::Subjects;
use crate::kafka::building::Building;
use crate::kafka::client::Client;
use crate::kafka::error::{ConnectionError, Refusal, code_of_transaction};
use rawline_broker::{NamedPartitions, TransactionProgress, TransactionalProducer};
use rawline_kafka::messages::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, DescribedTransaction, DescribedTransactionTopic,
    ListTransactionsRequest, ListTransactionsResponse, ListedTransaction,
};
use rawline_kafka::{Api, ErrorCode};
use std::collections::BTreeSet;
use std::time::Duration;

/// The states of a transaction that Kafka knows. Those between open and ended never occur here.
const STATES: [&str; 8] = [
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
];

fn state(progress: TransactionProgress) -> &'static str {
    match progress {
        TransactionProgress::None => "Empty",
        TransactionProgress::Open { .. } => "Ongoing",
        TransactionProgress::Committed => "CompleteCommit",
        TransactionProgress::Aborted => "CompleteAbort",
    }
}

pub(super) async fn list(
    client: &Client,
    request: ListTransactionsRequest,
    building: &mut Building<'_>,
) -> ListTransactionsResponse {
    building.begin(usize::MAX).await;
    let (known, unknown): (Vec<_>, Vec<_>) =
        request.state_filters.into_iter().partition(|filter| STATES.contains(&filter.as_str()));
    let ids: BTreeSet<i64> = request.producer_id_filters.into_iter().collect();
    let open_for = u64::try_from(request.duration_filter).ok().map(Duration::from_millis);
    let caller = client.caller();
    let is_wanted = move |producer: &TransactionalProducer| {
        if caller.grants().producer(&producer.name).is_err() {
            return false;
        }
        let is_state = known.is_empty() || known.iter().any(|filter| filter == state(producer.progress));
        is_state && (ids.is_empty() || ids.contains(&(producer.id as i64)))
    };
    let regex = request.transactional_id_pattern.as_deref().filter(|pattern| !pattern.is_empty());
    let response = ListTransactionsResponse { unknown_state_filters: unknown, ..ListTransactionsResponse::default() };
    match client.kafka.broker.transactional_producers(regex, open_for, is_wanted).await {
        Ok(found) => ListTransactionsResponse { transaction_states: found.iter().map(listed).collect(), ..response },
        Err(error) => {
            tracing::debug!(%error, "transactions were not listed");
            ListTransactionsResponse { error_code: code_of_transaction(&error).into(), ..response }
        }
    }
}

fn listed(producer: &TransactionalProducer) -> ListedTransaction {
    ListedTransaction {
        transactional_id: producer.name.to_string(),
        producer_id: producer.id as i64,
        transaction_state: state(producer.progress).to_owned(),
    }
}

pub(super) async fn describe(
    client: &Client,
    request: DescribeTransactionsRequest,
    building: &mut Building<'_>,
) -> Result<DescribeTransactionsResponse, ConnectionError> {
    let mut names = request.transactional_ids;
    Subjects::of(names.iter())?;
    // Each has up to ten thousand partitions.
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    building.begin(usize::MAX).await;
    let mut transaction_states = Vec::with_capacity(names.len());
    for name in names {
        if let Err(Refusal { code, .. }) = client.may_be_producer(Api::DescribeTransactions, &name) {
            let (error_code, transactional_id) = (code.into(), name);
            transaction_states.push(DescribedTransaction { error_code, transactional_id, ..Default::default() });
            continue;
        }
        let found = match client.kafka.broker.transactional_producer(&name).await {
            Ok(None) if name.is_empty() => Err(ErrorCode::InvalidRequest),
            Ok(found) => found.ok_or(ErrorCode::TransactionalIdNotFound),
            Err(error) => Err(code_of_transaction(&error)),
        };
        transaction_states.push(match found {
            Ok((producer, partitions)) => described(&producer, partitions),
            Err(code) => DescribedTransaction {
                error_code: code.into(),
                transactional_id: name,
                ..DescribedTransaction::default()
            },
        });
    }
    Ok(DescribeTransactionsResponse { transaction_states, ..DescribeTransactionsResponse::default() })
}

fn described(producer: &TransactionalProducer, partitions: NamedPartitions) -> DescribedTransaction {
    let topics = partitions.into_iter().map(|(topic, numbers)| DescribedTransactionTopic {
        topic: topic.to_string(),
        partitions: numbers.into_iter().map(|number| number as i32).collect(),
    });
    let began_us = match producer.progress {
        TransactionProgress::Open { began_us } => Some(began_us),
        TransactionProgress::None | TransactionProgress::Committed | TransactionProgress::Aborted => None,
    };
    DescribedTransaction {
        error_code: ErrorCode::None.into(),
        transactional_id: producer.name.to_string(),
        transaction_state: state(producer.progress).to_owned(),
        transaction_timeout_ms: producer.timeout_ms as i32,
        transaction_start_time_ms: began_us.map_or(-1, |began_us| (began_us / 1000) as i64),
        producer_id: producer.id as i64,
        producer_epoch: producer.epoch as i16,
        topics: topics.collect(),
    }
}
