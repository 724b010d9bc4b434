//! Avro on the command line: converts JSON, CSV and container files to records and back; schemas.

mod input;
mod schemas;
mod show;

pub use input::{EncodeArgs, Encoder, FileRecords, FramingArg};
pub use schemas::{Schemas, read_schema};
pub use show::{DecodeArgs, LineShower, Shower};

/// The schema of `--schema measurement`.
pub use rawline_series::MEASUREMENT_SCHEMA;
