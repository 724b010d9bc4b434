//! Serializes Rust types into a value's bytes with serde.
//!
//! | Rust | value |
//! |---|---|
//! | `()`, `None`, a unit struct | none |
//! | `bool` | boolean |
//! | `u8` to `u64` (`u128` if it fits) | count |
//! | `i8` to `i64` (`i128` if it fits) | integer |
//! | `f32`, `f64` | real |
//! | `char`, `&str`, `String` | string |
//! | bytes that serialize as bytes | string |
//! | `Address`, `Subnet`, `Port`, `TimestampNs`, `TimespanNs`, `Name`, `Value` of this crate | themselves |
//! | a struct, a tuple, an array, a sequence | vector, a struct's fields in their order without their names |
//! | a sequence marked with [`as_set`](crate::as_set) | set |
//! | a map | table |
//! | `Some(x)`, a newtype struct | its content |
//! | an enum's variant without content | enum, its name |
//! | an enum's variant with content | vector of the enum and the content, the latter as a struct or tuple has it |

use std::fmt::Display;

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use crate::item::{Container, Item, ItemWriter};
use crate::marked::{SET_NAME, VALUE_NAME};
use crate::writer::DEPTH_MAX;
use crate::{Kind, ValueError};

/// A Rust value can't be serialized, or bytes can't be deserialized as the Rust type.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SerdeError {
    /// The bytes aren't a value, or the result breaks a rule of the format, such as a duplicate key.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// Type and value don't match; the text has the details.
    #[error("{0}; see docs/values.md for the mapping")]
    Type(String),
    /// Nested deeper than 128.
    #[error("the type is nested deeper than {DEPTH_MAX}; nest it less")]
    TooDeep,
}

impl serde::ser::Error for SerdeError {
    fn custom<T: Display>(message: T) -> SerdeError {
        SerdeError::Type(message.to_string())
    }
}

impl serde::de::Error for SerdeError {
    fn custom<T: Display>(message: T) -> SerdeError {
        SerdeError::Type(message.to_string())
    }
}

/// Serializes a Rust value into the bytes of a value.
pub fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, SerdeError> {
    let mut out = Vec::new();
    to_bytes_into(value, &mut out)?;
    Ok(out)
}

/// Serializes a Rust value and appends the bytes. After an error, `out` is unchanged.
pub fn to_bytes_into<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), SerdeError> {
    let mut writer = ItemWriter::new(out);
    if let Err(error) = value.serialize(ValueSerializer { out: &mut writer, depth: 0, role: Role::Usual }) {
        writer.clear();
        return Err(error);
    }
    Ok(writer.finish()?)
}

struct ValueSerializer<'s, 'o> {
    out: &'s mut ItemWriter<'o>,
    /// Number of containers around the value.
    depth: u32,
    role: Role,
}

/// The type that the name of a newtype from this crate requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Usual,
    /// A sequence becomes a set.
    Set,
    /// The bytes are a whole value.
    Value,
}

impl<'s, 'o> ValueSerializer<'s, 'o> {
    fn put(self, item: Item<'_>) -> Result<(), SerdeError> {
        self.out.put(item);
        Ok(())
    }

    fn begin(self, kind: Kind) -> Result<Elements<'s, 'o>, SerdeError> {
        if self.depth >= DEPTH_MAX {
            return Err(SerdeError::TooDeep);
        }
        let container = self.out.begin(kind);
        Ok(Elements { out: self.out, container, depth: self.depth + 1, count: 0 })
    }

    /// A variant with content: its name and the content's container, in a vector of two.
    fn begin_variant(self, name: &str) -> Result<Elements<'s, 'o>, SerdeError> {
        if self.depth + 1 >= DEPTH_MAX {
            return Err(SerdeError::TooDeep);
        }
        self.out.put(Item::Vector(2));
        self.out.put(Item::Enum(name.as_bytes()));
        ValueSerializer { depth: self.depth + 1, ..self }.begin(Kind::Vector)
    }
}

