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
//! piece:     first_offset u64 │ number u64 │ appended_us u64 │ bytes u64
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

use crate::state::{PartitionId, State};
use std::collections::BTreeMap;

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
    /// The object's number.
    pub number: u64,
    /// When the broker built the object: microseconds since the Unix epoch.
    pub appended_us: u64,
    /// Size of the batches in bytes.
    pub bytes: u64,
}
