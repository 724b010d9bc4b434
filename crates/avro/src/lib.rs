//! Avro records: a schema becomes a flat plan, messages become columns, strings become ids. No I/O.

mod arena;
mod byte_table;
mod codec;
#[cfg(feature = "arrow")]
mod columns;
mod container;
mod cursor;
mod datum;
mod de;
mod decode;
mod encode;
mod error;
mod fingerprint;
mod framing;
mod interner;
mod json;
mod limits;
mod measurement;
mod plan;
mod prefetch;
mod resolve;
mod row;
mod schema;
mod ser;
mod series;
mod size;
mod snapshot;
mod store;
mod sync;

pub use byte_table::LimitsError;
pub use codec::Codec;
#[cfg(feature = "arrow")]
pub use columns::{ColumnDecoder, ColumnEncoder, ColumnFault, ColumnsError, Encoded, StringAs};
pub use container::{BLOCK_BYTES_MAX, ContainerError, ContainerReader, ContainerWriter};
pub use cursor::Cursor;
pub use datum::{Datum, Elements, Entries, Fields};
pub use de::ShapeMismatch;
pub use error::{DecodeError, EncodeError, Fault, FaultKind, ReadError, ResolveError, SchemaError};
pub use framing::{Framing, FramingError, WriterId};
pub use interner::{InternError, Interner, InternerLimits, STRING_BYTES_MAX};
pub use limits::Limits;
pub use measurement::{
    Columns, Counts, FAULTS_MAX, FieldType, MEASUREMENT_SCHEMA, MeasurementDecoder, MeasurementReader, MessageFault,
    Refused, Shape, ShapeError, ValueType,
};
pub use plan::Plan;
pub use row::{Row, RowBuffer};
pub use schema::{Enum, Field, Fixed, Kind, Logical, Name, Record, Schema, Type, TypeId};
pub use series::{Scratch, SeriesError, SeriesLimits, SeriesRef, SeriesTable, TAGS_MAX};
pub use snapshot::{Mark, SnapshotError};
pub use store::{MessageReader, SchemaStore};
