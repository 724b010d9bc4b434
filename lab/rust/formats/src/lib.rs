//! The Rust side of the laboratory: every row, its conformance and its measurement.
//!
//! One file or folder for each format, with the rows of that format; [`codec`] says what a row is, [`rows`] lists them.

// Named by the code that flatc generates.
extern crate alloc;

// The code that capnpc generates expects its module at the root of the crate.
pub use generated::cases_capnp;

pub mod allocated;
pub mod archive;
pub mod avro;
pub mod bench;
pub mod binary;
pub mod capn;
pub mod cases;
pub mod cbor;
pub mod codec;
pub mod conform;
pub mod files;
pub mod flat;
pub mod generated;
pub mod json;
pub mod machine;
pub mod msgpack;
pub mod protobuf;
pub mod rows;
pub mod sbe;
mod sums;
pub mod values;
pub mod versions;
pub mod work;
