//! Roll-ups: turns a topic of measurements into Parquet files and the commits that name them.

mod chunk;
mod clean;
mod commit;
mod decode;
mod fetch;
mod file;
mod known;
mod limits;
mod merge;
mod options;
mod pipeline;
mod retention;
mod roll_up;
mod run;
mod window;
mod workers;

pub use decode::BadMessage;
pub use options::{Options, Refresh, Retention};
pub use pipeline::Pipeline;
#[doc(hidden)]
pub use roll_up::roll_up_columns;
pub use run::{Full, Progress, Summary};
