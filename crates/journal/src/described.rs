//! Descriptions of named producers, their transactions, and the producers of a partition, for administrators.

use crate::names::Named;
use crate::partition_id::PartitionId;
use crate::state::State;
use std::sync::Arc;

/// A named producer that can have transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionalProducer {
    /// Its name.
    pub name: Arc<str>,
    /// The name's id.
    pub id: u64,
    /// Epoch of the newest instance.
    pub epoch: u16,
    /// How long its transactions may take, in milliseconds.
    pub timeout_ms: u32,
    /// How far its newest transaction is.
    pub progress: TransactionProgress,
}

/// How far a producer's newest transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionProgress {
    /// This instance has had none, or the one before it took too long.
    None,
    /// It is open.
    Open {
        /// When it began by the journal's times, in microseconds since the Unix epoch.
        began_us: u64,
    },
    /// It was committed.
    Committed,
    /// It was aborted.
    Aborted,
}

/// A producer that a partition remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionProducer {
    /// Its id.
    pub id: u64,
    /// Epoch of the instance that appended last.
    pub epoch: u16,
    /// Its number for the newest record.
    pub newest_sequence: u64,
    /// Time of its last append by the journal's times, in microseconds since the Unix epoch.
    pub appended_us: u64,
    /// The first offset of its open transaction.
    pub transaction_from: Option<u64>,
}

impl State {
    /// The producers that can have transactions, in order of id.
    pub fn transactional_producers(&self) -> impl Iterator<Item = TransactionalProducer> {
        self.names.iter().filter_map(|(id, named)| self.transactional(id, named))
    }

    /// The producer with this name, if it can have transactions.
    pub fn transactional_producer(&self, name: &str) -> Option<TransactionalProducer> {
        let (id, named) = self.names.named(name)?;
        self.transactional(id, named)
    }

    /// The newest instance of each named producer: its name, id and epoch.
    pub fn instances(&self) -> impl Iterator<Item = (&Arc<str>, u64, u16)> {
        self.names.iter().map(|(id, named)| (&named.name, id, named.epoch))
    }

    /// Whether a named producer has this id.
    pub fn has_producer(&self, id: u64) -> bool {
        self.names.get(id).is_some()
    }

    /// The partitions of a producer's open transaction.
    pub fn partitions_of_transaction(&self, id: u64) -> impl Iterator<Item = PartitionId> {
        self.transactions.open.get(&id).into_iter().flat_map(|open| open.partitions.keys().copied())
    }

    /// The producers that a partition remembers, in order of id.
    pub fn partition_producers(&self, partition: PartitionId) -> Vec<PartitionProducer> {
        let Some(partition) = self.partitions.get(&partition) else { return Vec::new() };
        let all = partition.producers().0.iter().filter_map(|(id, history)| {
            let newest = history.stored.back()?;
            let mut open = partition.transactions().open.iter().filter(|(_, producer)| *producer == id);
            Some(PartitionProducer {
                id: *id,
                epoch: history.epoch,
                newest_sequence: newest.sequence + u64::from(newest.content.records) - 1,
                appended_us: self.times.at_age(history.appended_us),
                transaction_from: open.next().map(|(first, _)| *first),
            })
        });
        all.collect()
    }

    fn transactional(&self, id: u64, named: &Named) -> Option<TransactionalProducer> {
        let Named { name, epoch, timeout_ms, ended, .. } = named;
        let progress = match (self.transactions.open.get(&id), ended) {
            (Some(open), _) => TransactionProgress::Open { began_us: self.times.at_age(open.began_us) },
            (None, Some(ended)) if ended.is_committed => TransactionProgress::Committed,
            (None, Some(_)) => TransactionProgress::Aborted,
            (None, None) => TransactionProgress::None,
        };
        let (name, epoch, timeout_ms) = (name.clone(), *epoch, *timeout_ms);
        (timeout_ms > 0).then_some(TransactionalProducer { name, id, epoch, timeout_ms, progress })
    }
}
