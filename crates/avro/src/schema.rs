//! An Avro schema: its types in one flat list, names resolved, defaults encoded.
//!
//! The JSON is read by the library `apache-avro`, whose types stay inside this file.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use apache_avro::schema::{InnerDecimalSchema, Schema as Parsed, UuidSchema};

use crate::error::SchemaError;
use crate::fingerprint;
use crate::json;

/// A schema, ready to make plans of.
#[derive(Debug, Clone)]
pub struct Schema {
    types: Vec<Type>,
    root: TypeId,
    canonical: String,
    fingerprint: u64,
    json: String,
}

/// A type's place in its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeId(u32);

impl TypeId {
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One type of a schema.
#[derive(Debug, Clone)]
pub struct Type {
    /// How its values are encoded.
    pub kind: Kind,
    /// What its values mean beyond that.
    pub logical: Option<Logical>,
}

/// How a type's values are encoded.
#[derive(Debug, Clone)]
pub enum Kind {
    /// No bytes.
    Null,
    /// One byte.
    Boolean,
    /// A zigzag integer of 32 bits.
    Int,
    /// A zigzag integer of 64 bits.
    Long,
    /// Four bytes.
    Float,
    /// Eight bytes.
    Double,
    /// A length and bytes.
    Bytes,
    /// A length and UTF-8.
    String,
    /// Blocks of elements of one type.
    Array(TypeId),
    /// Blocks of string keys, each with a value of one type.
    Map(TypeId),
    /// One of several types, after its index.
    Union(Box<[TypeId]>),
    /// Fields, one after the other.
    Record(Box<Record>),
    /// One of several symbols, as its index.
    Enum(Box<Enum>),
    /// That many bytes.
    Fixed(Box<Fixed>),
}

/// A record's name and fields.
#[derive(Debug, Clone)]
pub struct Record {
    /// The record's name.
    pub name: Name,
    /// Its fields in the order in which they are encoded.
    pub fields: Vec<Field>,
}

/// A record's field.
#[derive(Debug, Clone)]
pub struct Field {
    /// The field's name.
    pub name: String,
    /// Older names, under which a writer's field is this one too.
    pub aliases: Vec<String>,
    /// Its type.
    pub type_id: TypeId,
    /// The value, encoded, for messages whose writer did not know the field.
    pub default: Option<Box<[u8]>>,
}

/// An enum's name and symbols.
#[derive(Debug, Clone)]
pub struct Enum {
    /// The enum's name.
    pub name: Name,
    /// Its symbols in order.
    pub symbols: Vec<String>,
    /// The symbol, by its index, that stands for a writer's symbol that is not among them.
    pub default: Option<u32>,
}

/// A fixed type's name and size.
#[derive(Debug, Clone)]
pub struct Fixed {
    /// The type's name.
    pub name: Name,
    /// Bytes of each value.
    pub size: usize,
}

/// The name of a record, an enum or a fixed type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Namespace, a dot and the name; or the name alone.
    pub full: String,
    /// Older full names, under which a writer's type is this one too.
    pub aliases: Vec<String>,
}

impl Name {
    /// The name without its namespace.
    pub fn simple(&self) -> &str {
        simple(&self.full)
    }

    /// Whether a writer's type of the name `writer` is this type: by its name without namespace, as the specification
    /// has it, or by an alias.
    pub(crate) fn takes(&self, writer: &Name) -> bool {
        self.simple() == writer.simple() || self.aliases.contains(&writer.full)
    }
}

pub(crate) fn simple(full: &str) -> &str {
    full.rsplit('.').next().unwrap_or(full)
}

/// What a type's values mean beyond their encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logical {
    /// Digits, `scale` of them after the point; bytes or fixed, two's complement, big-endian.
    Decimal {
        /// Digits in all.
        precision: u32,
        /// Digits after the point.
        scale: u32,
    },
    /// A decimal that carries its own scale.
    BigDecimal,
    /// A UUID, as text or 16 bytes.
    Uuid,
    /// Days since 1970.
    Date,
    /// Milliseconds since midnight.
    TimeMillis,
    /// Microseconds since midnight.
    TimeMicros,
    /// Milliseconds since 1970, UTC.
    TimestampMillis,
    /// Microseconds since 1970, UTC.
    TimestampMicros,
    /// Nanoseconds since 1970, UTC.
    TimestampNanos,
    /// Milliseconds since 1970, of no known zone.
    LocalTimestampMillis,
    /// Microseconds since 1970, of no known zone.
    LocalTimestampMicros,
    /// Nanoseconds since 1970, of no known zone.
    LocalTimestampNanos,
    /// Months, days and milliseconds, each four bytes, little-endian.
    Duration,
}

