//! The index as it lies in memory.

use crate::limits::{OBJECT_APPENDS_MAX, OBJECT_BYTES_MAX, OBJECT_CONTROL_BYTES_MAX};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of every journal object.
pub(super) const MAGIC: [u8; 4] = *b"RAWJ";
/// The first bytes of every merged object.
pub(super) const MERGED_MAGIC: [u8; 4] = *b"RAWM";
pub(super) const VERSION: u8 = 1;
/// The greatest number of an object: a snapshot needs one bit of the number.
pub(super) const NUMBER_MAX: u64 = u64::MAX >> 1;

/// Size of a header in bytes, from which a reader knows the size of the whole index.
pub const HEADER_BYTES: usize = 80;
pub(super) const SECTION_BYTES: usize = 24;
pub const ENTRY_BYTES: usize = 40;
const CRC_POSITION: usize = 76;

/// Flag of an entry: the batch belongs to the same append as the one before it.
pub(super) const FLAG_CONTINUES: u8 = 1;
/// Flag of an entry: it names a producer.
pub(super) const FLAG_PRODUCER: u8 = 2;
/// Flag of an entry: the batch belongs to its producer's transaction.
pub(super) const FLAG_TRANSACTION: u8 = 4;
/// Flag of an entry: the batch marks the end of its producer's transaction, which is committed.
pub(super) const FLAG_COMMIT: u8 = 8;
/// Flag of an entry: the batch marks the end of its producer's transaction, which is aborted.
pub(super) const FLAG_ABORT: u8 = 16;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawHeader {
    pub magic: [u8; 4],
    pub version: u8,
    pub in_flight: u8,
    pub zero: [u8; 2],
    pub number: U64,
    pub id_run: U64,
    pub id_commit: U64,
    pub prev_run: U64,
    pub prev_commit: U64,
    pub object_bytes: U64,
    pub appended_us: U64,
    pub sections: U32,
    pub batches: U32,
    pub control_bytes: U32,
    pub crc32c: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawSection {
    pub topic: U64,
    pub first_offset: U64,
    pub partition: U32,
    pub batches: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawEntry {
    pub records: U32,
    pub bytes: U32,
    pub crc32c: U32,
    pub kind: u8,
    pub flags: u8,
    pub producer_epoch: U16,
    pub producer_id: U64,
    pub sequence: U64,
    pub max_timestamp_us: U64,
}

const _: () = assert!(size_of::<RawHeader>() == HEADER_BYTES);
const _: () = assert!(std::mem::offset_of!(RawHeader, crc32c) == CRC_POSITION && CRC_POSITION + 4 == HEADER_BYTES);
const _: () = assert!(OBJECT_BYTES_MAX <= u32::MAX as u64, "positions in an object are u32 in a snapshot");
const _: () = assert!(size_of::<RawSection>() == SECTION_BYTES && size_of::<RawEntry>() == ENTRY_BYTES);
const _: () = assert!(
    index_bytes(OBJECT_APPENDS_MAX as u32, OBJECT_APPENDS_MAX as u32, OBJECT_CONTROL_BYTES_MAX) < OBJECT_BYTES_MAX,
    "the largest index fits an object"
);

/// Size of an index in bytes, its header included.
pub const fn index_bytes(sections: u32, batches: u32, control_bytes: u64) -> u64 {
    HEADER_BYTES as u64 + sections as u64 * SECTION_BYTES as u64 + batches as u64 * ENTRY_BYTES as u64 + control_bytes
}

/// The checksum of an index.
pub(super) fn checksum(header: &RawHeader, rest: &[u8]) -> u32 {
    crate::checksum::checksum(header.as_bytes(), rest)
}
