//! Deserializes a value's bytes into Rust types with serde; borrows strings from the bytes where the type allows it.
//!
//! The mapping is the inverse of [`to_bytes`](crate::to_bytes), with these additions:
//!
//! - a struct can also be read from a table whose keys are the names of its fields;
//! - extra elements of a vector are ignored; missing ones need `#[serde(default)]`;
//! - a whole number can be read into any Rust number that holds it;
//! - an address, subnet, port, time or duration is read as text unless the target has the matching type;
//! - duplicates in sets and tables are left to the target type; a [`Decoder`](crate::Decoder) checks for them.

use serde::Deserialize;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::item::{Item, ItemReader};
use crate::json::{Rfc3339, Seconds};
use crate::marked::VALUE_NAME;
use crate::writer::DEPTH_MAX;
use crate::{Kind, Limits, SerdeError};

/// Deserializes a Rust value from these bytes. Fails if bytes are left over.
pub fn from_bytes<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, SerdeError> {
    let mut reader = ItemReader::new(bytes, &Limits::default())?;
    let value = T::deserialize(ValueDeserializer { reader: &mut reader, depth: 0 })?;
    reader.finish()?;
    Ok(value)
}

struct ValueDeserializer<'r, 'de> {
    reader: &'r mut ItemReader<'de>,
    /// Number of containers and options around the value.
    depth: u32,
}

impl<'de> ValueDeserializer<'_, 'de> {
    fn kind_next(&self) -> Option<Kind> {
        self.reader.rest().first().copied().and_then(Kind::of_tag)
    }

    fn elements(&mut self, left: usize) -> Result<Elements<'_, 'de>, SerdeError> {
        if self.depth >= DEPTH_MAX {
            return Err(SerdeError::TooDeep);
        }
        Ok(Elements { reader: self.reader, depth: self.depth + 1, left })
    }
}

impl<'de> Deserializer<'de> for ValueDeserializer<'_, 'de> {
    type Error = SerdeError;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.reader.item()? {
            Item::None => visitor.visit_unit(),
            Item::Boolean(boolean) => visitor.visit_bool(boolean),
            Item::Count(count) => visitor.visit_u64(count),
            Item::Integer(number) => visitor.visit_i64(number),
            Item::Real(real) => visitor.visit_f64(real),
            Item::String(text) | Item::Enum(text) => visit_text(text, visitor),
            Item::Address(address) => visitor.visit_string(address.to_string()),
            Item::Subnet(subnet) => visitor.visit_string(subnet.to_string()),
            Item::Port(port) => visitor.visit_string(port.to_string()),
            Item::Timestamp(time) => visitor.visit_string(Rfc3339(time).to_string()),
            Item::Timespan(span) => visitor.visit_string(Seconds(span).to_string()),
            Item::Set(left) | Item::Vector(left) => {
                let mut elements = self.elements(left)?;
                let value = visitor.visit_seq(&mut elements)?;
                elements.skip()?;
                Ok(value)
            }
            Item::Table(pairs) => {
                let mut elements = self.elements(pairs * 2)?;
                let value = visitor.visit_map(&mut elements)?;
                elements.skip()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        if self.kind_next() == Some(Kind::None) {
            self.reader.item()?;
            return visitor.visit_none();
        }
        // An option takes no bytes, so only this prevents a type made of options alone from recursing forever.
        if self.depth >= DEPTH_MAX {
            return Err(SerdeError::TooDeep);
        }
        visitor.visit_some(ValueDeserializer { depth: self.depth + 1, ..self })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        if name == VALUE_NAME {
            return visitor.visit_borrowed_bytes(self.reader.value()?);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.reader.text()? {
            Some(bytes) => visitor.visit_borrowed_bytes(bytes),
            None => self.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.reader.text()? {
            Some(bytes) => visit_text(bytes, visitor),
            None => self.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        match self.reader.item()? {
            Item::Enum(name) | Item::String(name) => {
                visitor.visit_enum(BorrowedStrDeserializer::new(variant_name(name)?))
            }
            Item::Vector(2) if self.depth < DEPTH_MAX => match self.reader.item()? {
                Item::Enum(name) | Item::String(name) => visitor.visit_enum(Variant {
                    name: variant_name(name)?,
                    content: ValueDeserializer { reader: self.reader, depth: self.depth + 1 },
                }),
                item => Err(no_variant(item)),
            },
            item => Err(no_variant(item)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.reader.value()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char unit seq tuple tuple_struct map struct
    }
}

#[inline]
fn visit_text<'de, V: Visitor<'de>>(text: &'de [u8], visitor: V) -> Result<V::Value, SerdeError> {
    match std::str::from_utf8(text) {
        Ok(text) => visitor.visit_borrowed_str(text),
        Err(_) => visitor.visit_borrowed_bytes(text),
    }
}

fn variant_name(name: &[u8]) -> Result<&str, SerdeError> {
    std::str::from_utf8(name).map_err(|_| SerdeError::custom("the name of an enum's variant is not UTF-8"))
}

fn no_variant(item: Item<'_>) -> SerdeError {
    let found = item.kind().name();
    SerdeError::custom(format_args!(
        "expected a variant (its name, or a vector of its name and its content), got {found}"
    ))
}

/// The rest of a container.
struct Elements<'r, 'de> {
    reader: &'r mut ItemReader<'de>,
    depth: u32,
    /// Remaining values; a pair counts as two.
    left: usize,
}

impl<'de> Elements<'_, 'de> {
    fn next<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, SerdeError> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        seed.deserialize(ValueDeserializer { reader: self.reader, depth: self.depth }).map(Some)
    }

    fn skip(self) -> Result<(), SerdeError> {
        for _ in 0..self.left {
            self.reader.value()?;
        }
        Ok(())
    }
}

impl<'de> SeqAccess<'de> for &mut Elements<'_, 'de> {
    type Error = SerdeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, SerdeError> {
        self.next(seed)
    }

    /// Never more than there are bytes: the reader has checked it.
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> MapAccess<'de> for &mut Elements<'_, 'de> {
    type Error = SerdeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, SerdeError> {
        self.next(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, SerdeError> {
        self.next(seed)?.ok_or_else(|| SerdeError::custom("a table's key has no value"))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left / 2)
    }
}

/// A variant with content.
struct Variant<'r, 'de> {
    name: &'de str,
    content: ValueDeserializer<'r, 'de>,
}

impl<'r, 'de> EnumAccess<'de> for Variant<'r, 'de> {
    type Error = SerdeError;
    type Variant = ValueDeserializer<'r, 'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), SerdeError> {
        let name = seed.deserialize(BorrowedStrDeserializer::<SerdeError>::new(self.name))?;
        Ok((name, self.content))
    }
}

impl<'de> VariantAccess<'de> for ValueDeserializer<'_, 'de> {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<(), SerdeError> {
        Err(SerdeError::custom("the variant has no content; write its name alone"))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, SerdeError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_any(visitor)
    }
}