impl Schema {
    /// Reads a schema from its JSON.
    pub fn parse(json: &str) -> Result<Self, SchemaError> {
        let parsed = Parsed::parse_str(json).map_err(|error| SchemaError::Json(error.to_string()))?;
        let mut builder = Builder { types: Vec::new(), names: HashMap::new(), defaults: Vec::new() };
        let root = builder.add(&parsed)?;
        let Builder { types, defaults, .. } = builder;
        let canonical = fingerprint::canonical(&types, root);
        let fingerprint = fingerprint::crc64(canonical.as_bytes());
        let mut schema = Self { types, root, canonical, fingerprint, json: json.to_owned() };
        for (type_id, index, value) in defaults {
            schema.set_default(type_id, index, &value)?;
        }
        Ok(schema)
    }

    /// The schema of a string alone.
    pub(crate) fn string() -> &'static Self {
        static STRING: OnceLock<Schema> = OnceLock::new();
        STRING.get_or_init(|| {
            let types = vec![Type { kind: Kind::String, logical: None }];
            let canonical = fingerprint::canonical(&types, TypeId(0));
            let fingerprint = fingerprint::crc64(canonical.as_bytes());
            Self { types, root: TypeId(0), json: canonical.clone(), canonical, fingerprint }
        })
    }

    fn set_default(&mut self, id: TypeId, index: usize, value: &serde_json::Value) -> Result<(), SchemaError> {
        let Kind::Record(record) = self.kind(id) else { return Ok(()) };
        let Some(field) = record.fields.get(index) else { return Ok(()) };
        let mut bytes = Vec::new();
        json::encode_default(self, field.type_id, value, &mut bytes).map_err(|error| SchemaError::Default {
            record: record.name.full.clone(),
            field: field.name.clone(),
            error,
        })?;
        let Some(Type { kind: Kind::Record(record), .. }) = self.types.get_mut(id.index()) else { return Ok(()) };
        if let Some(field) = record.fields.get_mut(index) {
            field.default = Some(bytes.into());
        }
        Ok(())
    }

    /// The type of a whole message.
    pub fn root(&self) -> TypeId {
        self.root
    }

    /// The type at `id`, which must be of this schema.
    #[inline]
    pub fn type_at(&self, id: TypeId) -> &Type {
        const NULL: &Type = &Type { kind: Kind::Null, logical: None };
        self.types.get(id.index()).unwrap_or(NULL)
    }

    /// The encoding of the type at `id`.
    #[inline]
    pub fn kind(&self, id: TypeId) -> &Kind {
        &self.type_at(id).kind
    }

    /// The schema as it was given.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The Parsing Canonical Form: what decides how bytes are read, and nothing else.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// CRC-64-AVRO of the canonical form: what single-object messages name their schema by.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::String => "string",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Union(_) => "union",
            Self::Record(record) => &record.name.full,
            Self::Enum(symbols) => &symbols.name.full,
            Self::Fixed(fixed) => &fixed.name.full,
        })
    }
}

struct Builder {
    types: Vec<Type>,
    names: HashMap<String, TypeId>,
    /// Record, field and value: encoded once all types are known.
    defaults: Vec<(TypeId, usize, serde_json::Value)>,
}

impl Builder {
    fn add(&mut self, parsed: &Parsed) -> Result<TypeId, SchemaError> {
        if let Parsed::Ref { name } = parsed {
            let full = name.fullname(None);
            return self.names.get(&full).copied().ok_or(SchemaError::Name(full));
        }
        // A place first, so that a record's fields can point at it.
        let id = TypeId(u32::try_from(self.types.len()).map_err(|_| SchemaError::TooLarge)?);
        self.types.push(Type { kind: Kind::Null, logical: None });
        if let Some(name) = parsed.name()
            && self.names.insert(name.fullname(None), id).is_some()
        {
            return Err(SchemaError::Twice(name.fullname(None)));
        }
        let built = self.build(parsed, id)?;
        if let Some(place) = self.types.get_mut(id.index()) {
            *place = built;
        }
        Ok(id)
    }

