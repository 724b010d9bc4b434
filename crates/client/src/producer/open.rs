//! A batch in which records are collected.

use super::config::ProducerConfig;
use super::outgoing::{BatchKind, Outgoing};
use super::receipt::Delivery;
use crate::error::ClientError;
use crate::limits::ALIGNMENT;
use bytes::Bytes;
use rawline_batch::record_batch::{RECORD_BATCH_HEADER_BYTES, RecordBatchBuilder, RecordProducer};
use rawline_batch::{Batch, Builder, BuilderFull, Codec, HEADER_BYTES, Limits, seal_numbered};
use rawline_contract::ProducerInstance;
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
    /// For a Kafka batch.
    Messages(Box<RecordBatchBuilder>),
}

impl Open {
    pub(super) fn new(kind: BatchKind, codec: Codec, limits: Limits) -> Self {
        match (kind, codec) {
            (BatchKind::Kafka, codec) => Open::Messages(Box::new(RecordBatchBuilder::new(codec.into(), limits))),
            (BatchKind::Rawline, Codec::None) => Open::Plain { sizes: Vec::new(), data: Vec::new() },
            (BatchKind::Rawline, codec) => Open::Packed(Box::new(Builder::new(codec, limits))),
        }
    }

    /// The kind of its batch.
    pub(super) fn kind(&self) -> BatchKind {
        match self {
            Open::Plain { .. } | Open::Packed(_) => BatchKind::Rawline,
            Open::Messages(_) => BatchKind::Kafka,
        }
    }

    pub(super) fn records(&self) -> u32 {
        match self {
            Open::Plain { sizes, .. } => sizes.len() as u32,
            Open::Packed(builder) => builder.records(),
            Open::Messages(builder) => builder.records(),
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
            Open::Messages(builder) => builder.bytes() as usize - RECORD_BATCH_HEADER_BYTES,
        }
    }

    /// Whether the record fits this batch, according to the settings and the limits of a batch.
    pub(super) fn fits(&self, record: Outgoing<'_>, config: &ProducerConfig, limits: &Limits) -> bool {
        if self.is_empty() {
            return true;
        }
        if self.kind() != record.kind() || self.records() >= config.batch_records_max {
            return false;
        }
        let sizes_bytes = if self.kind() == BatchKind::Kafka { 0 } else { self.records() as u64 * 4 };
        let batch_bytes = record.batch_bytes() + sizes_bytes + self.data_bytes() as u64;
        self.data_bytes() as u64 + record.raw_bytes() <= config.batch_bytes as u64
            && batch_bytes <= u64::from(limits.batch_bytes_max)
    }

    /// Asserts that its records cost as much as was counted.
    pub(super) fn check_cost(&self, held_bytes: usize) {
        let room = match self {
            // Padding counts as room in a batch that will be compressed.
            Open::Plain { .. } | Open::Packed(_) => held_bytes..held_bytes + ALIGNMENT,
            // The maximum size of messages was counted.
            Open::Messages(_) => 0..held_bytes + 1,
        };
        let sizes_bytes = if self.kind() == BatchKind::Kafka { 0 } else { self.records() as usize * 4 };
        let bytes = self.data_bytes() + sizes_bytes;
        assert!(room.contains(&bytes), "{held_bytes} bytes held, {bytes} in the batch");
    }

    /// Adds a record that fits, and returns its index.
    pub(super) fn push(&mut self, record: Outgoing<'_>) -> Result<u32, ClientError> {
        let index = self.records();
        let pushed = match (self, record) {
            (Open::Plain { sizes, data }, Outgoing::Plain(record)) => {
                debug_assert!(data.len() + record.len() <= u32::MAX as usize, "{} and {}", data.len(), record.len());
                sizes.push(record.len() as u32);
                data.extend_from_slice(record);
                Ok(())
            }
            (Open::Packed(builder), Outgoing::Plain(record)) => builder.push(record),
            (Open::Messages(builder), Outgoing::Message { message, timestamp_ms }) => {
                let headers = message.headers.iter().map(|(name, value)| (name.as_bytes(), *value));
                builder.push(timestamp_ms, message.key, message.value, headers)
            }
            (open, record) => unreachable!("{:?} of another kind than {:?}", record.kind(), open.kind()),
        };
        let too_large = |full: BuilderFull| ClientError::Config { reason: format!("{full}; make batch_bytes smaller") };
        pushed.map(|()| index).map_err(too_large)
    }

    /// Returns the pieces of the batch, with its time of creation and its producer's number, and starts the next batch.
    pub(super) fn seal(
        &mut self,
        created_us: u64,
        instance: ProducerInstance,
        sequence: u64,
        limits: &Limits,
    ) -> Result<Vec<Bytes>, ClientError> {
        let producer_id = instance.producer_id;
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
            Open::Messages(builder) => {
                let batch = builder.finish(record_producer(instance, sequence)?)?;
                Ok(vec![Bytes::copy_from_slice(batch)])
            }
        }
    }
}

/// A producer's instance as Kafka's batches name it; none without an id. Their fields are signed.
fn record_producer(instance: ProducerInstance, sequence: u64) -> Result<Option<RecordProducer>, ClientError> {
    let ProducerInstance { producer_id: id, producer_epoch: epoch } = instance;
    if i64::try_from(id).is_err() || i16::try_from(epoch).is_err() {
        let reason = format!(
            "the producer's id {id} with epoch {epoch}, which an older broker gave its name, is too large for records \
             with keys, headers or times; use another name"
        );
        return Err(ClientError::Config { reason });
    }
    let Ok(base_sequence) = u32::try_from(sequence) else { unreachable!("sequence {sequence} in a Kafka batch") };
    Ok((id > 0).then_some(RecordProducer { id, epoch, base_sequence }))
}
