//! The header of an object.

use super::{CRC_POSITION, HEADER_BYTES, MAGIC, ObjectError, VERSION, index_bytes};
use crate::limits::{OBJECT_BATCHES_MAX, OBJECT_BYTES_MAX};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawHeader {
    magic: [u8; 4],
    version: u8,
    zero: [u8; 3],
    first_offset: U64,
    records: U32,
    batches: U32,
    object_bytes: U64,
    zero_2: [u8; 28],
    crc32c: U32,
}

const _: () = assert!(size_of::<RawHeader>() == HEADER_BYTES);
const _: () = assert!(std::mem::offset_of!(RawHeader, crc32c) == CRC_POSITION);

/// An object's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Offset of the object's first record.
    pub first_offset: u64,
    /// Number of records in all its batches.
    pub records: u32,
    /// Number of batches.
    pub batches: u32,
    /// Size of the whole object in bytes.
    pub object_bytes: u64,
    /// Checksum of header and entries.
    pub crc32c: u32,
}

impl Header {
    /// The offset after the object's last record.
    pub fn next_offset(&self) -> u64 {
        self.first_offset + u64::from(self.records)
    }

    /// Size of header and entries in bytes: the position of the first batch.
    pub fn index_bytes(&self) -> usize {
        index_bytes(self.batches as usize)
    }

    /// Reads a header. Its checksum needs the entries too and is checked by
    /// [`ObjectIndex::parse`](super::ObjectIndex::parse).
    pub fn parse(bytes: &[u8]) -> Result<Header, ObjectError> {
        let Ok((raw, _)) = RawHeader::read_from_prefix(bytes) else {
            return Err(ObjectError::Truncated { have: bytes.len() as u64, need: HEADER_BYTES as u64 });
        };
        if raw.magic != MAGIC {
            return Err(ObjectError::Magic { found: raw.magic });
        }
        if raw.version != VERSION {
            return Err(ObjectError::Version { found: raw.version });
        }
        let header = Header {
            first_offset: raw.first_offset.get(),
            records: raw.records.get(),
            batches: raw.batches.get(),
            object_bytes: raw.object_bytes.get(),
            crc32c: raw.crc32c.get(),
        };
        let sound = header.batches >= 1
            && header.batches as usize <= OBJECT_BATCHES_MAX
            && header.records >= header.batches
            && header.object_bytes > header.index_bytes() as u64
            && header.object_bytes <= OBJECT_BYTES_MAX
            && header.first_offset.checked_add(u64::from(header.records)).is_some();
        if !sound {
            return Err(ObjectError::Header);
        }
        Ok(header)
    }

    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let raw = RawHeader {
            magic: MAGIC,
            version: VERSION,
            zero: [0; 3],
            first_offset: U64::new(self.first_offset),
            records: U32::new(self.records),
            batches: U32::new(self.batches),
            object_bytes: U64::new(self.object_bytes),
            zero_2: [0; 28],
            crc32c: U32::new(self.crc32c),
        };
        zerocopy::transmute!(raw)
    }
}
