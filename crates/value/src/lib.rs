//! Structured values in Zeek Broker's binary format. Bytes in, bytes out; no I/O, no async, no clock.
//!
//! - [`Value`] is an owned tree of all types of the format.
//! - [`Decoder`] checks bytes once and returns a [`Variant`], a view into them, or an [`Envelope`], which owns them.
//!   [`Decoder::pick`] reads one value within a large one without reading the bytes after it.
//! - [`ValueReader`] takes values from the bytes one at a time: the fastest way to read types of known shape.
//! - [`ListBuilder`], [`SetBuilder`] and [`TableBuilder`] write bytes without a tree; [`zeek`] has Zeek's messages.
//! - [`Filter`] checks conditions on fields without decoding the rest.
//! - [`Hint`] gives a value a type that its source, such as JSON, doesn't have.
//! - [`encode()`] and [`decode()`] are for your own types, which derive [`ToValue`] and [`FromValue`] with the feature
//!   `derive`; [`to_bytes`] and [`from_bytes`] do the same with serde, more slowly.
//! - [`json`] writes values as JSON and reads them.

#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod __derive;
mod address;
mod builder;
mod de;
mod decode;
mod decoder;
mod encode;
mod envelope;
mod error;
mod filter;
mod frame;
mod from_std;
mod from_value;
mod hint;
mod item;
pub mod json;
mod kind;
mod marked;
mod node;
mod order;
mod pick;
mod port;
mod reader;
mod ser;
mod set;
mod subnet;
mod table;
mod text;
mod to_value;
mod value;
mod variant;
mod wire;
mod writer;
pub mod zeek;

pub use address::{Address, AddressError};
pub use builder::{EnumName, ListBuilder, Put, SetBuilder, TableBuilder, TimespanNs, TimestampNs};
pub use de::from_bytes;
pub use decoder::Decoder;
pub use envelope::Envelope;
pub use error::ValueError;
pub use filter::{CONDITIONS_MAX, FILTER_BYTES_MAX, Filter, FilterError};
pub use frame::{EndpointId, Frame, FrameError, FrameKind, TTL_DEFAULT};
pub use from_value::{DecodeError, FromValue, decode};
pub use hint::{FieldHint, Hint, HintError, MisfitError, TextError};
pub use kind::Kind;
pub use marked::{Name, TimeError, as_set};
pub use pick::Step;
pub use port::{Port, PortError, Protocol};
pub use reader::{Fields, Pairs, ValueReader};
pub use ser::{SerdeError, to_bytes, to_bytes_into};
pub use set::{NotUnique, Set};
pub use subnet::{Subnet, SubnetError};
pub use table::Table;
pub use text::Text;
pub use to_value::ToValue;
pub use value::Value;
pub use variant::{Field, ListView, SetView, TableView, Variant};
pub use writer::{ValueWriter, encode, encode_into};

#[cfg(feature = "derive")]
pub use rawline_value_derive::{FromValue, ToValue};

/// Limits of a reader. Each is checked before the reader allocates memory or recurses for what the bytes claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum nesting of containers.
    pub depth_max: u32,
    /// Maximum number of elements in all containers together; a table's pair counts as two.
    pub elements_max: u32,
    /// Maximum length of a value in bytes.
    pub bytes_max: u32,
}

impl Limits {
    /// Upper bounds for every reader: a depth that fits a thread's 2 MiB stack even in a debug build, and the positions
    /// that a view's index can hold.
    pub const FORMAT: Limits = Limits { depth_max: 256, elements_max: u32::MAX, bytes_max: (1 << 28) - 1 };
}

impl Default for Limits {
    /// 128 deep, 1 Mi elements (32 MiB as a tree), 16 MiB long.
    fn default() -> Self {
        Limits { depth_max: 128, elements_max: 1 << 20, bytes_max: 16 << 20 }
    }
}
