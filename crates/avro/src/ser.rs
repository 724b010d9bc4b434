//! Serializes serde values as Avro, according to a schema.

use serde::ser::{self, Serialize, Serializer};

use crate::error::EncodeError;
use crate::record_parts::RecordParts;
use crate::schema::{Kind, Schema, TypeId};
use crate::write;

impl Schema {
    /// Encodes and appends a serde value. Fields are matched by name and may be in any order; missing ones get their
    /// defaults. A union's branch is chosen by the type of the value, records in unions by the type's name. After an
    /// error, `out` is unchanged.
    pub fn encode<T: Serialize + ?Sized>(&self, value: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let begin = out.len();
        let result = value.serialize(Encoder { schema: self, id: self.root(), out });
        result.inspect_err(|_| out.truncate(begin))
    }
}

impl ser::Error for EncodeError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::new("a value that serializes", message.to_string())
    }
}

struct Encoder<'s, 'o> {
    schema: &'s Schema,
    id: TypeId,
    out: &'o mut Vec<u8>,
}

impl<'s, 'o> Encoder<'s, 'o> {
    fn at(schema: &'s Schema, id: TypeId, out: &'o mut Vec<u8>) -> Self {
        Self { schema, id, out }
    }

    /// Chooses the type to write; `takes` ranks types, and the lowest rank wins. For a union, also writes the branch's
    /// index.
    fn pick(
        &mut self,
        found: impl std::fmt::Display,
        takes: impl Fn(&Kind) -> Option<u32>,
    ) -> Result<&'s Kind, EncodeError> {
        let kind = self.schema.kind(self.id);
        let wrong = || EncodeError::new(kind.to_string(), found.to_string());
        let Kind::Union(branches) = kind else {
            return takes(kind).map(|_| kind).ok_or_else(wrong);
        };
        let ranks = branches.iter().enumerate();
        let ranks = ranks.filter_map(|(index, id)| Some((takes(self.schema.kind(*id))?, index, *id)));
        let Some((_, index, id)) = ranks.min_by_key(|(rank, index, _)| (*rank, *index)) else {
            let names: Vec<String> = branches.iter().map(|id| self.schema.kind(*id).to_string()).collect();
            return Err(EncodeError::new(format!("one of {}", names.join(", ")), found.to_string()));
        };
        write::length(self.out, index);
        self.id = id;
        Ok(self.schema.kind(id))
    }

    fn integer(mut self, value: i64) -> Result<(), EncodeError> {
        let int = i32::try_from(value).is_ok();
        self.pick(format_args!("the integer {value}"), |kind| match kind {
            Kind::Long => Some(1),
            Kind::Int if int => Some(0),
            _ => None,
        })?;
        write::long(self.out, value);
        Ok(())
    }

    fn blocks(mut self, found: &str, length: Option<usize>, keys: bool) -> Result<Blocks<'s, 'o>, EncodeError> {
        let kind = self.pick(found, |kind| match kind {
            Kind::Array(_) if !keys => Some(0),
            Kind::Map(_) if keys => Some(0),
            _ => None,
        })?;
        let (Kind::Array(id) | Kind::Map(id)) = kind else {
            return Err(EncodeError::new(kind.to_string(), found));
        };
        let begin = self.out.len();
        if let Some(length) = length.filter(|length| *length > 0) {
            write::length(self.out, length);
        }
        Ok(Blocks { schema: self.schema, id: *id, out: self.out, begin, length, count: 0 })
    }

    fn record(mut self, name: &str) -> Result<Fields<'s, 'o>, EncodeError> {
        let kind = self.pick(format_args!("a struct {name}"), |kind| match kind {
            Kind::Record(record) => Some(u32::from(record.name.simple() != name)),
            _ => None,
        })?;
        let Kind::Record(record) = kind else { return Err(EncodeError::new(kind.to_string(), "a struct")) };
        Ok(Fields { schema: self.schema, parts: RecordParts::new(record), record, out: self.out, key: None })
    }
}

