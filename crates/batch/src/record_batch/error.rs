//! Errors in the records of a RecordBatch whose header and checksum are right.

use super::RecordCodec;
use crate::Kind;
use thiserror::Error;

/// Why the records of a batch can't be read. Records are numbered from 0.
///
/// The broker stores compressed batches without a look at their records, so that readers are the first to notice.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// More bytes than the reader wants to hold.
    #[error("the records unpack to more than {limit} bytes, the limit here; their producer must send smaller batches")]
    TooLarge {
        /// The limit in bytes.
        limit: u32,
    },
    /// Compressed bytes that are invalid for the codec.
    #[error("the records can't be decompressed as {codec}: {reason}; their producer must send them again")]
    Unpack {
        /// The batch's codec.
        codec: RecordCodec,
        /// The reason.
        reason: String,
    },
    /// A codec that fails to compress.
    #[error("the records can't be compressed as {codec}: {reason}; use another codec")]
    Pack {
        /// The builder's codec.
        codec: RecordCodec,
        /// The codec's message.
        reason: String,
    },
    /// A builder without records.
    #[error("a batch needs records; push at least one")]
    Empty,
    /// Bytes that end before a field does.
    #[error("record {record} ends within a field; its producer must send it whole")]
    Truncated {
        /// The record's number.
        record: u32,
    },
    /// A number of more bits than its field has.
    #[error("record {record} has a number that is too long for its field; its producer must send another")]
    Number {
        /// The record's number.
        record: u32,
    },
    /// A length or a count that exceeds the rest, or a negative one that isn't null.
    #[error("record {record}: {field} of {found} where {left} bytes follow; its producer must send matching lengths")]
    Length {
        /// The record's number.
        record: u32,
        /// The field with the length.
        field: &'static str,
        /// The length or count.
        found: i64,
        /// Bytes after it.
        left: u64,
    },
    /// A record that is longer than its fields.
    #[error("{count} bytes follow the fields of record {record}; its producer must send nothing there")]
    Unused {
        /// The record's number.
        record: u32,
        /// How many bytes.
        count: u64,
    },
    /// A record out of order.
    #[error("record {record} has the offset delta {found}; its producer must number records from 0 without gaps")]
    OffsetDelta {
        /// The record's number.
        record: u32,
        /// The record's offset, counted from the batch's.
        found: i64,
    },
    /// A time beyond all times.
    #[error("record {record} is {delta_ms} ms after {base_ms}, which is out of range; send a valid time")]
    Timestamp {
        /// The record's number.
        record: u32,
        /// The batch's base in milliseconds since the Unix epoch.
        base_ms: i64,
        /// The record's time, counted from it.
        delta_ms: i64,
    },
    /// Fewer records than the header announces.
    #[error("the batch ends after {found} of {records} records; its producer must send the announced number")]
    Missing {
        /// Records found.
        found: u32,
        /// The header's number of records.
        records: u32,
    },
    /// More than the header's records.
    #[error("{count} bytes follow the last record; the producer must send the announced number of records")]
    Trailing {
        /// How many bytes.
        count: u64,
    },
}

impl RecordError {
    /// How a producer can handle it: always by fixing the batch. A reader that finds one in the store reports its own
    /// error.
    pub fn kind(&self) -> Kind {
        Kind::FixRequest
    }
}
