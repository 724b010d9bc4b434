//! The bytes of a batch: header, sizes, data. Bytes in, bytes out; no I/O, no async, no clock.
//!
//! The normative layout is `docs/format.md`; [`header`] draws it. There are three entry points:
//!
//! - [`Batch::parse`] returns a checked view of bytes that are in one piece, without copying;
//! - [`Checker`] checks the same rules over bytes that arrive in pieces of any length;
//! - [`Builder`] (records one by one) and [`seal`] (sizes and data that already exist) make batches.

mod builder;
mod checker;
mod codec;
mod error;
pub mod header;
mod kind;
mod parse;
mod slice;

pub use builder::{Builder, BuilderFull, Sealed, seal};
pub use checker::{BatchMeta, Checker};
pub use codec::{Codec, decompress_into};
pub use error::BatchError;
pub use header::{HEADER_BYTES, Header};
pub use kind::Kind;
pub use parse::{Batch, Batches, Records};
pub use slice::Slice;

/// Maximum sizes that a reader accepts. Each is checked against the header before any byte after it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Size of a whole batch in bytes, header and padding included.
    pub batch_bytes_max: u32,
    /// Records in one batch.
    pub records_max: u32,
    /// Sum of a batch's sizes in bytes: the size of its data when decompressed.
    pub raw_bytes_max: u32,
}

impl Limits {
    /// The limits of the format itself.
    pub const FORMAT: Limits = Limits { batch_bytes_max: u32::MAX, records_max: u32::MAX, raw_bytes_max: u32::MAX };
}

impl Default for Limits {
    /// 32 MiB a batch, 1 Mi records, 64 MiB decompressed: three of the default 10 MiB commits fit in a batch, and
    /// a consumer can hold what one batch unpacks to.
    fn default() -> Self {
        Limits { batch_bytes_max: 32 << 20, records_max: 1 << 20, raw_bytes_max: 64 << 20 }
    }
}

/// CRC32C (Castagnoli, RFC 3720), computed piece by piece.
#[derive(Debug, Clone)]
pub struct Crc32c(crc_fast::Digest);

impl Crc32c {
    /// The state before the first byte.
    pub fn new() -> Self {
        Crc32c(crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi))
    }

    /// Returns to the state before the first byte.
    pub fn reset(&mut self) {
        self.0.reset();
    }

    /// Adds the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of everything added so far.
    pub fn value(&self) -> u32 {
        // A 32-bit CRC is in the low half of the library's 64-bit value.
        self.0.finalize() as u32
    }
}

impl Default for Crc32c {
    fn default() -> Self {
        Self::new()
    }
}

/// CRC32C of one piece.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}
