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
mod front;
pub mod header;
mod kind;
mod parse;
mod prefixes;
pub mod record_batch;
mod slice;

pub use builder::{Builder, BuilderFull, Sealed, seal, seal_numbered};
pub use checker::{BatchMeta, Checker};
pub use codec::{Codec, decompress_into};
pub use error::BatchError;
pub use front::Front;
pub use header::{HEADER_BYTES, Header};
pub use kind::Kind;
pub use parse::{Batch, Batches, Records};
pub use prefixes::PrefixChecksums;
pub use slice::Slice;
/// A size of a record as batches have it, at any address.
pub use zerocopy::little_endian::U32;

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
    /// a consumer can hold one decompressed batch.
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

/// CRC32C of two concatenated pieces from the CRC32C of each; the second has `second_bytes` bytes.
///
/// Zeros after the first piece multiply its checksum, a polynomial modulo the generator, by x to the power of their
/// number of bits. The library's own function squares 32 x 32 matrices for it, which takes as long as reading 100 kB.
fn crc32c_concat(first: u32, second: u32, second_bytes: usize) -> u32 {
    let (mut crc, mut bytes, mut power) = (first, second_bytes, 0);
    while bytes != 0 {
        if bytes & 1 == 1 {
            let Some(&zeros) = ZEROS.get(power) else { unreachable!("2^{power} bytes in a batch") };
            crc = multiply(crc, zeros);
        }
        bytes >>= 1;
        power += 1;
    }
    crc ^ second
}

/// x^(8 * 2^n) modulo the generator: what 2^n zero bytes multiply a checksum by. A batch has at most 2^32 bytes.
#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
const ZEROS: [u32; 33] = {
    let mut zeros = [0; 33];
    // The coefficient of x^n is bit 31 - n.
    let (mut power, mut n) = (1 << (31 - 8), 0);
    while n < zeros.len() {
        zeros[n] = power;
        power = multiply(power, power);
        n += 1;
    }
    zeros
};

/// The product of two polynomials over GF(2), the coefficient of x^n in bit 31 - n, modulo Castagnoli's.
const fn multiply(a: u32, mut b: u32) -> u32 {
    const GENERATOR: u32 = 0x82f6_3b78;
    let (mut product, mut n) = (0, 0);
    while n < 32 {
        // Without branches, which a checksum's bits would make unpredictable.
        product ^= b & 0u32.wrapping_sub(a >> (31 - n) & 1);
        b = b >> 1 ^ GENERATOR & 0u32.wrapping_sub(b & 1);
        n += 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_of_pieces_make_that_of_the_whole() {
        let bytes: Vec<u8> = (0..70_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        for at in [0, 1, 2, 63, 64, 65, 4_095, 65_535, 65_536, 69_999, 70_000] {
            let (first, second) = bytes.split_at(at);
            assert_eq!(crc32c_concat(crc32c(first), crc32c(second), second.len()), crc32c(&bytes), "cut at {at}");
        }
    }
}
