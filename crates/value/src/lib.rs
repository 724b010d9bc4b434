//! Structured values in Zeek Broker's binary format. Bytes in, bytes out; no I/O, no async, no clock.
//!
//! - [`Value`] is an owned tree of every type that the format has.
//! - [`Decoder`] checks bytes once and gives a [`Variant`], a view into them, or an [`Envelope`], which owns them.
//!   [`Decoder::pick`] reads one value out of a large one without reading the bytes after it.
//! - [`ValueReader`] takes values off the bytes one after the other: the fastest way into types whose shape is known.
//! - [`ListBuilder`], [`SetBuilder`] and [`TableBuilder`] write bytes without a tree; [`zeek`] has Zeek's messages.
//! - [`Hint`] is the type that a value is to get whose source, such as JSON, does not say it.
//! - [`json`] shows values as JSON and reads them; [`to_bytes`] and [`from_bytes`] are for types of your own, by serde.

#![forbid(unsafe_code)]

mod address;
mod builder;
mod de;
mod decode;
mod decoder;
mod encode;
mod envelope;
mod error;
mod frame;
mod hint;
mod item;
pub mod json;
mod marked;
mod order;
mod pick;
mod port;
mod reader;
mod ser;
mod set;
mod subnet;
mod table;
mod text;
mod value;
mod variant;
mod wire;
pub mod zeek;

pub use address::{Address, AddressError};
pub use builder::{EnumName, ListBuilder, Put, SetBuilder, TableBuilder, TimespanNs, TimestampNs};
pub use de::from_bytes;
pub use decoder::Decoder;
pub use envelope::Envelope;
pub use error::ValueError;
pub use frame::{EndpointId, Frame, FrameError, FrameKind, TTL_DEFAULT};
pub use hint::{FieldHint, Hint, HintError, MisfitError, TextError};
pub use marked::{Name, TimeError, as_set};
pub use pick::Step;
pub use port::{Port, PortError, Protocol};
pub use reader::{Fields, Pairs, ValueReader};
pub use ser::{SerdeError, to_bytes, to_bytes_into};
pub use set::{NotUnique, Set};
pub use subnet::{Subnet, SubnetError};
pub use table::Table;
pub use text::Text;
pub use value::{Kind, Value};
pub use variant::{Field, ListView, SetView, TableView, Variant};

/// What a reader accepts at most. Every limit is checked before memory is had or a frame is put on the stack for what
/// the bytes claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Containers inside each other.
    pub depth_max: u32,
    /// Elements of all containers together; a table's pair counts as two.
    pub elements_max: u32,
    /// Length of a value, in bytes.
    pub bytes_max: u32,
}

impl Limits {
    /// What no reader goes beyond: a depth that a thread's 2 MiB stack carries even in a debug build, and the positions
    /// that a view's index can hold.
    pub const FORMAT: Limits = Limits { depth_max: 256, elements_max: u32::MAX, bytes_max: (1 << 28) - 1 };
}

impl Default for Limits {
    /// 128 deep, 1 Mi elements (32 MiB as a tree), 16 MiB long.
    fn default() -> Self {
        Limits { depth_max: 128, elements_max: 1 << 20, bytes_max: 16 << 20 }
    }
}
