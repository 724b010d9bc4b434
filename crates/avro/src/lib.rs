//! Avro records: compiles a schema into a flat plan, and decodes messages into rows or columns. No I/O.

mod branches;
mod codec;
#[cfg(feature = "arrow")]
mod columns;
mod container;
mod counts;
mod cursor;
mod datum;
mod de;
mod decode;
mod defaults;
mod encode;
mod error;
mod fingerprint;
mod framing;
mod item;
mod json;
mod limits;
mod parse;
mod plan;
mod record_parts;
mod resolve;
mod row;
mod schema;
mod ser;
mod size;
mod store;
mod string_ids;
pub mod write;

pub use codec::Codec;
#[cfg(feature = "arrow")]
pub use columns::{ColumnDecoder, ColumnEncoder, ColumnFault, ColumnsError, Encoded, StringAs};
pub use container::{BLOCK_BYTES_MAX, ContainerError, ContainerReader, ContainerWriter};
pub use counts::{Counts, FAULTS_MAX};
pub use cursor::Cursor;
pub use datum::{Datum, Elements, Entries, Fields};
pub use error::{DecodeError, EncodeError, Fault, FaultKind, ReadError, ResolveError, SchemaError, ShapeMismatch};
pub use framing::{Framing, FramingError, WriterId};
pub use json::{Json, LineEncoder};
pub use limits::Limits;
pub use plan::Plan;
pub use row::{Row, RowBuffer};
pub use schema::{Enum, Field, Fixed, Kind, Logical, Name, Record, Schema, Type, TypeId};
pub use store::{MessageReader, SchemaStore};
pub use string_ids::StringIds;
