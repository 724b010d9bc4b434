//! The bytes of a snapshot: the places of the records, and the state after a journal object, so that a start needn't
//! read the journal from its beginning.
//!
//! All numbers are little-endian and unsigned. Every part has a length that is a multiple of 8.
//!
//! ```text
//! root:      header (72) │ more (24) │ table of parts │ the part, if it is the only one │ names │ groups │
//!            transactions │ members
//! part:      topics │ partitions
//!
//! header:    "RAWS" │ version u8 │ zero (3) │ snapshot_bytes u64 │ next_number u64 │ last: run u64 │ commit u64 │
//!            next_topic u64 │ parts u32 │ zero (4) │ merges u64 │ open u32 │ crc32c u32
//! more:      time_us u64 │ zero (8) │ names u32 │ groups u32
//! in table:  bytes u64 │ crc32c u32 │ topics u32 │ partitions u32 │ zero (4)
//! topic:     id u64 │ partitions u32 │ name_bytes u16 │ settings_bytes u16 │ name │ settings │ zeros
//! name:      id u64 │ used_us u64 │ epoch u16 │ name_bytes u16 │ owner_bytes u16 │ zero (2) │ name │ owner │ zeros
//! group:     used_us u64 │ offsets u32 │ name_bytes u16 │ owner_bytes u16 │ name │ owner │ zeros │ offsets
//! offset:    topic u64 │ offset u64 │ partition u32 │ metadata_bytes u16 │ zero (2) │ metadata │ zeros
//! partition: topic u64 │ partition u32 │ producers u32 │ first_offset u64 │ next_offset u64 │ pieces u64 │
//!            producers │ pieces
//! producer:  id u64 │ epoch u16 │ zero (2) │ appends u32 │ appended_us u64 │ appends
//! append:    sequence u64 │ first_offset u64 │ records u32 │ crc32c u32
//! piece:     first_offset u64 │ number u64 (highest bit: of a merged object) │ appended_us u64 │ newest_us u64 │
//!            tag u32 │ object_bytes u32 │ entries_at u32 │ batches u32 │ batches_at u32 │ bytes u32
//!
//! transactions: producers u32 │ partitions u32 │ pending u32 │ zero (4) │ producers │ partitions │ pending
//! producer:  id u64 │ ended_id u64 │ began_us u64 │ timeout_ms u32 │ ended_epoch u16 │
//!            flags u16 (1 ended, 2 committed, 4 open)
//! partition: topic u64 │ partition u32 │ open u32 │ aborted u64 │ from u64 │ to u64 │ open │ aborted
//! open:      first_offset u64 │ producer u64
//! aborted:   producer u64 │ first_offset u64 │ last_offset u64 │ stable_offset u64
//! pending:   producer u64 │ topic u64 │ offset u64 │ partition u16 │ owner_bytes u16 │ group_bytes u16 │
//!            metadata_bytes u16 │ group │ metadata │ owner │ zeros
//!
//! members:   forgotten u64 │ groups u32 │ zero (4) │ groups
//! group:     used_us u64 │ version u64 │ stamp u64 │ members u32 │ state_bytes u32 │ name_bytes u16 │ zero (6) │
//!            name │ state │ zeros
//! ```
//!
//! Topics and names are in order of id, partitions in order of topic and number, producers in order of id, appends and
//! pieces in order of offset, over all parts. A partition that never had a record is left out. The root's checksum
//! covers everything in it but itself. Several parts are stored separately, before the root.

mod build;
mod members;
mod name;
mod parse;
mod part;
mod raw;
#[cfg(test)]
mod tests;
mod transactions;

pub use build::{build_snapshot, build_snapshot_in_parts, build_snapshot_of};
pub use name::SnapshotName;
pub use parse::{SnapshotError, SnapshotRoot};
pub use part::{JoinedParts, PartEntry, SnapshotPart};

use crate::partition_id::PartitionId;
use crate::place::{Piece, Source};
use crate::state::State;
use std::collections::{BTreeMap, BTreeSet};

/// The state after a journal object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The state of the rules.
    pub state: State,
    /// The pieces of every partition that has some.
    pub pieces: BTreeMap<PartitionId, Vec<Piece>>,
}

impl Snapshot {
    /// The objects that hold its records.
    pub fn sources(&self) -> BTreeSet<Source> {
        self.pieces.values().flatten().map(|piece| piece.place.source).collect()
    }
}

/// Whether a partition's pieces could be: in order of offset, and those that were never merged in order of objects.
fn are_in_order(pieces: &[Piece]) -> bool {
    let journal = pieces.iter().map(|piece| piece.place.source).filter(|source| !source.is_merged());
    pieces.is_sorted_by(|one, next| one.first_offset < next.first_offset)
        && journal.is_sorted_by(|one, next| one < next)
}
