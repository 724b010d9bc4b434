//! The batches of one request, checked.

use crate::pool::take_front;
use bytes::Bytes;
use rawline_batch::record_batch::{
    CheckedRecordBatch, RECORD_BATCH_HEADER_BYTES, RecordBatchHeader, RecordError, RecordProducer, Records, unpack,
};
use rawline_batch::{BatchError, BatchMeta, Checker};
use rawline_journal::{Batch, BatchKind, Content, Producer, content_checksum};
use std::collections::VecDeque;
use thiserror::Error;

/// The batches of one request, all of them checked.
#[derive(Debug)]
pub struct Received {
    pub(crate) parts: Vec<Bytes>,
    pub(crate) batches: Checked,
    bytes: u64,
    records: u64,
    pub(crate) producer: Option<Producer>,
    /// Whether its records belong to a transaction of the producer.
    pub(crate) is_transactional: bool,
}

/// Consecutive batches of one kind in a request.
#[derive(Debug)]
pub(crate) enum Checked {
    /// As `docs/format.md` specifies them.
    Rawline(Vec<BatchMeta>),
    /// Kafka's.
    Kafka(Vec<CheckedRecordBatch>),
}

impl Checked {
    pub fn len(&self) -> usize {
        match self {
            Checked::Rawline(batches) => batches.len(),
            Checked::Kafka(batches) => batches.len(),
        }
    }

    pub fn kind(&self) -> BatchKind {
        match self {
            Checked::Rawline(_) => BatchKind::Rawline,
            Checked::Kafka(_) => BatchKind::Kafka,
        }
    }
}

/// A Kafka batch, without the fields of its append.
pub(crate) fn describe_header(header: &RecordBatchHeader) -> Batch {
    // -1 stands for none.
    let max_timestamp_ms = u64::try_from(header.max_timestamp_ms).unwrap_or_default();
    Batch {
        kind: BatchKind::Kafka,
        records: header.offsets,
        bytes: header.batch_bytes,
        crc32c: header.crc32c,
        continues: false,
        producer: None,
        max_timestamp_us: max_timestamp_ms.saturating_mul(1000),
        transaction: None,
    }
}

/// Why the producer of batches can't be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProducerError {
    /// Its id is 0.
    #[error("batch {batch} has no producer id; number the batches, or don't ask for an exactly-once append")]
    Missing {
        /// Number of the batch in the request, from 0.
        batch: usize,
    },
    /// Another producer, or records are missing.
    #[error(
        "batch {batch} doesn't continue the one before it: it has producer {producer_id} and sequence {sequence}, \
         which should be {expected_id} and {expected}; send one producer's batches in order"
    )]
    Mixed {
        /// Number of the batch in the request, from 0.
        batch: usize,
        /// Its producer.
        producer_id: u64,
        /// Its sequence.
        sequence: u64,
        /// The producer of the batch before it.
        expected_id: u64,
        /// The sequence after the batch before it.
        expected: u64,
    },
    /// The same of Kafka's batches.
    #[error(
        "batch {batch} doesn't continue its producer's batch before it; send one producer's batches in order, or each \
         in a request of its own"
    )]
    NotConsecutive {
        /// Number of the batch in the request, from 0.
        batch: usize,
    },
    /// Batches of a transaction that can't be.
    #[error(
        "the records of a transaction come from a producer with an id, in one batch for each partition; send them so"
    )]
    Transaction,
    /// The request names an epoch, and so do Kafka's batches.
    #[error("Kafka's batches name their producer's epoch themselves; leave producer-epoch out")]
    NamesEpoch,
    /// No number is left for the last record.
    #[error("sequence {sequence} is too large for {records} records; begin again with another producer id")]
    End {
        /// The sequence of the first batch.
        sequence: u64,
        /// Number of records.
        records: u64,
    },
}

impl Received {
    /// Ends the check of the bytes in `parts`; `checker` has seen exactly these, in order.
    pub fn new(parts: Vec<Bytes>, checker: Checker) -> Result<Received, BatchError> {
        let batches = checker.finish()?;
        let (mut bytes, mut records) = (0, 0);
        for batch in &batches {
            assert_eq!(batch.position, bytes, "a batch doesn't follow the {records} records before it");
            bytes += u64::from(batch.bytes);
            records += u64::from(batch.records);
        }
        Ok(Received::of(parts, Checked::Rawline(batches), bytes, records, None))
    }

    /// The newest time of a record of Kafka's batches, in milliseconds since the Unix epoch.
    pub(crate) fn newest_ms(&self) -> Option<i64> {
        match &self.batches {
            Checked::Rawline(_) => None,
            Checked::Kafka(batches) => batches.iter().map(|batch| batch.header.max_timestamp_ms).max(),
        }
    }

