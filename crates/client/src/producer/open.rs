//! A batch in which records are collected.

use super::config::ProducerConfig;
use super::receipt::Delivery;
use crate::ClientError;
use bytes::Bytes;
use rawline_batch::{Batch, BatchError, Builder, Codec, HEADER_BYTES, Limits, seal_numbered};
use std::sync::Arc;
use tokio::time::Instant;

/// The batch in which a partition's records are collected.
pub(super) struct Collecting {
    pub(super) open: Open,
    /// Time at which it got its first record.
    pub(super) opened_at: Option<Instant>,
    /// Cost of its records.
    pub(super) held_bytes: usize,
    /// Its result.
    pub(super) delivery: Arc<Delivery>,
}

impl Collecting {
    pub(super) fn new(open: Open) -> Collecting {
        assert!(open.is_empty(), "{} records have no cost", open.records());
        Collecting { open, opened_at: None, held_bytes: 0, delivery: Arc::default() }
    }
}

/// The records of an open batch.
pub(super) enum Open {
    /// Not compressed: the collected data itself becomes a piece of the request.
    Plain {
        sizes: Vec<u32>,
        data: Vec<u8>,
    },
    Packed(Box<Builder>),
}

impl Open {
    pub(super) fn new(codec: Codec, limits: Limits) -> Self {
        match codec {
            Codec::None => Open::Plain { sizes: Vec::new(), data: Vec::new() },
            codec => Open::Packed(Box::new(Builder::new(codec, limits))),
        }
    }

    pub(super) fn records(&self) -> u32 {
        match self {
            Open::Plain { sizes, .. } => sizes.len() as u32,
            Open::Packed(builder) => builder.records(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records() == 0
    }

    pub(super) fn data_bytes(&self) -> usize {
        match self {
            Open::Plain { data, .. } => data.len(),
            // The batch's length includes the header, the sizes and up to 7 bytes of padding.
            Open::Packed(builder) => {
                let (bytes, other) = (builder.bytes() as usize, HEADER_BYTES + builder.records() as usize * 4);
                debug_assert!(bytes >= other, "a batch of {} records in {bytes} bytes", builder.records());
                bytes - other
            }
        }
    }

    /// Whether the record fits this batch, according to the settings and the limits of a batch.
    pub(super) fn fits(&self, record: &[u8], config: &ProducerConfig, limits: &Limits) -> bool {
        if self.is_empty() {
            return true;
        }
        let data_bytes = self.data_bytes() + record.len();
        let batch_bytes = HEADER_BYTES + self.records() as usize * 4 + 4 + data_bytes + 7;
        data_bytes <= config.batch_bytes
            && batch_bytes as u64 <= u64::from(limits.batch_bytes_max)
            && self.records() < config.batch_records_max
    }

    /// Adds a record that fits, and returns its index.
    pub(super) fn push(&mut self, record: &[u8]) -> Result<u32, ClientError> {
        let index = self.records();
        match self {
            Open::Plain { sizes, data } => {
                debug_assert!(data.len() + record.len() <= u32::MAX as usize, "{} and {}", data.len(), record.len());
                sizes.push(record.len() as u32);
                data.extend_from_slice(record);
            }
            Open::Packed(builder) => builder
                .push(record)
                .map_err(|full| ClientError::Config { reason: format!("{full}; make batch_bytes smaller") })?,
        }
        Ok(index)
    }

    /// Returns the pieces of the batch, with its time of creation and its producer's number, and starts the next batch.
    pub(super) fn seal(
        &mut self,
        created_us: u64,
        producer_id: u64,
        sequence: u64,
        limits: &Limits,
    ) -> Result<Vec<Bytes>, BatchError> {
        match self {
            Open::Plain { sizes, data } => {
                let sealed = seal_numbered(sizes, data, created_us, producer_id, sequence, limits)?;
                // The next batch will have about the same size.
                let capacity = data.len();
                let data = std::mem::replace(data, Vec::with_capacity(capacity));
                sizes.clear();
                Ok(vec![Bytes::from(sealed.front), Bytes::from(data), Bytes::from_static(sealed.padding)])
            }
            Open::Packed(builder) => {
                let mut out = Vec::new();
                builder.finish_into(created_us, producer_id, sequence, &mut out)?;
                debug_assert!(Batch::parse(&out, limits).is_ok(), "a batch of {} bytes can't be read", out.len());
                assert!(builder.is_empty(), "{} records are in this batch and in the next", builder.records());
                Ok(vec![Bytes::from(out)])
            }
        }
    }
}
