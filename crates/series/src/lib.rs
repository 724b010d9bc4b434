//! Time series of measurements: maps strings and tag sets to dense ids, decodes Avro measurements into columns. No I/O.

mod arena;
mod byte_table;
mod interner;
mod measurement;
mod prefetch;
mod series;
mod snapshot;
mod sync;

pub use byte_table::LimitsError;
pub use interner::{InternError, Interner, InternerLimits, STRING_BYTES_MAX};
pub use measurement::{
    Columns, FieldType, MEASUREMENT_SCHEMA, MeasurementDecoder, MeasurementReader, MessageFault, Refused, Shape,
    ShapeError, ValueType,
};
pub use series::{Scratch, SeriesError, SeriesLimits, SeriesRef, SeriesTable, TAGS_MAX};
pub use snapshot::{Mark, SnapshotError};
