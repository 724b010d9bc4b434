//! What can be wrong with a batch, each its own error, with what to do about it.

use thiserror::Error;

/// Why bytes are not a valid batch. Positions and lengths are in bytes, from the batch's first.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// Fewer bytes than the header, or than the header's `batch_bytes`.
    #[error("the batch is cut off: {have} of {need} bytes; send it whole")]
    Truncated {
        /// Bytes there are.
        have: u64,
        /// Bytes the header asks for.
        need: u64,
    },
    /// Bytes behind the end of a batch where exactly one was expected.
    #[error("{count} bytes follow the end of the batch; send nothing behind it")]
    TrailingBytes {
        /// How many.
        count: u64,
    },
    /// The first four bytes are not `RAWB`.
    #[error("not a batch: it begins with {found:02x?}, not with \"RAWB\"; see docs/format.md")]
    Magic {
        /// The four bytes there are.
        found: [u8; 4],
    },
    /// A version that this reader does not know.
    #[error("batch version {found}; this reader knows version 1: update it")]
    Version {
        /// The version there is.
        found: u8,
    },
    /// A codec number that this reader does not know.
    #[error("codec {found}; known are 0 (none), 1 (LZ4 block) and 2 (zstd)")]
    Codec {
        /// The number there is.
        found: u8,
    },
    /// A flag, reserved or padding byte that must be zero is not.
    #[error("the reserved bytes at {position} must be zero")]
    Reserved {
        /// Where.
        position: u32,
    },
    /// No records.
    #[error("the batch has no records; send at least one")]
    Empty,
    /// Number of records and lengths do not add up to `batch_bytes`.
    #[error(
        "the header lies: {records} records and {data_bytes} bytes of data make a batch of {expected} bytes, the header says {found}"
    )]
    Length {
        /// The header's number of records.
        records: u32,
        /// The header's length of the data.
        data_bytes: u32,
        /// What they make.
        expected: u64,
        /// What the header says.
        found: u32,
    },
    /// The sizes add up to 2^32 or more.
    #[error("the sizes add up to {sum} bytes, more than the format's 4,294,967,295")]
    SizesOverflow {
        /// The sum.
        sum: u64,
    },
    /// The sizes do not add up to `raw_bytes`.
    #[error("the sizes add up to {sum} bytes, the header says {raw_bytes}")]
    SizesSum {
        /// The sum.
        sum: u64,
        /// The header's.
        raw_bytes: u32,
    },
    /// Uncompressed data whose length is not `raw_bytes`.
    #[error("uncompressed data of {data_bytes} bytes, but records of {raw_bytes} bytes")]
    DataLength {
        /// The header's length of the data.
        data_bytes: u32,
        /// The header's sum of the sizes.
        raw_bytes: u32,
    },
    /// The checksum does not fit the bytes.
    #[error(
        "checksum mismatch: the bytes have CRC32C {computed:#010x}, the header says {stored:#010x}; they were damaged on the way: send them again"
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
        /// Which limit.
        what: &'static str,
        /// What the header says.
        found: u32,
        /// The limit.
        limit: u32,
    },
    /// Compressed data that is not what its codec and sizes say.
    #[error("the data can't be decompressed: {reason}")]
    Decompress {
        /// What the codec said.
        reason: String,
    },
    /// A range that is not inside the batch.
    #[error("records {from}..{to} are not inside a batch of {records}")]
    Range {
        /// First record of the range.
        from: u32,
        /// One behind its last.
        to: u32,
        /// Records there are.
        records: u32,
    },
    /// A range of a compressed batch: it can be had whole only.
    #[error("a compressed batch can't be sliced; take it whole")]
    SliceCompressed,
}
