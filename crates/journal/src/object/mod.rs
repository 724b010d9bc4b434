//! The bytes of a journal object, which commits appends to any number of partitions with one PUT.
//!
//! All numbers are little-endian and unsigned. The index comes first, so that one small ranged GET returns it, and says
//! everything that [`State`](crate::State) needs: batches needn't be read.
//!
//! ```text
//! header (80) │ section (24) × sections │ entry (40) × batches │ control records │ batches, verbatim
//!
//! header:
//!  0        4  5        8              16             24             32
//! ┌────────┬──┬─┬──────┬──────────────┬──────────────┬──────────────┐
//! │ "RAWJ" │v │f│ zero │ number       │ id: run      │ id: commit   │
//! ├────────┴──┴─┴──────┼──────────────┼──────────────┼──────────────┤
//! │ prev: run          │ prev: commit │ object_bytes │ appended_us  │
//! ├──────────┬─────────┼──────┬───────┼──────────────┴──────────────┘
//! │ sections │ batches │ cntrl│ crc32c│
//! └──────────┴─────────┴──────┴───────┘
//! 64                                  80
//! f: in_flight, the number of the writer's unconfirmed objects directly before this one
//! cntrl: size of the control records in bytes
//! section: topic u64 │ first_offset u64 │ partition u32 │ batches u32
//! entry:   records u32 │ bytes u32 │ crc32c u32 │ kind u8 │ flags u8 │ producer epoch u16 │
//!          producer id u64 │ sequence u64 │ max_timestamp_us u64
//! flags:   1 continues the append before it │ 2 has a producer │ 4 in a transaction │ 8 commits one │ 16 aborts one
//! control: kind u8 │ zero (3) │ partitions, partition or epoch u32 │ topic, merge or producer u64 │ first_offset u64 │
//!          name_bytes u16 │ settings_bytes u16 │ owner_bytes u16 │ zero (2) │ name │ settings │ owner │
//!          zeros up to a multiple of 8
//! or:      kind 6 u8 │ zero (3) │ pieces u32 │ merge u64 │ tag u32 │ object_bytes u32 │ zero (8) │ piece (64) × pieces
//! piece:   topic u64 │ first_offset u64 │ next_offset u64 │ appended_us u64 │ newest_us u64 │ partition u32 │
//!          entries_at u32 │ batches u32 │ batches_at u32 │ bytes u32 │ zero (4)
//! ```
//!
//! A section has the batches of one partition, so that they are one range of the object. Sections are in order of topic
//! and partition, and their entries and batches are in the same order. The checksum covers the header up to it, the
//! sections, the entries and the control records; each entry repeats its batch's own checksum. So the header vouches
//! for every byte of the object.
//!
//! A merged object has the same form and begins with "RAWM". Its number is the merge's, it has no predecessor and
//! no control records, and each of its sections is a piece: in order of partition and offset, several for a partition
//! if their records are not adjacent or too many. In an entry of kind 1, `max_timestamp_us` is the time of the journal
//! object that the batch comes from.

mod build;
mod control;
mod error;
mod parse;
mod raw;
#[cfg(test)]
mod tests;

pub use build::{build_index, build_merged_index};
pub(crate) use control::{CONTROL_BYTES_MAX, control_bytes};
pub use error::ObjectError;
pub use parse::{Header, Index, Section};
pub(crate) use raw::ENTRY_BYTES;
pub use raw::{HEADER_BYTES, index_bytes};

use crate::producers::Producer;
use crate::transactions::TransactionPart;
use rawline_batch::record_batch::timeless_crc32c;

/// The format of a batch's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchKind {
    /// A batch as `docs/format.md` specifies it.
    Rawline = 1,
    /// Kafka's RecordBatch, version 2.
    Kafka = 2,
}

impl BatchKind {
    /// The time of a batch's newest record, as its entry in an object has it that was built at `appended_us`; 0 if it
    /// has none. Our batches have the time of their append, which is the object's time unless that was merged.
    pub fn newest_us(self, max_timestamp_us: u64, appended_us: u64) -> u64 {
        match self {
            BatchKind::Rawline if max_timestamp_us == 0 => appended_us,
            BatchKind::Rawline | BatchKind::Kafka => max_timestamp_us,
        }
    }
}

/// One batch as an object's index describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Batch {
    /// The format of its bytes.
    pub kind: BatchKind,
    /// Number of records, at least 1. Of a batch from which a compaction has removed records, the number of offsets
    /// that it takes.
    pub records: u32,
    /// Size in bytes, at least 1.
    pub bytes: u32,
    /// The batch's own checksum.
    pub crc32c: u32,
    /// Whether it belongs to the same append as the batch before it.
    pub continues: bool,
    /// Its producer, in the first batch of an exactly-once append.
    pub producer: Option<Producer>,
    /// Time of its newest record by the producer's clock, in microseconds since the Unix epoch; 0 if unknown. In a
    /// merged object, kind [`BatchKind::Rawline`] has the time of the journal object that the batch comes from.
    pub max_timestamp_us: u64,
    /// Its role in a transaction of its producer.
    pub transaction: Option<TransactionPart>,
}

impl Batch {
    /// The value that recognizes a retry: its checksum, and in a Kafka batch without the time that clients
    /// may have given it anew.
    pub fn content_crc32c(&self) -> u32 {
        match self.kind {
            BatchKind::Rawline => self.crc32c,
            BatchKind::Kafka => timeless_crc32c(self.crc32c, self.max_timestamp_us / 1000, self.bytes),
        }
    }
}
