//! A piece of a journal object as readers see it: as an object with an index before its batches. The index is in memory
//! only. All numbers are little-endian and unsigned.
//!
//! ```text
//! header (64)  │ entry (24) × batches │ batches, verbatim, back to back
//!
//! header:
//!  0        4  5        8              16       20       24             32           60      64
//! ┌────────┬──┬────────┬──────────────┬────────┬────────┬──────────────┬────────────┬───────┐
//! │ "RAWO" │v │ zero   │ first_offset │ records│ batches│ object_bytes │ zero       │ crc32c│
//! └────────┴──┴────────┴──────────────┴────────┴────────┴──────────────┴────────────┴───────┘
//! entry: record_first u32 │ records u32 │ position u32 │ bytes u32 │ crc32c u32 │ kind u32
//! ```
//!
//! The header's checksum covers header and entries; each entry repeats its batch's own checksum. An entry's kind is 0,
//! or 2 for Kafka's batches.

mod build;
mod entry;
mod error;
mod header;
mod index;

pub(crate) use build::build_index;
pub(crate) use entry::BatchEntry;
pub(crate) use entry::{Described, data_bytes};
pub use error::ObjectError;
pub(crate) use header::Header;
pub(crate) use index::{ObjectIndex, verify};

/// Size of an object's header in bytes.
pub(crate) const HEADER_BYTES: usize = 64;
/// Size of one entry of an object's index in bytes.
pub(crate) const ENTRY_BYTES: usize = 24;
/// The first bytes of every object.
pub(crate) const MAGIC: [u8; 4] = *b"RAWO";
const VERSION: u8 = 1;
const CRC_POSITION: usize = 60;

/// The length of our batches is a multiple of this, and so is that of an index.
pub(crate) const OBJECT_ALIGNMENT: usize = 8;

const _: () = assert!(CRC_POSITION + 4 == HEADER_BYTES, "the checksum covers the header up to itself");
const _: () = assert!(HEADER_BYTES.is_multiple_of(OBJECT_ALIGNMENT) && ENTRY_BYTES.is_multiple_of(OBJECT_ALIGNMENT));

/// Size of the index of an object with `batches` batches, header included, in bytes.
pub(crate) const fn index_bytes(batches: usize) -> usize {
    HEADER_BYTES + batches * ENTRY_BYTES
}
