//! The settings of a producer.

use crate::error::ClientError;
use crate::limits::{BATCH_BYTES, BATCH_RECORDS_MAX, BUFFER_BYTES, REQUEST_BYTES_MAX};
use crate::retry::RetryPolicy;
use rawline_batch::{Codec, Limits};
use std::time::Duration;

/// The settings of a producer.
#[derive(Debug, Clone)]
pub struct ProducerConfig {
    /// Size of the records at which a batch is complete, before compression, in bytes. A larger record gets a separate
    /// batch.
    pub batch_bytes: usize,
    /// Maximum number of records in a batch.
    pub batch_records_max: u32,
    /// How long an incomplete batch waits for more records while nothing else is in flight to its partition. `None`
    /// needs no tuning: it waits only while records arrive fast enough to fill it within 5 ms.
    pub linger: Option<Duration>,
    /// Maximum size of the records held in memory, buffered or in flight, in bytes.
    /// [`Producer::send`](crate::Producer::send) waits while the buffer is full.
    pub buffer_bytes: usize,
    /// Maximum size of one request in bytes, in batches as sent. A larger batch is sent alone.
    pub request_bytes_max: usize,
    /// Maximum number of requests in flight to each partition. 1 preserves the order of the records of a partition;
    /// with more, requests can overtake each other, except if the appends are exactly once. Small ones are
    /// sent in order on one connection, unless it is full or slow. The broker recognizes the last five that it has
    /// stored: if the appends are exactly once and more than five are in flight when a connection breaks, the
    /// producer may stop.
    pub in_flight_max: usize,
    /// Compression of the batches' data. A batch that would grow is sent uncompressed.
    pub codec: Codec,
    /// How failed requests are retried before the producer stops. Retries preserve the order; see
    /// [`Producer`](crate::Producer) for duplicates.
    pub retries: RetryPolicy,
    /// Whether batches are numbered, so that retries store no duplicates.
    pub exactly_once: bool,
    /// The producer's name, of 1 to 200 bytes. A producer with a name replaces the previous one with this name, even in
    /// another process: see [`Producer`](crate::Producer). Needs a storage with one journal, and `exactly_once`.
    pub name: Option<String>,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        ProducerConfig {
            batch_bytes: BATCH_BYTES,
            batch_records_max: BATCH_RECORDS_MAX,
            linger: None,
            buffer_bytes: BUFFER_BYTES,
            request_bytes_max: REQUEST_BYTES_MAX,
            in_flight_max: 1,
            codec: Codec::None,
            retries: RetryPolicy::default(),
            exactly_once: true,
            name: None,
        }
    }
}

impl ProducerConfig {
    /// Checks that a producer can work with these settings, with a broker that has these limits.
    pub(super) fn check(&self, limits: &Limits) -> Result<(), ClientError> {
        let wrong = |reason: &str| Err(ClientError::Config { reason: reason.to_owned() });
        if self.batch_bytes == 0 || self.buffer_bytes == 0 || self.in_flight_max == 0 {
            return wrong("batch_bytes, buffer_bytes and in_flight_max must be at least 1");
        }
        if self.batch_records_max == 0 || self.batch_records_max > limits.records_max {
            return wrong(&format!("batch_records_max must be 1 to {}", limits.records_max));
        }
        if self.name.is_some() && !self.exactly_once {
            return wrong("a producer with a name appends exactly once: leave exactly_once on, or leave the name out");
        }
        let limit = limits.raw_bytes_max.min(limits.batch_bytes_max);
        if self.batch_bytes as u64 > u64::from(limit) {
            return wrong(&format!("batch_bytes must be at most {limit}, the maximum size of a batch"));
        }
        Ok(())
    }
}
