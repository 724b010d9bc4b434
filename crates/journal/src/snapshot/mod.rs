//! The bytes of a snapshot: the state after a journal object, so that nobody has to read the journal from its
//! beginning, and where the records are that only journal objects have.
//!
//! All numbers are little-endian and unsigned. Every part has a length that is a multiple of 8.
//!
//! ```text
//! header (72) │ topics │ partitions
//!
//! header:    "RAWS" │ version u8 │ zero (3) │ snapshot_bytes u64 │ next_number u64 │ last: run u64 │ commit u64 │
//!            next_topic u64 │ topics u32 │ partitions u32 │ zero (12) │ crc32c u32
//! topic:     id u64 │ partitions u32 │ name_bytes u16 │ settings_bytes u16 │ name │ settings │ zeros
//! partition: topic u64 │ partition u32 │ producers u32 │ first_offset u64 │ next_offset u64 │ pieces u64 │
//!            producers │ pieces
//! producer:  id u64 │ epoch u16 │ zero (2) │ appends u32 │ appends
//! append:    sequence u64 │ first_offset u64 │ records u32 │ zero (4)
//! piece:     first_offset u64 │ number u64 │ appended_us u64 │ tag u32 │ object_bytes u32 │
//!            entries_at u32 │ batches u32 │ batches_at u32 │ bytes u32
//! ```
//!
//! Topics are in order of id, partitions in order of topic and number, producers in order of id, appends and pieces in
//! order of offset. A partition that never had a record is left out. The checksum covers everything but itself.

mod build;
mod parse;
mod raw;
#[cfg(test)]
mod tests;

pub use build::build_snapshot;
pub use parse::SnapshotError;

use crate::object::{ENTRY_BYTES, HEADER_BYTES};
use crate::state::{PartitionId, State};
use std::collections::BTreeMap;
use std::ops::Range;

/// The state after a journal object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// What the rules know.
    pub state: State,
    /// The pieces of every partition that has some.
    pub pieces: BTreeMap<PartitionId, Vec<Piece>>,
}

/// A partition's records in one journal object. They end where the partition's next piece begins, the last at the
/// partition's end. Records before the first piece are elsewhere, or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Offset of the first record.
    pub first_offset: u64,
    /// When the broker built the object: microseconds since the Unix epoch.
    pub appended_us: u64,
    /// Where the records are.
    pub place: Place,
}

/// Where a partition's batches are in a journal object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The object's number.
    pub number: u64,
    /// The [tag](crate::Id::tag) of the object's id.
    pub tag: u32,
    /// Size of the object in bytes.
    pub object_bytes: u32,
    /// Position of the first batch's entry in the object, in bytes.
    pub entries_at: u32,
    /// Number of batches.
    pub batches: u32,
    /// Position of the first batch in the object, in bytes.
    pub batches_at: u32,
    /// Size of the batches in bytes.
    pub bytes: u32,
}

impl Place {
    /// The bytes of the object that hold the batches' entries, for [`Batch::read_all`](crate::Batch::read_all).
    pub fn entries(&self) -> Range<u64> {
        let start = u64::from(self.entries_at);
        start..start + u64::from(self.batches) * ENTRY_BYTES as u64
    }

    /// The bytes of the object that are the batches.
    pub fn batches(&self) -> Range<u64> {
        let start = u64::from(self.batches_at);
        start..start + u64::from(self.bytes)
    }

    /// Whether an object could have this place.
    fn is_sound(&self) -> bool {
        let (entries, batches) = (self.entries(), self.batches());
        let is_in_order = HEADER_BYTES as u64 <= entries.start && entries.end <= batches.start;
        let is_inside = batches.end <= u64::from(self.object_bytes);
        self.number > 0 && self.batches > 0 && !batches.is_empty() && is_in_order && is_inside
    }
}