impl<'s, 'o> Serializer for ValueSerializer<'s, 'o> {
    type Ok = ();
    type Error = SerdeError;
    type SerializeSeq = Elements<'s, 'o>;
    type SerializeTuple = Elements<'s, 'o>;
    type SerializeTupleStruct = Elements<'s, 'o>;
    type SerializeTupleVariant = Elements<'s, 'o>;
    type SerializeMap = Elements<'s, 'o>;
    type SerializeStruct = Elements<'s, 'o>;
    type SerializeStructVariant = Elements<'s, 'o>;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, boolean: bool) -> Result<(), SerdeError> {
        self.put(Item::Boolean(boolean))
    }

    fn serialize_i8(self, number: i8) -> Result<(), SerdeError> {
        self.put(Item::Integer(number.into()))
    }

    fn serialize_i16(self, number: i16) -> Result<(), SerdeError> {
        self.put(Item::Integer(number.into()))
    }

    fn serialize_i32(self, number: i32) -> Result<(), SerdeError> {
        self.put(Item::Integer(number.into()))
    }

    fn serialize_i64(self, number: i64) -> Result<(), SerdeError> {
        self.put(Item::Integer(number))
    }

    fn serialize_i128(self, number: i128) -> Result<(), SerdeError> {
        let number = number.try_into().map_err(|_| SerdeError::custom("an integer has 64 bits; use a smaller one"))?;
        self.put(Item::Integer(number))
    }

    fn serialize_u8(self, number: u8) -> Result<(), SerdeError> {
        self.put(Item::Count(number.into()))
    }

    fn serialize_u16(self, number: u16) -> Result<(), SerdeError> {
        self.put(Item::Count(number.into()))
    }

    fn serialize_u32(self, number: u32) -> Result<(), SerdeError> {
        self.put(Item::Count(number.into()))
    }

    fn serialize_u64(self, number: u64) -> Result<(), SerdeError> {
        self.put(Item::Count(number))
    }

    fn serialize_u128(self, number: u128) -> Result<(), SerdeError> {
        let number = number.try_into().map_err(|_| SerdeError::custom("a count has 64 bits; use a smaller one"))?;
        self.put(Item::Count(number))
    }

    fn serialize_f32(self, real: f32) -> Result<(), SerdeError> {
        self.put(Item::Real(real.into()))
    }

    fn serialize_f64(self, real: f64) -> Result<(), SerdeError> {
        self.put(Item::Real(real))
    }

    fn serialize_char(self, character: char) -> Result<(), SerdeError> {
        self.put(Item::String(character.encode_utf8(&mut [0; 4]).as_bytes()))
    }

    fn serialize_str(self, text: &str) -> Result<(), SerdeError> {
        self.put(Item::String(text.as_bytes()))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), SerdeError> {
        if self.role == Role::Value {
            self.out.put_value(bytes);
            return Ok(());
        }
        self.put(Item::String(bytes))
    }

    fn serialize_none(self) -> Result<(), SerdeError> {
        self.put(Item::None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), SerdeError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), SerdeError> {
        self.put(Item::None)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), SerdeError> {
        self.put(Item::None)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<(), SerdeError> {
        self.put(Item::Enum(name.as_bytes()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<(), SerdeError> {
        let role = match name {
            SET_NAME => Role::Set,
            VALUE_NAME => Role::Value,
            _ => self.role,
        };
        value.serialize(ValueSerializer { role, ..self })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<(), SerdeError> {
        if self.depth >= DEPTH_MAX {
            return Err(SerdeError::TooDeep);
        }
        self.out.put(Item::Vector(2));
        self.out.put(Item::Enum(name.as_bytes()));
        value.serialize(ValueSerializer { out: self.out, depth: self.depth + 1, role: Role::Usual })
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements<'s, 'o>, SerdeError> {
        let kind = if self.role == Role::Set { Kind::Set } else { Kind::Vector };
        self.begin(kind)
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements<'s, 'o>, SerdeError> {
        let kind = if self.role == Role::Set { Kind::Set } else { Kind::Vector };
        self.begin(kind)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements<'s, 'o>, SerdeError> {
        self.begin(Kind::Vector)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Elements<'s, 'o>, SerdeError> {
        self.begin_variant(name)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Elements<'s, 'o>, SerdeError> {
        self.begin(Kind::Table)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Elements<'s, 'o>, SerdeError> {
        self.begin(Kind::Vector)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Elements<'s, 'o>, SerdeError> {
        self.begin_variant(name)
    }
}

/// An open container.
struct Elements<'s, 'o> {
    out: &'s mut ItemWriter<'o>,
    container: Container,
    depth: u32,
    count: usize,
}

impl Elements<'_, '_> {
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        self.count += 1;
        self.add_part(value)
    }

    fn add_part<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        value.serialize(ValueSerializer { out: self.out, depth: self.depth, role: Role::Usual })
    }

    fn finish(self) -> Result<(), SerdeError> {
        self.out.end(self.container, self.count);
        Ok(())
    }
}

macro_rules! elements {
    ($($of:ident :: $add:ident),*) => {
        $(impl $of for Elements<'_, '_> {
            type Ok = ();
            type Error = SerdeError;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
                self.add(value)
            }

            fn end(self) -> Result<(), SerdeError> {
                self.finish()
            }
        })*
    };
}

elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! fields {
    ($($of:ident),*) => {
        $(impl $of for Elements<'_, '_> {
            type Ok = ();
            type Error = SerdeError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), SerdeError> {
                self.add(value)
            }

            /// A field is identified by its position, so a skipped one keeps its place.
            fn skip_field(&mut self, _: &'static str) -> Result<(), SerdeError> {
                self.add(&())
            }

            fn end(self) -> Result<(), SerdeError> {
                self.finish()
            }
        })*
    };
}

fields!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Elements<'_, '_> {
    type Ok = ();
    type Error = SerdeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), SerdeError> {
        self.add(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        self.add_part(value)
    }

    fn end(self) -> Result<(), SerdeError> {
        self.finish()
    }
}
