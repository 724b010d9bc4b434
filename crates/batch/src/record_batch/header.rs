//! The 61 bytes at the start of a RecordBatch.

use super::{RECORD_BATCH_HEADER_BYTES, RecordError};
use crate::{Codec, Crc32c, Kind, Limits};
use thiserror::Error;
use zerocopy::big_endian::{I16, I32, I64, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The length counts from here.
pub(super) const LENGTH_FROM: usize = 12;
/// The checksum covers every byte from here on.
pub(super) const CRC_FROM: usize = 21;
/// Positions of a batch's two times, each of 8 bytes.
pub(super) const BASE_TIMESTAMP_POSITION: usize = 27;
pub(super) const MAX_TIMESTAMP_POSITION: usize = 35;

const MAGIC: u8 = 2;
const CODEC_MASK: i16 = 0b111;
const TIME_OF_APPEND: i16 = 1 << 3;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;
const DELETE_HORIZON: i16 = 1 << 6;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct Raw {
    base_offset: I64,
    length: I32,
    leader_epoch: I32,
    magic: u8,
    crc32c: U32,
    attributes: I16,
    last_offset_delta: I32,
    base_timestamp: I64,
    max_timestamp: I64,
    producer_id: I64,
    producer_epoch: I16,
    base_sequence: I32,
    records: I32,
}

const _: () = assert!(size_of::<Raw>() == RECORD_BATCH_HEADER_BYTES);
const _: () = assert!(std::mem::offset_of!(Raw, leader_epoch) == LENGTH_FROM);
const _: () = assert!(std::mem::offset_of!(Raw, attributes) == CRC_FROM);
const _: () = assert!(std::mem::offset_of!(Raw, base_timestamp) == BASE_TIMESTAMP_POSITION);
const _: () = assert!(std::mem::offset_of!(Raw, max_timestamp) == MAX_TIMESTAMP_POSITION);

/// The sequence of batches of producers without an id, and of transaction markers.
const NO_SEQUENCE: i32 = -1;

/// Maximum size of a batch in bytes. Its length, which counts from [`LENGTH_FROM`], is an i32.
pub(super) const BATCH_BYTES_MAX: u32 = i32::MAX as u32;

/// Maximum number of offsets that a batch takes. That of the last, counted from the first, is an i32.
pub const OFFSETS_MAX: u32 = i32::MAX as u32 + 1;

/// How the records are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordCodec {
    /// Not at all.
    None = 0,
    /// gzip.
    Gzip = 1,
    /// Snappy, in the frames of Xerial's library or in none.
    Snappy = 2,
    /// LZ4 frames.
    Lz4 = 3,
    /// zstd.
    Zstd = 4,
}

impl From<Codec> for RecordCodec {
    fn from(codec: Codec) -> Self {
        match codec {
            Codec::None => RecordCodec::None,
            Codec::Lz4 => RecordCodec::Lz4,
            Codec::Zstd => RecordCodec::Zstd,
        }
    }
}

impl std::fmt::Display for RecordCodec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            RecordCodec::None => "none",
            RecordCodec::Gzip => "gzip",
            RecordCodec::Snappy => "snappy",
            RecordCodec::Lz4 => "lz4",
            RecordCodec::Zstd => "zstd",
        })
    }
}

/// The producer of a batch, for idempotent appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordProducer {
    /// The producer's id.
    pub id: u64,
    /// Its epoch.
    pub epoch: u16,
    /// The number of its first record in the partition; 0 follows 2^31 - 1. 0 in a control batch, which has none.
    pub base_sequence: u32,
}

impl RecordProducer {
    /// The same for the batch after one of these many records.
    pub fn after(self, records: u32) -> RecordProducer {
        let base_sequence = (u64::from(self.base_sequence) + u64::from(records)) % (1 << 31);
        RecordProducer { base_sequence: base_sequence as u32, ..self }
    }
}

