//! Errors of a batch, each with a message that says what to do.

use crate::Kind;
use thiserror::Error;

/// Why bytes are not a valid batch. Positions and lengths are in bytes, from the batch's first.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// Fewer bytes than the header, or than the header's `batch_bytes`.
    #[error("the batch is truncated: {have} of {need} bytes; send it whole")]
    Truncated {
        /// Bytes found.
        have: u64,
        /// Bytes that the header announces.
        need: u64,
    },
    /// Bytes after the end of a batch where exactly one was expected.
    #[error("{count} bytes follow the end of the batch; send nothing after it")]
    TrailingBytes {
        /// How many.
        count: u64,
    },
    /// The first four bytes are not `RAWB`.
    #[error("not a batch: it begins with {found:02x?}, not with \"RAWB\"; see docs/format.md")]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// A version that this reader doesn't know.
    #[error("batch version {found}; this reader knows version 1: send that, or update the reader")]
    Version {
        /// The batch's version.
        found: u8,
    },
    /// A codec number that this reader doesn't know.
    #[error("codec {found}; use 0 (none), 1 (LZ4 block) or 2 (zstd)")]
    Codec {
        /// The batch's codec number.
        found: u8,
    },
    /// A flag, reserved or padding byte that must be zero is not.
    #[error("the byte or flags at {position} are reserved; send zeros there")]
    Reserved {
        /// Its position.
        position: u32,
    },
    /// No records.
    #[error("the batch has no records; send at least one")]
    Empty,
    /// Number of records and lengths do not add up to `batch_bytes`.
    #[error(
        "the header contradicts itself: {records} records and {data_bytes} bytes of data make a batch of {expected} \
         bytes, not of {found}; make them agree"
    )]
    Length {
        /// The header's number of records.
        records: u32,
        /// The header's length of the data.
        data_bytes: u32,
        /// Their sum.
        expected: u64,
        /// The length in the header.
        found: u32,
    },
    /// The sizes add up to 2^32 or more.
    #[error("the sizes add up to {sum} bytes, more than the format's 4,294,967,295; send smaller batches")]
    SizesOverflow {
        /// The sum.
        sum: u64,
    },
    /// The sizes do not add up to `raw_bytes`.
    #[error("the sizes add up to {sum} bytes, but there are {raw_bytes} bytes of records; send one size per record")]
    SizesSum {
        /// The sum.
        sum: u64,
        /// The length in the header, or of the data to seal.
        raw_bytes: u32,
    },
    /// Uncompressed data whose length is not `raw_bytes`.
    #[error(
        "{data_bytes} bytes of uncompressed data, but records of {raw_bytes} bytes; without a codec they are equal"
    )]
    DataLength {
        /// The header's length of the data.
        data_bytes: u32,
        /// The header's sum of the sizes.
        raw_bytes: u32,
    },
    /// The checksum doesn't match the bytes.
    #[error(
        "checksum mismatch: the bytes have CRC32C {computed:#010x}, the header says {stored:#010x}; they were damaged \
         in transit: send them again"
    )]
    Crc {
        /// The header's.
        stored: u32,
        /// That of the bytes.
        computed: u32,
    },
    /// More than the reader's limits allow.
    #[error("{what} is {found}, the limit here is {limit}; send smaller batches")]
    Limit {
        /// The limited quantity.
        what: &'static str,
        /// Its value in the batch or its header.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// Compressed data that doesn't match its codec or sizes.
    #[error("the data can't be decompressed: {reason}; its producer must send it again")]
    Decompress {
        /// The codec's message.
        reason: String,
    },
    /// A range that is not inside the batch.
    #[error("records {from}..{to} are not a range of a batch of {records} records; request at least one that exists")]
    Range {
        /// First record of the range.
        from: u32,
        /// The record after its last.
        to: u32,
        /// Number of records in the batch.
        records: u32,
    },
    /// A range of a compressed batch, which is available only whole.
    #[error("a compressed batch can't be sliced; read it whole")]
    SliceCompressed,
}

impl BatchError {
    /// How a producer can handle it: always by fixing the batch. A reader that finds one in the store reports its own
    /// error.
    pub fn kind(&self) -> Kind {
        Kind::FixRequest
    }

    /// The error's stable name, for machines: the message may change, this may not. `docs/format.md` lists them.
    pub fn code(&self) -> &'static str {
        match self {
            BatchError::Truncated { .. } => "batch_truncated",
            BatchError::TrailingBytes { .. } => "batch_trailing_bytes",
            BatchError::Magic { .. } => "batch_magic",
            BatchError::Version { .. } => "batch_version",
            BatchError::Codec { .. } => "batch_codec",
            BatchError::Reserved { .. } => "batch_reserved",
            BatchError::Empty => "batch_empty",
            BatchError::Length { .. } => "batch_length",
            BatchError::SizesOverflow { .. } => "batch_sizes_overflow",
            BatchError::SizesSum { .. } => "batch_sizes_sum",
            BatchError::DataLength { .. } => "batch_data_length",
            BatchError::Crc { .. } => "batch_crc",
            BatchError::Limit { .. } => "batch_limit",
            BatchError::Decompress { .. } => "batch_decompress",
            BatchError::Range { .. } => "batch_range",
            BatchError::SliceCompressed => "batch_slice_compressed",
        }
    }
}
