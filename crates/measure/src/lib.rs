//! Rolls up a topic of measurements into Parquet files, and queries them.
//!
//! `rollup` writes and `query` reads; neither uses the other. They share the layout of the files, the store, and the
//! aggregates of windows.

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
