//! The changes that an object records: control records, then markers and appends.

use crate::control::Control;
use crate::partition_id::PartitionId;
use crate::producers::{Content, Producer};
use crate::transactions::TransactionPart;
use std::ops::Range;
use std::sync::Arc;

/// One append as an object's index describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// Its partition.
    pub partition: PartitionId,
    /// Offset of its first record.
    pub first_offset: u64,
    /// Its records.
    pub content: Content,
    /// Its producer, in an exactly-once append.
    pub producer: Option<Producer>,
    /// Its role in a transaction of its producer. A marker isn't an append: a control record causes it.
    pub transaction: Option<TransactionPart>,
}

impl Entry {
    /// Offset after its last record.
    pub fn next_offset(&self) -> u64 {
        self.first_offset + u64::from(self.content.records)
    }

    /// Whether it is a marker.
    pub fn is_marker(&self) -> bool {
        self.transaction.is_some_and(TransactionPart::is_marker)
    }

    pub(crate) fn offsets(&self) -> Range<u64> {
        self.first_offset..self.next_offset()
    }
}

/// The changes of an object if it is valid: first its control records, then its markers and appends, each in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Changes {
    /// When the object was built, by its writer's clock: microseconds since the Unix epoch.
    pub appended_us: u64,
    /// Changes of topics, steps of merges, new instances of producers.
    pub controls: Arc<[Control]>,
    /// Appends.
    pub entries: Arc<[Entry]>,
}
