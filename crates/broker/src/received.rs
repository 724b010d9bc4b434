//! Batches as a request brought them, all checked.

use bytes::Bytes;
use rawline_batch::{BatchError, BatchMeta, Checker};

/// Batches as a request brought them, all checked.
#[derive(Debug)]
pub struct Received {
    pub(crate) parts: Vec<Bytes>,
    pub(crate) batches: Vec<BatchMeta>,
    bytes: u64,
    records: u64,
}

impl Received {
    /// Ends the check of the bytes that are `parts`, in order; `checker` has seen just these.
    pub fn new(parts: Vec<Bytes>, checker: Checker) -> Result<Received, BatchError> {
        let batches = checker.finish()?;
        let bytes = batches.iter().map(|batch| u64::from(batch.bytes)).sum();
        let records = batches.iter().map(|batch| u64::from(batch.records)).sum();
        let parts_bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        assert_eq!(bytes, parts_bytes, "the checker has seen other bytes than it is handed in with");
        Ok(Received { parts, batches, bytes, records })
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Length of the batches in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