impl<'s, 'o> Serializer for Encoder<'s, 'o> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Blocks<'s, 'o>;
    type SerializeTuple = Blocks<'s, 'o>;
    type SerializeTupleStruct = Blocks<'s, 'o>;
    type SerializeTupleVariant = ser::Impossible<(), EncodeError>;
    type SerializeMap = Entries<'s, 'o>;
    type SerializeStruct = Fields<'s, 'o>;
    type SerializeStructVariant = Fields<'s, 'o>;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(mut self, value: bool) -> Result<(), EncodeError> {
        self.pick("a boolean", |kind| matches!(kind, Kind::Boolean).then_some(0))?;
        self.out.push(u8::from(value));
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), EncodeError> {
        self.integer(i64::from(value))
    }

    fn serialize_i16(self, value: i16) -> Result<(), EncodeError> {
        self.integer(i64::from(value))
    }

    fn serialize_i32(self, value: i32) -> Result<(), EncodeError> {
        self.integer(i64::from(value))
    }

    fn serialize_i64(self, value: i64) -> Result<(), EncodeError> {
        self.integer(value)
    }

    fn serialize_u8(self, value: u8) -> Result<(), EncodeError> {
        self.integer(i64::from(value))
    }

    fn serialize_u16(self, value: u16) -> Result<(), EncodeError> {
        self.integer(i64::from(value))
    }

    fn serialize_u32(self, value: u32) -> Result<(), EncodeError> {
        self.integer(i64::from(value))
    }

    fn serialize_u64(self, value: u64) -> Result<(), EncodeError> {
        match i64::try_from(value) {
            Ok(value) => self.integer(value),
            Err(_) => Err(EncodeError::new("an integer of 64 bits", value.to_string())),
        }
    }

    fn serialize_f32(mut self, value: f32) -> Result<(), EncodeError> {
        let kind = self.pick("a float", |kind| match kind {
            Kind::Float => Some(0),
            Kind::Double => Some(1),
            _ => None,
        })?;
        match kind {
            Kind::Float => self.out.extend_from_slice(&value.to_le_bytes()),
            _ => self.out.extend_from_slice(&f64::from(value).to_le_bytes()),
        }
        Ok(())
    }

    fn serialize_f64(mut self, value: f64) -> Result<(), EncodeError> {
        let is_float = !value.is_finite() || (value as f32).is_finite();
        let kind = self.pick(format_args!("the number {value}"), |kind| match kind {
            Kind::Double => Some(0),
            Kind::Float if is_float => Some(1),
            _ => None,
        })?;
        match kind {
            Kind::Float => self.out.extend_from_slice(&(value as f32).to_le_bytes()),
            _ => self.out.extend_from_slice(&value.to_le_bytes()),
        }
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), EncodeError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(mut self, value: &str) -> Result<(), EncodeError> {
        let kind = self.pick("a string", |kind| match kind {
            Kind::String => Some(0),
            Kind::Enum(symbols) if symbols.symbols.iter().any(|symbol| symbol == value) => Some(1),
            _ => None,
        })?;
        match kind {
            Kind::Enum(symbols) => {
                let index = symbols.symbols.iter().position(|symbol| symbol == value);
                write::length(self.out, index.unwrap_or_default());
            }
            _ => write::bytes(self.out, value.as_bytes()),
        }
        Ok(())
    }

    fn serialize_bytes(mut self, value: &[u8]) -> Result<(), EncodeError> {
        let kind = self.pick(format_args!("{} bytes", value.len()), |kind| match kind {
            Kind::Bytes => Some(0),
            Kind::Fixed(fixed) if fixed.size == value.len() => Some(1),
            _ => None,
        })?;
        match kind {
            Kind::Fixed(_) => self.out.extend_from_slice(value),
            _ => write::bytes(self.out, value),
        }
        Ok(())
    }

    fn serialize_none(self) -> Result<(), EncodeError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), EncodeError> {
        value.serialize(self)
    }

    fn serialize_unit(mut self) -> Result<(), EncodeError> {
        self.pick("null", |kind| matches!(kind, Kind::Null).then_some(0)).map(drop)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), EncodeError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), EncodeError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), EncodeError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        value: &T,
    ) -> Result<(), EncodeError> {
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Blocks<'s, 'o>, EncodeError> {
        self.blocks("a sequence", length, false)
    }

    fn serialize_tuple(self, length: usize) -> Result<Blocks<'s, 'o>, EncodeError> {
        self.blocks("a tuple", Some(length), false)
    }

    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<Blocks<'s, 'o>, EncodeError> {
        self.blocks("a tuple", Some(length), false)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeTupleVariant, EncodeError> {
        Err(EncodeError::new("a struct or a single value", format!("the tuple variant {variant}")))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Entries<'s, 'o>, EncodeError> {
        match self.schema.kind(self.id) {
            Kind::Record(_) => self.record("").map(Entries::Record),
            _ => self.blocks("a map", length, true).map(Entries::Map),
        }
    }

    fn serialize_struct(self, name: &'static str, _length: usize) -> Result<Fields<'s, 'o>, EncodeError> {
        self.record(name)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Fields<'s, 'o>, EncodeError> {
        self.record(variant)
    }
}

/// An array or a map being written as one block.
struct Blocks<'s, 'o> {
    schema: &'s Schema,
    id: TypeId,
    out: &'o mut Vec<u8>,
    begin: usize,
    length: Option<usize>,
    count: usize,
}

impl Blocks<'_, '_> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        let segment = self.count;
        self.count += 1;
        value
            .serialize(Encoder::at(self.schema, self.id, self.out))
            .map_err(|error| error.within(&format!("[{segment}]")))
    }

    fn finish(self) -> Result<(), EncodeError> {
        match self.length {
            Some(length) if length != self.count => {
                return Err(EncodeError::new(format!("{length} elements, as announced"), self.count.to_string()));
            }
            None if self.count > 0 => {
                let mut head = Vec::new();
                write::length(&mut head, self.count);
                self.out.splice(self.begin..self.begin, head);
            }
            _ => {}
        }
        self.out.push(0);
        Ok(())
    }
}

impl ser::SerializeSeq for Blocks<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        self.element(value)
    }

    fn end(self) -> Result<(), EncodeError> {
        self.finish()
    }
}

