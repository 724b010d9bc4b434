//! The complete batches of one partition, which are sent in order.

use super::config::ProducerConfig;
use super::outgoing::BatchKind;
use super::receipt::Delivery;
use crate::limits::REMEMBERED_MAX;
use bytes::Bytes;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The complete batches for one partition.
#[derive(Default)]
pub(super) struct Lane {
    /// The sequence after the last record that was sealed.
    pub(super) next_sequence: u64,
    pub(super) sealed: VecDeque<SealedBatch>,
    /// Number of requests so far.
    requests: u64,
    /// The numbers of those in flight.
    in_flight: BTreeSet<u64>,
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
    /// Whether a request can begin. The first one is alone: a broker that doesn't know the producer takes whatever
    /// arrives first as the beginning of its sequence. Others wait for one that is sent again while the broker can
    /// still tell that it was stored.
    pub(super) fn has_capacity(&self, config: &ProducerConfig) -> bool {
        match self.in_flight.first() {
            Some(oldest) if config.exactly_once => {
                self.is_known
                    && self.in_flight.len() < config.in_flight_max
                    && self.requests - oldest < REMEMBERED_MAX.max(config.in_flight_max as u64)
            }
            _ => self.in_flight.len() < config.in_flight_max,
        }
    }

    /// Begins a request: its number.
    pub(super) fn begin(&mut self) -> u64 {
        let number = self.requests;
        self.requests += 1;
        self.in_flight.insert(number);
        number
    }

    /// A request has ended.
    pub(super) fn end(&mut self, number: u64) {
        assert!(self.in_flight.remove(&number), "request {number} is not in flight: {:?}", self.in_flight);
    }

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
