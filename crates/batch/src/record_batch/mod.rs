//! Kafka's RecordBatch, version 2.
//!
//! A broker stores batches as they arrive: [`RecordBatchChecker`] and [`stamp`] are all it needs. To read the records,
//! [`unpack`] the section after the header, of which [`Records`] are an iterator. [`RecordBatchBuilder`] makes batches;
//! [`convert`] makes them of the records of a Rawline batch. For the reverse, the values of [`Records`] go to
//! [`crate::Builder`] or [`crate::seal`], a null one as an empty record.
//!
//! All numbers are big-endian; the times are in milliseconds since the Unix epoch. The producer's checksum covers the
//! bytes from 21 on. The broker decides two of the fields before it: the offset, and the leader's epoch, which is 0
//! here.
//!
//! ```text
//!  0            8            12           16       17        21         23                27
//! ┌────────────┬────────────┬────────────┬────────┬─────────┬──────────┬─────────────────┐
//! │ base offset│ length     │ leader     │ magic 2│ crc32c  │attributes│ last offset     │
//! │ i64        │ from 12 on │ epoch i32  │        │ of 21…  │ i16      │ delta i32       │
//! ├────────────┴────────────┼────────────┴───┬────┴─────────┼──────────┼─────────────────┤
//! │ base timestamp i64      │ max timestamp  │ producer     │ epoch i16│ base sequence   │
//! │                         │ i64            │ id i64       │          │ i32             │
//! ├───────────────┬─────────┴────────────────┴──────────────┴──────────┴─────────────────┘
//! │ records i32   │ records, maybe compressed …
//! └───────────────┘
//! 57              61
//! attributes: codec (3 bits) │ time of append │ transactional │ control │ delete horizon
//! ```
//!
//! A compaction removes records and keeps the offsets of the others: such a batch takes more offsets than it has
//! records.

mod builder;
mod checker;
mod convert;
mod encode;
mod error;
mod header;
mod marker;
mod pack;
mod records;
mod stored;
mod structure;
mod timeless;
mod unpack;
mod varint;

pub use builder::{RecordBatchBuilder, without_records};
pub use checker::{CheckedRecordBatch, RecordBatchChecker};
pub use convert::{convert, converted_bytes};
pub use error::RecordError;
pub use header::{OFFSETS_MAX, RecordBatchError, RecordBatchHeader, RecordCodec, RecordProducer};
pub use marker::{MARKER_BYTES, end_marker};
pub use records::{Headers, Record, RecordCursor, Records};
pub use stored::check_stored;
pub use timeless::timeless_crc32c;
pub use unpack::unpack;

/// Size of a header in bytes.
pub const RECORD_BATCH_HEADER_BYTES: usize = 61;

/// End of the fields that the broker sets: base offset, length and leader's epoch.
pub const STAMPED_BYTES: usize = 16;

/// The first bytes of a stored batch: the broker's fields, and the batch's length. The rest is unchanged.
pub fn stamp(first_offset: u64, batch_bytes: u32) -> [u8; STAMPED_BYTES] {
    let mut front = [0; STAMPED_BYTES];
    let (offset, rest) = front.split_at_mut(8);
    offset.copy_from_slice(&first_offset.to_be_bytes());
    let length = batch_bytes - header::LENGTH_FROM as u32;
    rest.split_at_mut(4).0.copy_from_slice(&length.to_be_bytes());
    front
}