    fn build(&mut self, parsed: &Parsed, id: TypeId) -> Result<Type, SchemaError> {
        let plain = |kind| Type { kind, logical: None };
        let logical = |kind, logical| Type { kind, logical: Some(logical) };
        let fixed = |fixed: &apache_avro::schema::FixedSchema| {
            Kind::Fixed(Box::new(Fixed { name: name(&fixed.name, fixed.aliases.as_deref()), size: fixed.size }))
        };
        Ok(match parsed {
            Parsed::Null | Parsed::Ref { .. } => plain(Kind::Null),
            Parsed::Boolean => plain(Kind::Boolean),
            Parsed::Int => plain(Kind::Int),
            Parsed::Long => plain(Kind::Long),
            Parsed::Float => plain(Kind::Float),
            Parsed::Double => plain(Kind::Double),
            Parsed::Bytes => plain(Kind::Bytes),
            Parsed::String => plain(Kind::String),
            Parsed::Array(array) => plain(Kind::Array(self.add(&array.items)?)),
            Parsed::Map(map) => plain(Kind::Map(self.add(&map.types)?)),
            Parsed::Union(union) => {
                let branches: Result<Box<[_]>, _> = union.variants().iter().map(|branch| self.add(branch)).collect();
                plain(Kind::Union(branches?))
            }
            Parsed::Record(record) => {
                let mut fields = Vec::with_capacity(record.fields.len());
                for (index, field) in record.fields.iter().enumerate() {
                    if let Some(value) = &field.default {
                        self.defaults.push((id, index, value.clone()));
                    }
                    let type_id = self.add(&field.schema)?;
                    let aliases = field.aliases.clone();
                    fields.push(Field { name: field.name.clone(), aliases, type_id, default: None });
                }
                let name = name(&record.name, record.aliases.as_deref());
                plain(Kind::Record(Box::new(Record { name, fields })))
            }
            Parsed::Enum(parsed) => {
                let default = match &parsed.default {
                    None => None,
                    Some(default) => {
                        let index = parsed.symbols.iter().position(|symbol| symbol == default);
                        let index = index.and_then(|index| u32::try_from(index).ok());
                        Some(index.ok_or_else(|| SchemaError::Name(default.clone()))?)
                    }
                };
                let name = name(&parsed.name, parsed.aliases.as_deref());
                plain(Kind::Enum(Box::new(Enum { name, symbols: parsed.symbols.clone(), default })))
            }
            Parsed::Fixed(parsed) => plain(fixed(parsed)),
            Parsed::Decimal(decimal) => {
                let digits = |digits| u32::try_from(digits).map_err(|_| SchemaError::TooLarge);
                let kind = match &decimal.inner {
                    InnerDecimalSchema::Bytes => Kind::Bytes,
                    InnerDecimalSchema::Fixed(parsed) => fixed(parsed),
                };
                let (precision, scale) = (digits(decimal.precision)?, digits(decimal.scale)?);
                logical(kind, Logical::Decimal { precision, scale })
            }
            Parsed::BigDecimal => logical(Kind::Bytes, Logical::BigDecimal),
            Parsed::Uuid(UuidSchema::String) => logical(Kind::String, Logical::Uuid),
            Parsed::Uuid(UuidSchema::Bytes) => logical(Kind::Bytes, Logical::Uuid),
            Parsed::Uuid(UuidSchema::Fixed(parsed)) => logical(fixed(parsed), Logical::Uuid),
            Parsed::Date => logical(Kind::Int, Logical::Date),
            Parsed::TimeMillis => logical(Kind::Int, Logical::TimeMillis),
            Parsed::TimeMicros => logical(Kind::Long, Logical::TimeMicros),
            Parsed::TimestampMillis => logical(Kind::Long, Logical::TimestampMillis),
            Parsed::TimestampMicros => logical(Kind::Long, Logical::TimestampMicros),
            Parsed::TimestampNanos => logical(Kind::Long, Logical::TimestampNanos),
            Parsed::LocalTimestampMillis => logical(Kind::Long, Logical::LocalTimestampMillis),
            Parsed::LocalTimestampMicros => logical(Kind::Long, Logical::LocalTimestampMicros),
            Parsed::LocalTimestampNanos => logical(Kind::Long, Logical::LocalTimestampNanos),
            Parsed::Duration(parsed) => logical(fixed(parsed), Logical::Duration),
        })
    }
}

fn name(name: &apache_avro::schema::Name, aliases: Option<&[apache_avro::schema::Alias]>) -> Name {
    let aliases = aliases.unwrap_or_default().iter().map(|alias| alias.fullname(name.namespace())).collect();
    Name { full: name.fullname(None), aliases }
}
