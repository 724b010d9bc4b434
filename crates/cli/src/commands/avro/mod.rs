//! Avro on the command line: converts JSON, CSV and container files to records and back; schemas.

mod csv;
mod fields;
mod input;
mod schemas;
mod show;

pub use input::{EncodeArgs, Encoder, FileRecords, FramingArg};
pub use schemas::{Schemas, WriterSchema, add_writers};
pub use show::{DecodeArgs, LineShower, Shower};

/// The schema of `--schema measurement`.
pub use rawline_series::MEASUREMENT_SCHEMA;
