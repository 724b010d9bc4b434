//! The bytes of a batch: header, sizes, data. Bytes in, bytes out; no I/O, no async, no clock.
//!
//! The normative layout is `docs/format.md`; [`header`] draws it. Three ways in:
//!
//! - [`Batch::parse`] gives a checked view over bytes that lie in one piece, without copying;
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

/// What a reader accepts at most. Every limit is checked against the header before a byte behind it is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Length of a whole batch, header and padding included, in bytes.
    pub batch_bytes_max: u32,
    /// Records in one batch.
    pub records_max: u32,
    /// Sum of a batch's sizes, so what its data may grow to when decompressed, in bytes.
    pub raw_bytes_max: u32,
}

impl Limits {
    /// What the format itself allows.
    pub const FORMAT: Limits = Limits { batch_bytes_max: u32::MAX, records_max: u32::MAX, raw_bytes_max: u32::MAX };
}

impl Default for Limits {
    /// 32 MiB a batch, 1 Mi records, 64 MiB decompressed: three of the default 10 MiB commits fit in a batch, and
    /// a consumer can hold what one batch unpacks to.
    fn default() -> Self {
        Limits { batch_bytes_max: 32 << 20, records_max: 1 << 20, raw_bytes_max: 64 << 20 }
    }
}

/// CRC32C (Castagnoli, RFC 3720) as it is built up over pieces.
#[derive(Debug, Clone)]
pub struct Crc32c(crc_fast::Digest);

impl Crc32c {
    /// The state before the first byte.
    pub fn new() -> Self {
        Crc32c(crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi))
    }

    /// Back to the state before the first byte.
    pub fn reset(&mut self) {
        self.0.reset();
    }

    /// Takes the next piece in.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of everything taken in so far.
    pub fn value(&self) -> u32 {
        // A 32-bit CRC sits in the low half of the library's 64-bit answer.
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