/// A header's fields, without the leader's epoch. Whether the bytes after it agree with the checksum is for
/// [`super::RecordBatchChecker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordBatchHeader {
    /// Offset of the first record in a batch that is stored; a producer's value (usually 0) is ignored.
    pub base_offset: i64,
    /// Size of the whole batch in bytes.
    pub batch_bytes: u32,
    /// Number of records; 0 only in a compacted log.
    pub records: u32,
    /// Number of offsets that the batch takes, at least 1: as many as records, or more in a compacted log.
    pub offsets: u32,
    /// CRC32C of the bytes from 21 on.
    pub crc32c: u32,
    /// How the records are compressed.
    pub codec: RecordCodec,
    /// Whether it belongs to a transaction.
    pub is_transactional: bool,
    /// Whether it is a broker's marker in the log instead of records; never set by a producer.
    pub is_control: bool,
    /// Whether the time of all records is `max_timestamp_ms`, the time of append; never set by a producer.
    pub has_append_time: bool,
    /// Whether `base_timestamp_ms` is also the time from which on a compaction may remove the batch's tombstones.
    pub has_delete_horizon: bool,
    /// The base of the records' times, in milliseconds since the Unix epoch.
    pub base_timestamp_ms: i64,
    /// The greatest time of its records, in milliseconds since the Unix epoch; -1 if it has none.
    pub max_timestamp_ms: i64,
    /// Its producer, for idempotent appends; `None` for others.
    pub producer: Option<RecordProducer>,
}

/// Why bytes are not a RecordBatch that can be stored. Positions and lengths are in bytes, from the batch's first.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordBatchError {
    /// Fewer bytes than the header, or than its length.
    #[error("the batch is truncated: {have} of {need} bytes; send it whole")]
    Truncated {
        /// Bytes found.
        have: u64,
        /// Bytes that the header announces.
        need: u64,
    },
    /// No batch at all.
    #[error("there is no batch; send at least one")]
    Empty,
    /// An older or newer format.
    #[error("message format {found}; this broker stores format 2: use a client of Kafka 0.11 or later")]
    Magic {
        /// The batch's format.
        found: u8,
    },
    /// Shorter than a header.
    #[error("a batch can't have a length of {found}; send one that counts the bytes after it")]
    Length {
        /// The batch's length.
        found: i32,
    },
    /// More bytes than the broker accepts.
    #[error("the batch has {bytes} bytes and this broker accepts {limit}; send smaller batches")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u32,
    },
    /// More records than the broker accepts.
    #[error("the batch has {records} records and this broker accepts {limit}; send smaller batches")]
    TooManyRecords {
        /// Its number of records.
        records: u32,
        /// The limit.
        limit: u32,
    },
    /// A codec that doesn't exist.
    #[error("codec {found}; use 0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)")]
    Codec {
        /// The batch's codec.
        found: u8,
    },
    /// Only brokers write control batches.
    #[error("a producer can't send a control batch")]
    Control,
    /// Only brokers set the time of append.
    #[error("a producer can't send a batch with LogAppendTime; send CreateTime")]
    TimeOfAppend,
    /// The number of records and the offset of the last contradict each other.
    #[error("{records} records whose last has the offset delta {last_offset_delta}; it should be one less")]
    Records {
        /// The batch's number of records.
        records: i32,
        /// The batch's offset of the last record.
        last_offset_delta: i32,
    },
    /// A producer without an epoch or a sequence.
    #[error("producer {id} with epoch {epoch} and sequence {base_sequence}; none of them may be negative")]
    Producer {
        /// The batch's producer.
        id: i64,
        /// Its epoch.
        epoch: i16,
        /// Its sequence.
        base_sequence: i32,
    },
    /// More bytes than the batch's.
    #[error("{bytes} bytes follow the batch")]
    Trailing {
        /// How many.
        bytes: u64,
    },
    /// Not the first bytes of a stored batch, which the broker writes.
    #[error("the batch doesn't begin with offset {first_offset} and the epoch 0, as it was stored")]
    Stamp {
        /// Its first offset.
        first_offset: u64,
    },
    /// Records that no consumer could read.
    #[error("{0}")]
    Content(RecordError),
    /// Damaged in transit.
    #[error(
        "the checksum is {found:08x}, the bytes have {expected:08x}; they were damaged in transit: send them again"
    )]
    Checksum {
        /// The batch's checksum.
        found: u32,
        /// The checksum of its bytes.
        expected: u32,
    },
}