    /// Size of the largest batch in bytes.
    pub(crate) fn largest_batch_bytes(&self) -> u64 {
        let largest = match &self.batches {
            Checked::Rawline(batches) => batches.iter().map(|batch| batch.bytes).max(),
            Checked::Kafka(batches) => batches.iter().map(|batch| batch.header.batch_bytes).max(),
        };
        largest.map_or(0, u64::from)
    }

    /// Kafka's batches, whose bytes are exactly `parts`. Those of a producer with an id are appended exactly once.
    pub fn of_record_batches(parts: Vec<Bytes>, batches: Vec<CheckedRecordBatch>) -> Result<Received, ProducerError> {
        let (mut bytes, mut records) = (0, 0);
        let producer = batches.first().and_then(|first| first.header.producer);
        let mut expected = producer;
        for (number, CheckedRecordBatch { position, header }) in batches.iter().enumerate() {
            assert_eq!(*position, bytes, "a batch doesn't follow the {records} records before it");
            bytes += u64::from(header.batch_bytes);
            records += u64::from(header.records);
            if header.producer != expected {
                return Err(ProducerError::NotConsecutive { batch: number });
            }
            expected = expected.map(|producer| producer.after(header.records));
        }
        let is_transactional = batches.iter().any(|batch| batch.header.is_transactional);
        if is_transactional && (producer.is_none() || batches.len() > 1) {
            return Err(ProducerError::Transaction);
        }
        let producer = producer.map(|RecordProducer { id, epoch, base_sequence }| Producer {
            id,
            epoch,
            sequence: u64::from(base_sequence),
            wraps: true,
        });
        Ok(Received { is_transactional, ..Received::of(parts, Checked::Kafka(batches), bytes, records, producer) })
    }

    fn of(parts: Vec<Bytes>, batches: Checked, bytes: u64, records: u64, producer: Option<Producer>) -> Received {
        assert!(records >= batches.len() as u64, "{records} records in {} batches", batches.len());
        let parts_bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        assert_eq!(bytes, parts_bytes, "the checker has seen other bytes than these parts");
        Received { parts, batches, bytes, records, producer, is_transactional: false }
    }

    /// Asks for an exactly-once append: by the producer and the sequence in the batches' headers, which must be one
    /// producer's in order.
    pub fn exactly_once(self, epoch: u16) -> Result<Received, ProducerError> {
        let Checked::Rawline(batches) = &self.batches else { return Err(ProducerError::NamesEpoch) };
        let Some(first) = batches.first() else { unreachable!("batches were checked, and there are none") };
        let (id, sequence) = (first.producer_id, first.sequence);
        if id == 0 {
            return Err(ProducerError::Missing { batch: 0 });
        }
        let mut expected = Some(sequence);
        for (batch, meta) in batches.iter().enumerate() {
            let Some(next) = expected else { break };
            if (meta.producer_id, meta.sequence) != (id, next) {
                let BatchMeta { producer_id, sequence, .. } = *meta;
                return Err(ProducerError::Mixed { batch, producer_id, sequence, expected_id: id, expected: next });
            }
            expected = next.checked_add(u64::from(meta.records));
        }
        if expected.is_none() {
            return Err(ProducerError::End { sequence, records: self.records });
        }
        assert_eq!(expected, Some(sequence + self.records), "numbers of {} batches", batches.len());
        Ok(Received { producer: Some(Producer { id, epoch, sequence, wraps: false }), ..self })
    }

    /// Whether every record has a key. Our own batches have none. A batch may unpack to `raw_bytes_max` bytes.
    pub fn has_keys(&self, raw_bytes_max: u32) -> Result<bool, RecordError> {
        let Checked::Kafka(batches) = &self.batches else { return Ok(false) };
        let mut left: VecDeque<Bytes> = self.parts.iter().cloned().collect();
        let (mut whole, mut unpacked) = (Vec::new(), Vec::new());
        for CheckedRecordBatch { header, .. } in batches {
            let mut parts = Vec::new();
            take_front(&mut left, header.batch_bytes as usize, &mut parts);
            whole.clear();
            parts.iter().for_each(|part| whole.extend_from_slice(part));
            let section = whole.split_at(RECORD_BATCH_HEADER_BYTES).1;
            for record in Records::new(header, unpack(header.codec, section, raw_bytes_max, &mut unpacked)?) {
                if record?.key.is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The value by which the journal recognizes a retry, if it has a producer. An append has fewer than 2^32
    /// records.
    pub(crate) fn content(&self, has_producer: bool) -> Content {
        let Ok(records) = u32::try_from(self.records) else { unreachable!("{} records in one append", self.records) };
        let crc32c = match (&self.batches, has_producer) {
            (_, false) => 0,
            (Checked::Rawline(batches), true) => content_checksum(batches.iter().map(|batch| batch.crc32c)),
            // It doesn't cover the fields that the broker sets.
            (Checked::Kafka(batches), true) => {
                content_checksum(batches.iter().map(|batch| describe_header(&batch.header).content_crc32c()))
            }
        };
        Content { records, crc32c }
    }

    /// Size of the batches in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
