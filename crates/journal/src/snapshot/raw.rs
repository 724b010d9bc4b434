//! A snapshot's parts as they lie in memory.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of every snapshot's root.
pub(super) const MAGIC: [u8; 4] = *b"RAWS";
pub(super) const VERSION: u8 = 1;
pub(super) const HEADER_BYTES: usize = 72;
/// Names and settings are padded to a multiple of this.
pub(super) const ALIGNMENT: usize = 8;
const CRC_POSITION: usize = 68;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawHeader {
    pub magic: [u8; 4],
    pub version: u8,
    pub zero: [u8; 3],
    pub snapshot_bytes: U64,
    pub next_number: U64,
    pub last_run: U64,
    pub last_commit: U64,
    pub next_topic: U64,
    pub parts: U32,
    pub zero_after_parts: U32,
    /// Number of merges that have begun.
    pub merges: U64,
    /// 1 if the newest merge is open.
    pub open_merge: U32,
    pub crc32c: U32,
}

/// Follows the header.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawMore {
    /// The newest time of an object.
    pub time_us: U64,
    pub zero: U64,
    pub names: U32,
    pub groups: U32,
}

/// A part. Its topics come first in it, its partitions afterwards.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawPart {
    pub bytes: U64,
    pub crc32c: U32,
    pub topics: U32,
    pub partitions: U32,
    pub zero: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawTopic {
    pub id: U64,
    pub partitions: U32,
    pub name_bytes: U16,
    pub settings_bytes: U16,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawNamed {
    pub id: U64,
    pub used_us: U64,
    pub epoch: U16,
    pub name_bytes: U16,
    pub owner_bytes: U16,
    pub zero: U16,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawGroup {
    pub used_us: U64,
    pub offsets: U32,
    pub name_bytes: U16,
    pub owner_bytes: U16,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawCommitted {
    pub topic: U64,
    pub offset: U64,
    pub number: U32,
    pub metadata_bytes: U16,
    pub zero: U16,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawPartition {
    pub topic: U64,
    pub number: U32,
    pub producers: U32,
    pub first_offset: U64,
    pub next_offset: U64,
    pub pieces: U64,
}

/// The time of the newest append follows.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawProducer {
    pub id: U64,
    pub epoch: U16,
    pub zero: [u8; 2],
    pub appends: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawAppend {
    pub sequence: U64,
    pub first_offset: U64,
    pub records: U32,
    pub crc32c: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawPiece {
    pub first_offset: U64,
    pub number: U64,
    pub appended_us: U64,
    pub newest_us: U64,
    pub tag: U32,
    pub object_bytes: U32,
    pub entries_at: U32,
    pub batches: U32,
    pub batches_at: U32,
    pub bytes: U32,
}

/// Follows the partitions.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawTransactions {
    pub producers: U32,
    pub partitions: U32,
    pub pending: U32,
    pub zero: U32,
}

/// A named producer that has transactions.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawTransactional {
    pub id: U64,
    pub ended_id: U64,
    pub began_us: U64,
    pub timeout_ms: U32,
    pub ended_epoch: U16,
    pub flags: U16,
}

/// A transaction has ended, and is known.
pub(super) const FLAG_ENDED: u16 = 1;
/// It was committed.
pub(super) const FLAG_COMMITTED: u16 = 2;
/// A transaction is open.
pub(super) const FLAG_OPEN: u16 = 4;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawPartitionTransactions {
    pub topic: U64,
    pub number: U32,
    pub open: U32,
    pub aborted: U64,
    pub from: U64,
    pub to: U64,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawOpen {
    pub first_offset: U64,
    pub producer: U64,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawAborted {
    pub producer: U64,
    pub first_offset: U64,
    pub last_offset: U64,
    pub stable_offset: U64,
}

/// An offset that an open transaction commits.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawPending {
    pub producer: U64,
    pub topic: U64,
    pub offset: U64,
    pub number: U16,
    pub owner_bytes: U16,
    pub group_bytes: U16,
    pub metadata_bytes: U16,
}

/// Follows the transactions.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawMembers {
    /// The greatest version of a group that was forgotten.
    pub forgotten: U64,
    pub groups: U32,
    pub zero: U32,
}

/// A group whose members are known.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct RawStoredGroup {
    pub used_us: U64,
    pub version: U64,
    pub stamp: U64,
    pub members: U32,
    pub state_bytes: U32,
    pub name_bytes: U16,
    pub zero: [u8; 6],
}

const _: () = assert!(size_of::<RawMembers>() == 16 && size_of::<RawStoredGroup>() == 40);
const _: () = assert!(size_of::<RawTransactions>() == 16 && size_of::<RawTransactional>() == 32);
const _: () = assert!(size_of::<RawPartitionTransactions>() == 40 && size_of::<RawPending>() == 32);
const _: () = assert!(size_of::<RawOpen>() == 16 && size_of::<RawAborted>() == 32);
const _: () = assert!(size_of::<RawHeader>() == HEADER_BYTES && HEADER_BYTES.is_multiple_of(ALIGNMENT));
const _: () = assert!(std::mem::offset_of!(RawHeader, crc32c) == CRC_POSITION && CRC_POSITION + 4 == HEADER_BYTES);
const _: () =
    assert!(size_of::<RawTopic>().is_multiple_of(ALIGNMENT) && size_of::<RawMore>().is_multiple_of(ALIGNMENT));
const _: () = assert!(size_of::<RawPart>() == 24);
const _: () = assert!(size_of::<RawNamed>().is_multiple_of(ALIGNMENT));
const _: () = assert!(size_of::<RawGroup>().is_multiple_of(ALIGNMENT));
const _: () = assert!(size_of::<RawCommitted>().is_multiple_of(ALIGNMENT));

/// The checksum of a part.
pub(super) fn part_checksum(bytes: &[u8]) -> u32 {
    let mut crc = rawline_batch::Crc32c::new();
    crc.update(bytes);
    crc.value()
}

/// The checksum of a root.
pub(super) fn checksum(header: &RawHeader, rest: &[u8]) -> u32 {
    crate::checksum::checksum(header.as_bytes(), rest)
}
