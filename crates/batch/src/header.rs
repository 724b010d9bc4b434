//! The 64 bytes at the start of every batch.
//!
//! All numbers are little-endian and unsigned.
//!
//! ```text
//!  0        4  5  6     8           12          16          20          24
//! ┌──────────┬──┬──┬─────┬───────────┬───────────┬───────────┬───────────┐
//! │ "RAWB"   │v │c │flags│batch_bytes│ records   │ data_bytes│ raw_bytes │
//! ├──────────┴──┴──┴─────┼───────────┴───────────┼───────────┴───────────┤
//! │ created_us           │ producer_id           │ sequence              │
//! ├──────────────────────┴───────────┬───────────┼───────────────────────┘
//! │ reserved, zero (12)              │ crc32c    │
//! └──────────────────────────────────┴───────────┘
//! 48                                 60          64
//! ```
//!
//! After it: `records` sizes (u32 each), `data_bytes` of data, zeros up to the next multiple of 8. So the sizes are
//! aligned to 4 wherever a batch is aligned to 8, and can be used in place.

use crate::{BatchError, Codec, Limits};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Size of a header in bytes.
pub const HEADER_BYTES: usize = 64;
/// Position of the checksum, which covers every byte of the batch but its own four.
pub const CRC_POSITION: usize = 60;
/// The first bytes of every batch.
pub const MAGIC: [u8; 4] = *b"RAWB";
/// The version this crate writes and reads.
pub const VERSION: u8 = 1;
/// Flag: a broker cut the batch out of a larger one. Everything but the position of the first record is the producer's.
pub const FLAG_SLICE: u16 = 1;
/// Batches end on a multiple of this many bytes.
pub const ALIGNMENT: u64 = 8;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct Raw {
    magic: [u8; 4],
    version: u8,
    codec: u8,
    flags: U16,
    batch_bytes: U32,
    records: U32,
    data_bytes: U32,
    raw_bytes: U32,
    created_us: U64,
    producer_id: U64,
    sequence: U64,
    reserved: [u8; 12],
    crc32c: U32,
}

const FLAGS_POSITION: usize = 6;
const RESERVED_POSITION: usize = 48;

const _: () = assert!(size_of::<Raw>() == HEADER_BYTES);
const _: () = assert!((HEADER_BYTES as u64).is_multiple_of(ALIGNMENT), "sizes are aligned if batches are");
const _: () = assert!(CRC_POSITION + 4 == HEADER_BYTES, "the checksum is the last field");
const _: () = assert!(std::mem::offset_of!(Raw, flags) == FLAGS_POSITION);
const _: () = assert!(std::mem::offset_of!(Raw, reserved) == RESERVED_POSITION);
const _: () = assert!(std::mem::offset_of!(Raw, crc32c) == CRC_POSITION);

/// A header's fields. [`Header::parse`] has checked them against each other and against the reader's limits; whether
/// the bytes after the header agree is for [`crate::Batch::parse`] and [`crate::Checker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// How the data is compressed.
    pub codec: Codec,
    /// Whether a broker cut this batch out of a larger one.
    pub slice: bool,
    /// Number of records, at least one.
    pub records: u32,
    /// Size of the data in the batch, compressed or not, in bytes.
    pub data_bytes: u32,
    /// Sum of the sizes: size of the data when decompressed, in bytes.
    pub raw_bytes: u32,
    /// When the producer made the batch: microseconds since the Unix epoch, by its clock.
    pub created_us: u64,
    /// The id of its producer; 0 if unknown. Used by exactly-once appends.
    pub producer_id: u64,
    /// The producer's number for the first record, for exactly-once appends.
    pub sequence: u64,
    /// CRC32C of the whole batch but these four bytes.
    pub crc32c: u32,
}

impl Header {
    /// Size of the whole batch in bytes: header, sizes, data, padding.
    pub fn batch_bytes(&self) -> u64 {
        batch_bytes(self.records, self.data_bytes)
    }

    /// Size of the sizes in bytes.
    pub fn sizes_bytes(&self) -> u64 {
        u64::from(self.records) * 4
    }

    /// Number of zeros after the data.
    pub fn padding_bytes(&self) -> usize {
        (self.batch_bytes() - HEADER_BYTES as u64 - self.sizes_bytes() - u64::from(self.data_bytes)) as usize
    }

