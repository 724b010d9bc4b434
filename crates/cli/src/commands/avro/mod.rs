//! Avro on the command line: lines of JSON or CSV into records, records into JSON, schemas from files and from the log.

mod input;
mod schemas;
mod show;

pub use input::{EncodeArgs, Encoder, FramingArg};
pub use schemas::{Schemas, read_schema};
pub use show::{DecodeArgs, Shower};

/// The schema that `--schema measurement` stands for.
pub use rawline_series::MEASUREMENT_SCHEMA;
