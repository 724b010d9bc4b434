//! Which stored batches belong to aborted transactions.

use rawline_batch::record_batch::RecordBatchHeader;
use rawline_journal::Aborted;
use std::collections::BTreeMap;

/// Aborted transactions, to tell whether a batch belongs to one.
#[derive(Debug, Default)]
pub(crate) struct AbortedRecords(BTreeMap<(u64, u64), u64>);

impl AbortedRecords {
    pub fn new<'a>(aborted: impl Iterator<Item = &'a Aborted>) -> AbortedRecords {
        AbortedRecords(aborted.map(|found| ((found.producer, found.first_offset), found.last_offset)).collect())
    }

    /// Whether the records of a stored batch were aborted.
    pub fn have(&self, header: &RecordBatchHeader) -> bool {
        let (Some(producer), Ok(offset)) = (header.producer, u64::try_from(header.base_offset)) else { return false };
        let before = self.0.range((producer.id, 0)..=(producer.id, offset)).next_back();
        header.is_transactional && before.is_some_and(|(_, last_offset)| offset < *last_offset)
    }
}
