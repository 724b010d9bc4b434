//! Kafka's wire protocol: Produce and Fetch, whose records are received and sent in pieces, and the other APIs, whose
//! requests and responses are declared as structures ([`messages`]). Bytes in, bytes out; no I/O, no async, no clock.
//! No request is trusted: lengths and counts are compared with the bytes that follow, and the memory that a request
//! takes is bounded by its size.
//!
//! All numbers are big-endian. From some version on ("flexible"), lengths and counts are varints, one greater than
//! their value, and each structure ends with tagged fields.

pub mod api;
pub mod error;
pub mod fetch;
pub mod frame;
mod memory;
pub mod messages;
pub mod produce;
mod read;
pub mod sasl;
mod write;

pub use api::Api;
pub use error::ErrorCode;
pub use memory::{MEMORY_OF_ANY, MEMORY_PER_BYTE};
pub use messages::{Request, Response};
pub use read::WireError;
