//! What administrators see of transactions: named producers that can have some, and the producers of a partition.

use super::Broker;
use crate::partition::Partition;
use crate::store_error::StoreError;
use crate::transaction_error::TransactionError;
use rawline_groups::compile;
use rawline_journal::{PartitionProducer, TransactionProgress, TransactionalProducer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Partitions by the names of their topics.
pub type NamedPartitions = BTreeMap<Arc<str>, Vec<u32>>;

impl Broker {
    /// The producers that can have transactions, as far as they are wanted: those whose whole name matches a regular
    /// expression, and whose transaction has been open for longer than this.
    pub async fn transactional_producers(
        &self,
        name_regex: Option<&str>,
        open_for: Option<Duration>,
        is_wanted: impl Fn(&TransactionalProducer) -> bool + Send + 'static,
    ) -> Result<Vec<TransactionalProducer>, TransactionError> {
        let regex = name_regex.map(compile).transpose();
        let regex = regex.map_err(|error| TransactionError::Regex { reason: error.to_string() })?;
        // Several journals have no named producers.
        let [journal] = self.journals.all() else { return Ok(Vec::new()) };
        let now_us = self.shared.clock.now_us();
        let is_long = move |progress| match (open_for, progress) {
            (None, _) => true,
            (Some(least), TransactionProgress::Open { began_us }) => {
                u128::from(now_us.saturating_sub(began_us)) > least.as_micros()
            }
            (Some(_), _) => false,
        };
        let is_wanted = move |one: &TransactionalProducer| is_long(one.progress) && is_wanted(one);
        let found = journal.look(move |state| state.transactional_producers().filter(is_wanted).collect());
        let mut found: Vec<TransactionalProducer> = found.await?;
        found.retain(|producer| regex.as_ref().is_none_or(|regex| regex.is_match(&producer.name)));
        Ok(found)
    }

    /// The producer with this name, and where its open transaction writes; `None` if it can't have transactions, or if
    /// it was never opened.
    pub async fn transactional_producer(
        &self,
        name: &str,
    ) -> Result<Option<(TransactionalProducer, NamedPartitions)>, TransactionError> {
        let [journal] = self.journals.all() else { return Ok(None) };
        let name = name.to_owned();
        let found = journal.look(move |state| {
            let producer = state.transactional_producer(&name)?;
            let partitions: Vec<_> = state.partitions_of_transaction(producer.id).collect();
            Some((producer, partitions))
        });
        let Some((producer, partitions)) = found.await? else { return Ok(None) };
        let mut named = NamedPartitions::new();
        for partition in partitions {
            // A topic that has been deleted since has no transactions.
            if let Some(topic) = journal.topic(partition.topic) {
                named.entry(topic.name.clone()).or_default().push(partition.number);
            }
        }
        Ok(Some((producer, named)))
    }
}

impl Partition {
    /// The producers that it remembers.
    pub async fn producers(&self) -> Result<Vec<PartitionProducer>, StoreError> {
        let partition = self.id();
        let found = self.journal().look(move |state| state.partition_producers(partition)).await;
        Ok(found?)
    }
}
