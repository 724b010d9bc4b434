//! A topic of measurements becomes roll-ups in Parquet, and answers to queries.
//!
//! `rollup` writes, `query` reads; neither sees the other. What they share is the layout of the files, the store they
//! lie in, and what a window's row means.

mod aggregate;
mod counter;
mod error;
pub mod layout;
pub mod query;
mod rollup;
mod sketch;
mod snapshot;
mod store;
mod sum;
pub mod time;

pub use aggregate::{Aggregate, WindowRow};
pub use counter::Stretch;
pub use error::MeasureError;
pub use query::{Agg, Answer, Line, ReadCounts, plot, select, table};
pub use rawline_client::Kind;
#[doc(hidden)]
pub use rollup::roll_up_columns;
pub use rollup::{BadMessage, Full, Options, Pipeline, Progress, Refresh, Retention, Summary};
pub use sketch::{RELATIVE_ERROR, Sketch};
pub use snapshot::Snapshot;
pub use store::Storage;
pub use sum::ExactSum;
