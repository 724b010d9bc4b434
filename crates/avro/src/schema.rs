//! An Avro schema: its types in one flat list, names resolved, defaults encoded.

use std::fmt;
use std::sync::OnceLock;

use crate::fingerprint;

/// A parsed schema, from which plans are made.
#[derive(Debug, Clone)]
pub struct Schema {
    pub(crate) types: Vec<Type>,
    pub(crate) root: TypeId,
    pub(crate) canonical: String,
    pub(crate) fingerprint: u64,
    pub(crate) json: String,
}

/// The id of a type in its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeId(u32);

impl TypeId {
    /// The id of the type at `index`; `None` if a schema can't have that many types.
    pub(crate) fn new(index: usize) -> Option<Self> {
        u32::try_from(index).ok().map(Self)
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One type of a schema.
#[derive(Debug, Clone)]
pub struct Type {
    /// The encoding of its values.
    pub kind: Kind,
    /// The logical type of its values.
    pub logical: Option<Logical>,
}

/// The encoding of a type's values.
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
    /// A length and UTF-8 bytes.
    String,
    /// Blocks of elements of one type.
    Array(TypeId),
    /// Blocks of string keys, each with a value of one type.
    Map(TypeId),
    /// A branch's index, then a value of that branch.
    Union(Box<[TypeId]>),
    /// Fields, one after the other.
    Record(Box<Record>),
    /// A symbol's index.
    Enum(Box<Enum>),
    /// A fixed number of bytes.
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
    /// Older names: a writer's field with one of them matches this field.
    pub aliases: Vec<String>,
    /// Its type.
    pub type_id: TypeId,
    /// The encoded value for messages whose writer's schema lacks the field.
    pub default: Option<Box<[u8]>>,
    /// The name in JSON, and the colon after it.
    pub(crate) json_key: Box<str>,
}

/// An enum's name and symbols.
#[derive(Debug, Clone)]
pub struct Enum {
    /// The enum's name.
    pub name: Name,
    /// Its symbols in order.
    pub symbols: Vec<String>,
    /// Index of the symbol that replaces a writer's symbol that isn't in the list.
    pub default: Option<u32>,
}

/// A fixed type's name and size.
#[derive(Debug, Clone)]
pub struct Fixed {
    /// The type's name.
    pub name: Name,
    /// Size of each value in bytes.
    pub size: usize,
}

/// The name of a record, an enum or a fixed type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Namespace, a dot and the name; or the name alone.
    pub full: String,
    /// Older full names: a writer's type with one of them matches this type.
    pub aliases: Vec<String>,
}

impl Name {
    /// The name without its namespace.
    pub fn simple(&self) -> &str {
        simple(&self.full)
    }

    /// Whether a writer's type with the name `writer` matches this type: by its unqualified name, as the specification
    /// requires, or by an alias.
    pub(crate) fn takes(&self, writer: &Name) -> bool {
        self.simple() == writer.simple() || self.aliases.contains(&writer.full)
    }
}

pub(crate) fn simple(full: &str) -> &str {
    full.rsplit('.').next().unwrap_or(full)
}

/// The fingerprint of `"string"`, from the specification's own tests.
const STRING_FINGERPRINT: u64 = 0x8f01_4872_6345_03c7;

/// The logical type of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logical {
    /// A decimal number with `scale` digits after the point; bytes or fixed, two's complement, big-endian.
    Decimal {
        /// Total number of digits.
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
    /// Milliseconds since 1970, without a time zone.
    LocalTimestampMillis,
    /// Microseconds since 1970, without a time zone.
    LocalTimestampMicros,
    /// Nanoseconds since 1970, without a time zone.
    LocalTimestampNanos,
    /// Months, days and milliseconds, each four bytes, little-endian.
    Duration,
}

impl Schema {
    /// The schema of a single string.
    pub(crate) fn string() -> &'static Self {
        static STRING: OnceLock<Schema> = OnceLock::new();
        STRING.get_or_init(|| {
            let json = "\"string\"".to_owned();
            let types = vec![Type { kind: Kind::String, logical: None }];
            Self { types, root: TypeId(0), canonical: json.clone(), fingerprint: STRING_FINGERPRINT, json }
        })
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

    /// The original JSON of the schema.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The Parsing Canonical Form: only the parts that affect how bytes are read.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Whether messages of both schemas are read alike. Unlike fingerprints, this covers logical types and aliases, but
    /// not documentation and defaults: a message has all fields of its writer's schema.
    pub fn reads_like(&self, other: &Schema) -> bool {
        self.identity() == other.identity()
    }

    fn identity(&self) -> String {
        fingerprint::identity(&self.types, self.root)
    }

    /// CRC-64-AVRO of the canonical form, which identifies the schema of single-object messages.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

impl Kind {
    /// The type's full name, or the name of its kind if it has none.
    pub fn name(&self) -> &str {
        match self {
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
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