impl ser::SerializeTuple for Blocks<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        self.element(value)
    }

    fn end(self) -> Result<(), EncodeError> {
        self.finish()
    }
}

impl ser::SerializeTupleStruct for Blocks<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        self.element(value)
    }

    fn end(self) -> Result<(), EncodeError> {
        self.finish()
    }
}

/// A serde map: an Avro map, or a record's fields by name.
enum Entries<'s, 'o> {
    Map(Blocks<'s, 'o>),
    Record(Fields<'s, 'o>),
}

impl ser::SerializeMap for Entries<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), EncodeError> {
        match self {
            Self::Map(blocks) => {
                let begin = blocks.out.len();
                // Keys are strings, whatever the type of the values.
                let schema = Schema::string();
                let result = key.serialize(Encoder::at(schema, schema.root(), blocks.out));
                result.inspect_err(|_| blocks.out.truncate(begin))
            }
            Self::Record(fields) => {
                let mut name = Vec::new();
                let schema = Schema::string();
                key.serialize(Encoder::at(schema, schema.root(), &mut name))?;
                let mut cursor = crate::cursor::Cursor::new(&name);
                fields.key = cursor.string().ok().map(str::to_owned);
                Ok(())
            }
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        match self {
            Self::Map(blocks) => blocks.element(value),
            Self::Record(fields) => {
                let name = fields.key.take().unwrap_or_default();
                fields.field(&name, value)
            }
        }
    }

    fn end(self) -> Result<(), EncodeError> {
        match self {
            Self::Map(blocks) => blocks.finish(),
            Self::Record(fields) => fields.parts.finish(fields.out),
        }
    }
}

/// An open record.
struct Fields<'s, 'o> {
    schema: &'s Schema,
    record: &'s crate::schema::Record,
    parts: RecordParts<'s>,
    out: &'o mut Vec<u8>,
    key: Option<String>,
}

impl Fields<'_, '_> {
    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), EncodeError> {
        let Self { schema, record, parts, out, .. } = self;
        let found = parts.find(name).and_then(|index| Some((index, record.fields.get(index)?.type_id)));
        let Some((index, id)) = found else {
            let expected = format!("a field of {}", record.name.full);
            return Err(EncodeError::new(expected, "a field that it lacks").within(name));
        };
        parts.write(index, out, |out| value.serialize(Encoder::at(schema, id, out))).map_err(|error| error.within(name))
    }
}

impl ser::SerializeStruct for Fields<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), EncodeError> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), EncodeError> {
        self.parts.finish(self.out)
    }
}

impl ser::SerializeStructVariant for Fields<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), EncodeError> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), EncodeError> {
        self.parts.finish(self.out)
    }
}