    /// Reads and checks a header. A header that passes describes a batch within `limits`.
    pub fn parse(bytes: &[u8; HEADER_BYTES], limits: &Limits) -> Result<Header, BatchError> {
        let raw: Raw = zerocopy::transmute!(*bytes);
        if raw.magic != MAGIC {
            return Err(BatchError::Magic { found: raw.magic });
        }
        if raw.version != VERSION {
            return Err(BatchError::Version { found: raw.version });
        }
        let codec = Codec::from_number(raw.codec)?;
        if raw.flags.get() & !FLAG_SLICE != 0 {
            return Err(BatchError::Reserved { position: FLAGS_POSITION as u32 });
        }
        if let Some(at) = raw.reserved.iter().position(|&byte| byte != 0) {
            return Err(BatchError::Reserved { position: (RESERVED_POSITION + at) as u32 });
        }
        let header = Header {
            codec,
            slice: raw.flags.get() & FLAG_SLICE != 0,
            records: raw.records.get(),
            data_bytes: raw.data_bytes.get(),
            raw_bytes: raw.raw_bytes.get(),
            created_us: raw.created_us.get(),
            producer_id: raw.producer_id.get(),
            sequence: raw.sequence.get(),
            crc32c: raw.crc32c.get(),
        };
        if header.records == 0 {
            return Err(BatchError::Empty);
        }
        if header.batch_bytes() != u64::from(raw.batch_bytes.get()) {
            return Err(BatchError::Length {
                records: header.records,
                data_bytes: header.data_bytes,
                expected: header.batch_bytes(),
                found: raw.batch_bytes.get(),
            });
        }
        header.check_limits(limits)?;
        if codec == Codec::None && header.data_bytes != header.raw_bytes {
            return Err(BatchError::DataLength { data_bytes: header.data_bytes, raw_bytes: header.raw_bytes });
        }
        Ok(header)
    }

    pub(crate) fn check_limits(&self, limits: &Limits) -> Result<(), BatchError> {
        for (what, found, limit) in [
            ("batch_bytes", self.batch_bytes(), limits.batch_bytes_max),
            ("records", u64::from(self.records), limits.records_max),
            ("raw_bytes", u64::from(self.raw_bytes), limits.raw_bytes_max),
        ] {
            let limit = u64::from(limit);
            if found > limit {
                return Err(BatchError::Limit { what, found, limit });
            }
        }
        Ok(())
    }

    /// The header's bytes, with the checksum of the field `crc32c`.
    ///
    /// The caller makes sure that the batch is at most `u32::MAX` bytes long.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        assert!(self.batch_bytes() <= u64::from(u32::MAX), "{self:?} is longer than its field can say");
        let raw = Raw {
            magic: MAGIC,
            version: VERSION,
            codec: self.codec.number(),
            flags: U16::new(if self.slice { FLAG_SLICE } else { 0 }),
            batch_bytes: U32::new(self.batch_bytes() as u32),
            records: U32::new(self.records),
            data_bytes: U32::new(self.data_bytes),
            raw_bytes: U32::new(self.raw_bytes),
            created_us: U64::new(self.created_us),
            producer_id: U64::new(self.producer_id),
            sequence: U64::new(self.sequence),
            reserved: [0; 12],
            crc32c: U32::new(self.crc32c),
        };
        zerocopy::transmute!(raw)
    }

    /// The beginning of the batch's checksum: over this header without its last field.
    fn begin_crc(&self) -> crate::Crc32c {
        let mut crc = crate::Crc32c::new();
        crc.update(self.encode().split_at(CRC_POSITION).0);
        crc
    }

    /// The checksum of this header, without its last field, and of the bytes after it.
    pub(crate) fn front_crc(&self, after: &[u8]) -> u32 {
        let mut crc = self.begin_crc();
        crc.update(after);
        crc.value()
    }

    /// Computes the checksum over this header and the pieces after it (sizes, data; the padding is added here), puts it
    /// in place and returns the finished bytes.
    pub fn seal<'a>(mut self, pieces: impl IntoIterator<Item = &'a [u8]>) -> [u8; HEADER_BYTES] {
        let mut crc = self.begin_crc();
        let mut bytes = 0;
        for piece in pieces {
            crc.update(piece);
            bytes += piece.len() as u64;
        }
        let expected = self.sizes_bytes() + u64::from(self.data_bytes);
        assert_eq!(bytes, expected, "a batch is sealed over other bytes than {self:?} describes");
        crc.update(padding(self.padding_bytes()));
        self.crc32c = crc.value();
        self.encode()
    }
}

/// Size in bytes of a batch of `records` records and `data_bytes` bytes of data.
pub fn batch_bytes(records: u32, data_bytes: u32) -> u64 {
    (HEADER_BYTES as u64 + u64::from(records) * 4 + u64::from(data_bytes)).next_multiple_of(ALIGNMENT)
}

/// `count` zeros, fewer than [`ALIGNMENT`].
pub fn padding(count: usize) -> &'static [u8] {
    const ZEROS: [u8; ALIGNMENT as usize] = [0; ALIGNMENT as usize];
    assert!(count < ZEROS.len(), "{count} bytes of padding");
    ZEROS.split_at(count).0
}
