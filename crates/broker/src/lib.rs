//! Topics on a store: append with group commit, read by offset, wait for data, recover at start.
//!
//! The broker sees batches, never records' contents: it depends on `rawline-batch` and on nothing that knows a record.
//! It knows no HTTP either; `docs/format.md` has the bytes it stores.

mod append;
mod broker;
mod clock;
mod commit;
mod index;
pub mod limits;
mod metrics;
pub mod object;
pub mod pool;
mod read;
mod received;
pub mod store;
mod topic;

pub use broker::{Broker, Config};
pub use clock::{Clock, SystemClock};
pub use commit::{AppendError, Appended};
pub use rawline_batch::Kind;
pub use read::{Piece, ReadAnswer, ReadError, ReadRequest};
pub use received::Received;
pub use topic::{Status, Topic, TopicError, check_name};