impl RecordBatchError {
    /// How a caller can handle it.
    pub fn kind(&self) -> Kind {
        match self {
            RecordBatchError::Checksum { .. } => Kind::TryAgain,
            _ => Kind::FixRequest,
        }
    }
}

impl RecordBatchHeader {
    /// A batch without records, codec or producer, at offset 0, whose times are `timestamp_ms`; the checksum is to be
    /// set.
    pub(super) fn plain(batch_bytes: u32, offsets: u32, timestamp_ms: i64) -> Self {
        RecordBatchHeader {
            base_offset: 0,
            batch_bytes,
            records: 0,
            offsets,
            crc32c: 0,
            codec: RecordCodec::None,
            is_transactional: false,
            is_control: false,
            has_append_time: false,
            has_delete_horizon: false,
            base_timestamp_ms: timestamp_ms,
            max_timestamp_ms: timestamp_ms,
            producer: None,
        }
    }

    /// Reads and checks the header of a batch that a producer sends. A header that passes describes a batch within
    /// `limits`.
    pub fn parse(
        bytes: &[u8; RECORD_BATCH_HEADER_BYTES],
        limits: &Limits,
    ) -> Result<RecordBatchHeader, RecordBatchError> {
        let header = RecordBatchHeader::parse_stored(bytes, limits)?;
        if header.is_control {
            return Err(RecordBatchError::Control);
        }
        if header.has_append_time {
            return Err(RecordBatchError::TimeOfAppend);
        }
        if header.records != header.offsets {
            let (records, last_offset_delta) = (header.records as i32, (header.offsets - 1) as i32);
            return Err(RecordBatchError::Records { records, last_offset_delta });
        }
        Ok(header)
    }

    /// As [`RecordBatchHeader::parse`], for a batch from a log: control batches and the time of append, which only
    /// brokers write, are accepted, and so are offsets without a record, from which a compaction has removed it.
    pub fn parse_stored(
        bytes: &[u8; RECORD_BATCH_HEADER_BYTES],
        limits: &Limits,
    ) -> Result<RecordBatchHeader, RecordBatchError> {
        let raw: Raw = zerocopy::transmute!(*bytes);
        // Older formats have their magic at the same place.
        if raw.magic != MAGIC {
            return Err(RecordBatchError::Magic { found: raw.magic });
        }
        let length = raw.length.get();
        let batch_bytes = i64::from(length) + LENGTH_FROM as i64;
        if batch_bytes < RECORD_BATCH_HEADER_BYTES as i64 {
            return Err(RecordBatchError::Length { found: length });
        }
        let batch_bytes = batch_bytes as u32;
        if batch_bytes > limits.batch_bytes_max {
            return Err(RecordBatchError::TooLarge { bytes: u64::from(batch_bytes), limit: limits.batch_bytes_max });
        }
        let attributes = raw.attributes.get();
        let codec = codec(attributes)?;
        let (count, last_offset_delta) = (raw.records.get(), raw.last_offset_delta.get());
        let is_sound = count >= 0 && last_offset_delta >= 0 && i64::from(count) <= i64::from(last_offset_delta) + 1;
        if !is_sound {
            return Err(RecordBatchError::Records { records: count, last_offset_delta });
        }
        let (records, offsets) = (count as u32, last_offset_delta as u32 + 1);
        if records > limits.records_max {
            return Err(RecordBatchError::TooManyRecords { records, limit: limits.records_max });
        }
        Ok(RecordBatchHeader {
            base_offset: raw.base_offset.get(),
            batch_bytes,
            records,
            offsets,
            crc32c: raw.crc32c.get(),
            codec,
            is_transactional: attributes & TRANSACTIONAL != 0,
            is_control: attributes & CONTROL != 0,
            has_append_time: attributes & TIME_OF_APPEND != 0,
            has_delete_horizon: attributes & DELETE_HORIZON != 0,
            base_timestamp_ms: raw.base_timestamp.get(),
            max_timestamp_ms: raw.max_timestamp.get(),
            producer: producer(&raw, attributes & CONTROL != 0)?,
        })
    }

