//! The complete batches of one partition, which are sent in order.

use super::outgoing::BatchKind;
use super::receipt::Delivery;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a producer has for one partition.
#[derive(Default)]
pub(super) struct Lane {
    /// The sequence after the last record that was sealed.
    pub(super) next_sequence: u64,
    pub(super) sealed: VecDeque<SealedBatch>,
    /// Number of requests in flight.
    pub(super) in_flight: usize,
    /// Whether a request was acknowledged.
    pub(super) is_known: bool,
}

pub(super) struct SealedBatch {
    pub(super) kind: BatchKind,
    /// The bytes of the batch, split anywhere.
    pub(super) pieces: Vec<Bytes>,
    pub(super) bytes: usize,
    pub(super) records: u32,
    /// The number of its first record.
    pub(super) sequence: u64,
    pub(super) held_bytes: usize,
    pub(super) delivery: Arc<Delivery>,
}

impl Lane {
    /// Takes the batches of the next request, of one kind, and of at most `bytes_max` bytes unless it is one batch. It
    /// ends where sequences wrap: the broker continues a request's sequence by the number of its records.
    pub(super) fn take(&mut self, bytes_max: usize) -> Vec<SealedBatch> {
        let mut bytes = 0;
        let mut taken: Vec<SealedBatch> = Vec::new();
        while let Some(batch) = self.sealed.front() {
            if let Some(first) = taken.first()
                && (bytes + batch.bytes > bytes_max || batch.kind != first.kind || batch.sequence < first.sequence)
            {
                break;
            }
            bytes += batch.bytes;
            taken.extend(self.sealed.pop_front());
        }
        let is_short = taken.len() <= 1 || bytes <= bytes_max;
        assert!(is_short, "a request of {} batches has {bytes} bytes", taken.len());
        taken
    }
}
