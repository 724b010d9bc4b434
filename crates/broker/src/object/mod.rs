//! The bytes of an object: what one commit stores.
//!
//! All numbers are little-endian and unsigned. The index comes first, so that a segment can be walked from its
//! beginning and one small ranged GET returns an S3 object's index.
//!
//! ```text
//! header (64)  │ entry (24) × batches │ batches, verbatim, back to back
//!
//! header:
//!  0        4  5        8              16       20       24             32
//! ┌────────┬──┬────────┬──────────────┬────────┬────────┬──────────────┐
//! │ "RAWO" │v │ zero   │ first_offset │ records│ batches│ object_bytes │
//! ├────────┴──┴────────┼──────────────┼────────┴────────┼──────┬───────┤
//! │ appended_us        │ writer_id    │ commit          │ uncon│ crc32c│
//! └────────────────────┴──────────────┴─────────────────┴──────┴───────┘
//! 32                   40             48                56     60      64
//! uncon: 1 + number of records before this object that were not confirmed when it was built; 0 if not recorded
//! entry: record_first u32 │ records u32 │ position u32 │ bytes u32 │ crc32c u32 │ zero u32
//! ```
//!
//! The header's checksum covers header and entries; each entry repeats its batch's own checksum. So an object's header
//! vouches for every byte of it.
//!
//! Where a piece of a journal object is to look like an object, its index has this form too, in memory only. There an
//! entry's last field says the kind of the batch: 0, or 2 for Kafka's.

mod build;
mod entry;
mod error;
mod header;
mod index;
mod remains;

pub(crate) use build::build_index;
pub use build::{Object, Stamp};
pub use entry::BatchEntry;
pub(crate) use entry::{Described, data_bytes};
pub use error::ObjectError;
pub use header::Header;
pub(crate) use index::verify_apart;
pub use index::{ObjectIndex, verify};
pub(crate) use remains::{place, remains};

/// Size of an object's header in bytes.
pub const HEADER_BYTES: usize = 64;
/// Size of one entry of an object's index in bytes.
pub const ENTRY_BYTES: usize = 24;
/// The first bytes of every object.
pub const MAGIC: [u8; 4] = *b"RAWO";
const VERSION: u8 = 1;
const CRC_POSITION: usize = 60;

/// Every stored object's length is a multiple of this: its header, its entries and its batches are.
pub(crate) const OBJECT_ALIGNMENT: usize = 8;

const _: () = assert!(CRC_POSITION + 4 == HEADER_BYTES, "the checksum covers the header up to itself");
const _: () = assert!(HEADER_BYTES.is_multiple_of(OBJECT_ALIGNMENT) && ENTRY_BYTES.is_multiple_of(OBJECT_ALIGNMENT));

/// Size of the index of an object with `batches` batches, header included, in bytes.
pub const fn index_bytes(batches: usize) -> usize {
    HEADER_BYTES + batches * ENTRY_BYTES
}