    /// The header's bytes. The leader's epoch is 0.
    pub fn encode(&self) -> [u8; RECORD_BATCH_HEADER_BYTES] {
        let (length, records, offsets) = (self.batch_bytes - LENGTH_FROM as u32, self.records, self.offsets);
        assert!(i32::try_from(length).is_ok(), "no batch can be {self:?}");
        assert!((1..=OFFSETS_MAX).contains(&offsets) && records <= offsets, "no batch can be {self:?}");
        let (producer_id, producer_epoch, base_sequence) = match self.producer {
            Some(producer) if self.is_control => (producer.fields().0, producer.fields().1, NO_SEQUENCE),
            Some(producer) => producer.fields(),
            None => (-1, -1, -1),
        };
        let flag = |is_set: bool, bit: i16| if is_set { bit } else { 0 };
        let attributes = self.codec as i16
            | flag(self.has_append_time, TIME_OF_APPEND)
            | flag(self.is_transactional, TRANSACTIONAL)
            | flag(self.is_control, CONTROL)
            | flag(self.has_delete_horizon, DELETE_HORIZON);
        zerocopy::transmute!(Raw {
            base_offset: I64::new(self.base_offset),
            length: I32::new(length as i32),
            leader_epoch: I32::new(0),
            magic: MAGIC,
            crc32c: U32::new(self.crc32c),
            attributes: I16::new(attributes),
            last_offset_delta: I32::new((offsets - 1) as i32),
            base_timestamp: I64::new(self.base_timestamp_ms),
            max_timestamp: I64::new(self.max_timestamp_ms),
            producer_id: I64::new(producer_id),
            producer_epoch: I16::new(producer_epoch),
            base_sequence: I32::new(base_sequence),
            records: I32::new(records as i32),
        })
    }

    /// The checksum so far, to which the records are added.
    pub(super) fn crc(&self) -> Crc32c {
        let mut crc = Crc32c::new();
        crc.update(self.encode().split_at(CRC_FROM).1);
        crc
    }
}

impl RecordProducer {
    fn fields(self) -> (i64, i16, i32) {
        match (i64::try_from(self.id), i16::try_from(self.epoch), i32::try_from(self.base_sequence)) {
            (Ok(id), Ok(epoch), Ok(base_sequence)) => (id, epoch, base_sequence),
            _ => unreachable!("no batch can say {self:?}: its fields are signed"),
        }
    }
}

fn codec(attributes: i16) -> Result<RecordCodec, RecordBatchError> {
    Ok(match attributes & CODEC_MASK {
        0 => RecordCodec::None,
        1 => RecordCodec::Gzip,
        2 => RecordCodec::Snappy,
        3 => RecordCodec::Lz4,
        4 => RecordCodec::Zstd,
        found => return Err(RecordBatchError::Codec { found: found as u8 }),
    })
}

fn producer(raw: &Raw, is_control: bool) -> Result<Option<RecordProducer>, RecordBatchError> {
    let (id, epoch, base_sequence) = (raw.producer_id.get(), raw.producer_epoch.get(), raw.base_sequence.get());
    if id == -1 {
        return Ok(None);
    }
    // A marker continues no sequence.
    let sequence = if is_control && base_sequence == NO_SEQUENCE { 0 } else { base_sequence };
    if is_control && base_sequence != NO_SEQUENCE {
        return Err(RecordBatchError::Producer { id, epoch, base_sequence });
    }
    match (u64::try_from(id), u16::try_from(epoch), u32::try_from(sequence)) {
        (Ok(id), Ok(epoch), Ok(base_sequence)) => Ok(Some(RecordProducer { id, epoch, base_sequence })),
        _ => Err(RecordBatchError::Producer { id, epoch, base_sequence }),
    }
}
