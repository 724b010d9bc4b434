//! Protocol Buffers: prost and quick-protobuf, both from the one schema.

use anyhow::{Context, Result};
use prost::Message as _;
use quick_protobuf::{BytesReader, MessageRead, MessageWrite, Writer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cases::plain::{Doubles, Measurement, Order, PingPong, Strings, Zeek};
use crate::cases::{Message, OneSummed, Sum, Summed, text_or_none};
use crate::codec::{Codec, Row, Used, convert};
use crate::sums::sums;

/// What prost's generator made.
#[allow(clippy::all, clippy::restriction, missing_docs, reason = "generated")]
pub mod generated {
    include!(concat!(env!("OUT_DIR"), "/rawline.lab.rs"));
}

/// What quick-protobuf's generator made.
#[allow(clippy::all, clippy::restriction, missing_docs, warnings, reason = "generated")]
pub mod quick {
    include!(concat!(env!("OUT_DIR"), "/quick/mod.rs"));
}

/// Messages with nothing but the one field: a Protobuf reader passes over fields that its schema lacks.
#[allow(missing_docs, reason = "the fields are documented by the schema")]
pub mod one {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct PingPong {
        #[prost(string, tag = "3")]
        pub message: String,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Doubles {
        #[prost(double, tag = "3")]
        pub single_3: f64,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Strings {
        #[prost(string, tag = "3")]
        pub string_3: String,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Zeek {
        #[prost(string, tag = "10")]
        pub query: String,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Measurement {
        #[prost(string, tag = "1")]
        pub metric: String,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Customer {
        #[prost(string, tag = "2")]
        pub name: String,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Order {
        #[prost(message, optional, tag = "4")]
        pub customer: Option<Customer>,
    }
}

/// A case's generated types.
pub trait Proto: Message {
    /// prost's.
    type Prost: prost::Message + Default + Serialize + DeserializeOwned + Summed + 'static;
    /// prost's with only the one field.
    type ProstOne: prost::Message + Default + OneSummed;
    /// quick-protobuf's.
    type Quick: for<'a> MessageRead<'a> + MessageWrite + Serialize + DeserializeOwned + Summed + Send + Sync + 'static;
    /// The numbers on the way to the one field.
    const NUMBERS: &'static [u32];
}

macro_rules! proto {
    ($($of:ident $numbers:expr, $add:expr;)*) => {
        $(
            impl Proto for $of {
                type Prost = generated::$of;
                type ProstOne = one::$of;
                type Quick = quick::rawline::lab::$of;
                const NUMBERS: &'static [u32] = &$numbers;
            }

            impl OneSummed for one::$of {
                #[inline]
                fn one(&self) -> u64 {
                    let mut sum = Sum::default();
                    let add: fn(&mut Sum, &one::$of) = $add;
                    add(&mut sum, self);
                    sum.0
                }
            }
        )*
    };
}

proto! {
    PingPong [3], |sum, message| sum.text(&message.message);
    Doubles [3], |sum, message| sum.real(message.single_3);
    Strings [3], |sum, message| sum.text(&message.string_3);
    Zeek [10], |sum, message| sum.text(&message.query);
    Measurement [1], |sum, message| sum.text(&message.metric);
    Order [4, 2], |sum, message| sum.text(message.customer.as_ref().map_or("", |customer| &customer.name));
}

sums!(PingPong generated::PingPong, []);
sums!(Doubles generated::Doubles, []);
sums!(Strings generated::Strings, []);
sums!(Zeek generated::Zeek, [], std::convert::identity);
sums!(Measurement generated::Measurement, []);
sums!(Order generated::Order, [], Option::as_ref, text_or_none, std::convert::identity);

sums!(PingPong quick::rawline::lab::PingPong, []);
sums!(Doubles quick::rawline::lab::Doubles, []);
sums!(Strings quick::rawline::lab::Strings, []);
sums!(Zeek quick::rawline::lab::Zeek, [], Some);
sums!(Measurement quick::rawline::lab::Measurement, []);
sums!(Order quick::rawline::lab::Order, [], Option::as_ref, String::as_str, Some);

/// prost: `encode` behind a kept buffer, `decode`.
pub struct Prost {
    buffer: Vec<u8>,
}

impl Used for Prost {
    const ROW: Row = Row::new("protobuf", "prost");
}

impl<M: Proto> Codec<M> for Prost {
    type Native = M::Prost;
    type Decoded = M::Prost;

    fn new() -> Result<Self> {
        Ok(Prost { buffer: Vec::new() })
    }

    fn native(message: &M) -> Result<M::Prost> {
        convert(message)
    }

    fn message(decoded: M::Prost) -> Result<M> {
        convert(&decoded)
    }

    fn encode(&mut self, native: &M::Prost) -> Result<&[u8]> {
        self.buffer.clear();
        native.encode(&mut self.buffer)?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M::Prost> {
        Ok(M::Prost::decode(bytes)?)
    }

    fn field(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(M::ProstOne::decode(bytes)?.one())
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(M::Prost::decode(bytes)?.sum())
    }
}

/// quick-protobuf with owned texts; the one field by its reader, field by field until it is there. It does not know
/// proto3's `optional`: what is absent reads as zero or empty, and zero and empty are not written.
pub struct Quick {
    buffer: Vec<u8>,
}

/// The fields that proto3 says may be absent, and as what quick-protobuf has them then.
fn absent() -> [(&'static str, Value); 5] {
    let text = Value::from("");
    let number = Value::from(0.0);
    [
        ("rtt", number.clone()),
        ("discount", number),
        ("email", text.clone()),
        ("description", text.clone()),
        ("note", text),
    ]
}

/// Replaces the absent fields in a message by something else, wherever they are.
fn replace(value: &mut Value, with: &impl Fn(&str, &mut Value)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                with(name, field);
                replace(field, with);
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| replace(element, with)),
        _ => {}
    }
}

impl Used for Quick {
    const ROW: Row = Row::new("protobuf", "quick-protobuf");
}

impl<M: Proto> Codec<M> for Quick {
    type Native = M::Quick;
    type Decoded = M::Quick;

    fn new() -> Result<Self> {
        Ok(Quick { buffer: Vec::new() })
    }

    fn native(message: &M) -> Result<M::Quick> {
        let mut value = serde_json::to_value(message)?;
        let absent = absent();
        replace(&mut value, &|name, field| {
            if let (true, Some((_, zero))) = (field.is_null(), absent.iter().find(|(known, _)| *known == name)) {
                *field = zero.clone();
            }
        });
        Ok(serde_json::from_value(value)?)
    }

    fn message(decoded: M::Quick) -> Result<M> {
        let mut value = serde_json::to_value(&decoded)?;
        let absent = absent();
        replace(&mut value, &|name, field| {
            if absent.iter().any(|(known, zero)| *known == name && zero == field) {
                *field = Value::Null;
            }
        });
        Ok(serde_json::from_value(value)?)
    }

    fn encode(&mut self, native: &M::Quick) -> Result<&[u8]> {
        self.buffer.clear();
        native.write_message(&mut Writer::new(&mut self.buffer))?;
        Ok(&self.buffer)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<M::Quick> {
        Ok(M::Quick::from_reader(&mut BytesReader::from_bytes(bytes), bytes)?)
    }

    fn field(&mut self, mut bytes: &[u8]) -> Result<u64> {
        const KIND_FIXED64: u32 = 1;
        let mut sum = Sum::default();
        let (last, way) = M::NUMBERS.split_last().context("no way to the one field")?;
        for number in way {
            let (mut reader, _) = find(bytes, *number)?.context("the message lacks the record")?;
            bytes = reader.read_bytes(bytes)?;
        }
        // What is not there is the default, which adds nothing to a sum.
        if let Some((mut reader, tag)) = find(bytes, *last)? {
            match tag & 7 {
                KIND_FIXED64 => sum.real(reader.read_double(bytes)?),
                _ => sum.text(reader.read_string(bytes)?),
            }
        }
        Ok(sum.0)
    }

    fn fields(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(M::Quick::from_reader(&mut BytesReader::from_bytes(bytes), bytes)?.sum())
    }
}

/// A reader behind the tag of the first field of this number, and the tag.
#[inline]
fn find(bytes: &[u8], number: u32) -> Result<Option<(BytesReader, u32)>> {
    let mut reader = BytesReader::from_bytes(bytes);
    while !reader.is_eof() {
        let tag = reader.next_tag(bytes)?;
        if tag >> 3 == number {
            return Ok(Some((reader, tag)));
        }
        reader.read_unknown(bytes, tag)?;
    }
    Ok(None)
}
