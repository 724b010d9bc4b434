//! Topics on a store: append with group commit, read by offset, wait for data, recover at start.
//!
//! The broker sees batches, never records' contents: it depends on `rawline-batch` and on nothing that knows a record.
//! It knows no HTTP either; `docs/format.md` has the bytes it stores.

mod clock;
mod error;
pub mod limits;
pub mod object;
pub mod pool;
pub mod store;

pub use clock::{Clock, SystemClock};
pub use error::Kind;
