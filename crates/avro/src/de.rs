//! Deserializes a row through serde: a derived struct may borrow its texts from the message.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use crate::datum::{Datum, Elements, Entries, Fields};
use crate::error::{ReadError, ShapeMismatch};
use crate::item::Item;
use crate::plan::Plan;
use crate::row::RowBuffer;

impl Plan {
    /// Deserializes a message with serde. Fields are matched by name, unions are options or the value
    /// itself, enums are unit variants or strings.
    #[inline]
    pub fn read<'m, T: Deserialize<'m>>(&'m self, buffer: &mut RowBuffer, message: &'m [u8]) -> Result<T, ReadError> {
        let row = self.row(buffer, message)?;
        Ok(T::deserialize(row.datum())?)
    }
}

impl<'m> Deserializer<'m> for Datum<'_, 'm> {
    type Error = ShapeMismatch;

    #[inline]
    fn deserialize_any<V: Visitor<'m>>(self, visitor: V) -> Result<V::Value, ShapeMismatch> {
        let datum = self.plain();
        match datum.item() {
            Item::Null | Item::Union { .. } => visitor.visit_unit(),
            Item::Boolean(value) => visitor.visit_bool(value),
            Item::Int(value) => visitor.visit_i32(value),
            Item::Long(value) => visitor.visit_i64(value),
            Item::Float(value) => visitor.visit_f32(value),
            Item::Double(value) => visitor.visit_f64(value),
            Item::Bytes(value) | Item::Fixed(value) => visitor.visit_borrowed_bytes(value),
            Item::String(value) => visitor.visit_borrowed_str(value),
            Item::Symbol(_) => visitor.visit_borrowed_str(datum.as_str().unwrap_or_default()),
            Item::Record { .. } => visitor.visit_map(RecordAccess { fields: datum.fields(), value: None }),
            Item::Array { .. } => visitor.visit_seq(ArrayAccess(datum.elements())),
            Item::Map { .. } => visitor.visit_map(EntryAccess { entries: datum.entries(), value: None }),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'m>>(self, visitor: V) -> Result<V::Value, ShapeMismatch> {
        match self.item() {
            Item::String(value) => visitor.visit_borrowed_str(value),
            _ => self.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'m>>(self, visitor: V) -> Result<V::Value, ShapeMismatch> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_i64<V: Visitor<'m>>(self, visitor: V) -> Result<V::Value, ShapeMismatch> {
        match self.item() {
            Item::Long(value) => visitor.visit_i64(value),
            _ => self.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_map<V: Visitor<'m>>(self, visitor: V) -> Result<V::Value, ShapeMismatch> {
        match self.item() {
            Item::Map { .. } => visitor.visit_map(EntryAccess { entries: self.entries(), value: None }),
            _ => self.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'m>>(
        self,
        _name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeMismatch> {
        let datum = self.plain();
        let Item::Record { .. } = datum.item() else { return datum.deserialize_any(visitor) };
        let fields = datum.fields();
        // If the type has the record's fields in order, no search by name is needed.
        if fields.len() == names.len() && fields.clone().zip(names).all(|((field, _), name)| field.name == *name) {
            visitor.visit_seq(FieldAccess(fields))
        } else {
            visitor.visit_map(RecordAccess { fields, value: None })
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'m>>(self, visitor: V) -> Result<V::Value, ShapeMismatch> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'m>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ShapeMismatch> {
        visitor.visit_newtype_struct(self)
    }

    /// An enum's symbol is a unit variant; a record in a union is the variant with the record's name.
    fn deserialize_enum<V: Visitor<'m>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeMismatch> {
        visitor.visit_enum(Variant(self.plain()))
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'m>>
        bool i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple tuple_struct
        identifier ignored_any
    }
}

struct FieldAccess<'r, 'm>(Fields<'r, 'm>);

impl<'m> SeqAccess<'m> for FieldAccess<'_, 'm> {
    type Error = ShapeMismatch;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'m>>(&mut self, seed: T) -> Result<Option<T::Value>, ShapeMismatch> {
        self.0.next().map(|(_, datum)| seed.deserialize(datum)).transpose()
    }
}

struct RecordAccess<'r, 'm> {
    fields: Fields<'r, 'm>,
    value: Option<Datum<'r, 'm>>,
}

impl<'m> MapAccess<'m> for RecordAccess<'_, 'm> {
    type Error = ShapeMismatch;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'m>>(&mut self, seed: K) -> Result<Option<K::Value>, ShapeMismatch> {
        let Some((field, value)) = self.fields.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(BorrowedStrDeserializer::new(&field.name)).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'m>>(&mut self, seed: V) -> Result<V::Value, ShapeMismatch> {
        seed.deserialize(self.value.take().ok_or_else(|| ShapeMismatch::custom("a value without its key"))?)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.fields.len())
    }
}

struct EntryAccess<'r, 'm> {
    entries: Entries<'r, 'm>,
    value: Option<Datum<'r, 'm>>,
}

impl<'m> MapAccess<'m> for EntryAccess<'_, 'm> {
    type Error = ShapeMismatch;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'m>>(&mut self, seed: K) -> Result<Option<K::Value>, ShapeMismatch> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'m>>(&mut self, seed: V) -> Result<V::Value, ShapeMismatch> {
        seed.deserialize(self.value.take().ok_or_else(|| ShapeMismatch::custom("a value without its key"))?)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

struct ArrayAccess<'r, 'm>(Elements<'r, 'm>);

impl<'m> SeqAccess<'m> for ArrayAccess<'_, 'm> {
    type Error = ShapeMismatch;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'m>>(&mut self, seed: T) -> Result<Option<T::Value>, ShapeMismatch> {
        self.0.next().map(|element| seed.deserialize(element)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Variant<'r, 'm>(Datum<'r, 'm>);

impl<'r, 'm> EnumAccess<'m> for Variant<'r, 'm> {
    type Error = ShapeMismatch;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'m>>(self, seed: V) -> Result<(V::Value, Self), ShapeMismatch> {
        let name = match (self.0.as_str(), &self.0.schema_type().kind) {
            (Some(text), _) => text,
            (None, crate::schema::Kind::Record(record)) => record.name.simple(),
            (None, kind) => {
                return Err(ShapeMismatch::custom(format_args!("expected an enum or a record, found {kind}")));
            }
        };
        Ok((seed.deserialize(BorrowedStrDeserializer::new(name))?, self))
    }
}

impl<'m> VariantAccess<'m> for Variant<'_, 'm> {
    type Error = ShapeMismatch;

    fn unit_variant(self) -> Result<(), ShapeMismatch> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'m>>(self, seed: T) -> Result<T::Value, ShapeMismatch> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'m>>(self, _length: usize, visitor: V) -> Result<V::Value, ShapeMismatch> {
        self.0.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'m>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeMismatch> {
        self.0.deserialize_any(visitor)
    }
}
