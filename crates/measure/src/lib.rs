//! A topic of measurements becomes roll-ups in Parquet, and answers to queries.

mod agg;
mod answer;
mod cells;
mod groups;
mod labels;
pub mod plot;
mod plot_axis;
pub mod query;
mod query_error;
mod scan;
pub mod select;
mod select_fault;
pub mod series_list;
pub mod table;
pub mod time;

mod aggregate;
mod chunk;
mod clean;
mod commit;
mod decode;
mod error;
mod fetch;
mod file;
mod known;
pub mod layout;
mod limits;
mod merge;
mod pipeline;
mod rollup;
mod sketch;
mod snapshot;
mod store;
mod sum;
mod window;

pub use agg::Agg;
pub use aggregate::{Aggregate, WindowRow};
pub use answer::{Answer, Line};
pub use decode::BadMessage;
pub use error::MeasureError;
pub use pipeline::{Options, Pipeline, Progress, Refresh, Retention, Summary};
pub use rawline_client::Kind;
#[doc(hidden)]
pub use rollup::roll_up_columns;
pub use scan::ReadCounts;
pub use sketch::{RELATIVE_ERROR, Sketch};
pub use snapshot::Snapshot;
pub use store::Storage;
pub use sum::ExactSum;
