//! The batches of a response, of either kind, checked while their bytes arrive.

use crate::error::ClientError;
use rawline_batch::record_batch::{CheckedRecordBatch, RecordBatchChecker};
use rawline_batch::{BatchMeta, Checker, Limits};
use rawline_contract::MediaType;

/// Checks the bytes of a response, whose batches are of one kind.
pub(crate) enum Checking {
    Rawline(Checker),
    Kafka(RecordBatchChecker),
}

impl Checking {
    /// Begins before the first byte of a body of this media type. Bodies without a known type have our batches.
    pub(crate) fn new(media_type: Option<MediaType>, limits: Limits) -> Checking {
        match media_type {
            Some(MediaType::RecordBatch) => Checking::Kafka(RecordBatchChecker::stored(limits)),
            _ => Checking::Rawline(Checker::new(limits)),
        }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<(), ClientError> {
        match self {
            Checking::Rawline(checker) => Ok(checker.push(piece)?),
            Checking::Kafka(checker) => Ok(checker.push(piece)?),
        }
    }

    /// The batches, all of which are whole.
    pub(crate) fn finish(self) -> Result<Checked, ClientError> {
        Ok(match self {
            Checking::Rawline(checker) => Checked::Rawline(checker.finish()?),
            Checking::Kafka(checker) => Checked::Kafka(checker.finish()?),
        })
    }
}

/// Batches that were checked, by their kind, or records that a subscription's filter has selected.
#[derive(Debug)]
pub(crate) enum Checked {
    Rawline(Vec<BatchMeta>),
    Kafka(Vec<CheckedRecordBatch>),
    Selection(CheckedSelection),
}

/// Selected records, which fill their buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckedSelection {
    /// Number of records.
    pub(crate) records: u32,
    /// Length with their offsets and sizes, in bytes.
    pub(crate) bytes: u64,
    /// The time of their batch, in microseconds since the Unix epoch.
    pub(crate) time_us: u64,
}

impl Default for Checked {
    fn default() -> Self {
        Checked::Rawline(Vec::new())
    }
}

impl Checked {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Checked::Rawline(batches) => batches.is_empty(),
            Checked::Kafka(batches) => batches.is_empty(),
            Checked::Selection(selection) => selection.records == 0,
        }
    }

    /// Number of records. Of batches from which a compaction has removed records, the number of their offsets.
    pub(crate) fn records(&self) -> u64 {
        match self {
            Checked::Rawline(batches) => batches.iter().map(|batch| u64::from(batch.records)).sum(),
            Checked::Kafka(batches) => batches.iter().map(|batch| u64::from(batch.header.offsets)).sum(),
            Checked::Selection(selection) => u64::from(selection.records),
        }
    }

    /// Number of bytes, if each batch begins where the one before it ends.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let follow = |end, (position, bytes)| (position == end).then(|| end + u64::from(bytes));
        match self {
            Checked::Rawline(batches) => batches.iter().map(|batch| (batch.position, batch.bytes)).try_fold(0, follow),
            Checked::Kafka(batches) => {
                batches.iter().map(|batch| (batch.position, batch.header.batch_bytes)).try_fold(0, follow)
            }
            Checked::Selection(selection) => Some(selection.bytes),
        }
    }

    /// The offset that a Kafka batch says it has, and the one that it has in a response that begins at
    /// `first_offset`: of the first batch where they differ.
    pub(crate) fn misplaced(&self, first_offset: u64) -> Option<(i64, u64)> {
        let Checked::Kafka(batches) = self else { return None };
        let mut offset = first_offset;
        batches.iter().find_map(|CheckedRecordBatch { header, .. }| {
            let expected = offset;
            offset = offset.saturating_add(u64::from(header.offsets));
            (u64::try_from(header.base_offset) != Ok(expected)).then_some((header.base_offset, expected))
        })
    }
}
