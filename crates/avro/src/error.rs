//! Errors of messages, values and schemas, with their position.

use thiserror::Error;

/// The kind of a fault in a message's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The message ends inside a field.
    #[error("the message ends inside it: it was truncated, or another schema wrote it")]
    Truncated,
    /// A variable-length integer has more bytes than its type can hold.
    #[error("its integer is longer than its type allows: the message was written with another schema")]
    IntegerTooLong,
    /// A length or count is negative, or larger than the rest of the message.
    #[error("its length is negative or larger than the rest of the message")]
    Length,
    /// A string is not UTF-8.
    #[error("its bytes are not UTF-8")]
    Utf8,
    /// A boolean is neither 0 nor 1.
    #[error("its boolean is neither 0 nor 1")]
    Boolean,
    /// A union's branch or an enum's symbol does not exist.
    #[error("its union branch or enum symbol is not in the schema")]
    Branch,
    /// The writer's data has no counterpart in the reader's schema.
    #[error("the reader's schema has no counterpart for the written value")]
    Unresolvable,
    /// Values are nested deeper than the limit.
    #[error("it is nested deeper than the limit")]
    Depth,
    /// The message holds more elements than the limit.
    #[error("it has more elements than the limit")]
    Elements,
    /// A string is longer than the limit.
    #[error("it has a string longer than the limit: shorten it where it is produced")]
    StringTooLong,
    /// The metric and the tags of a measurement are longer than the limit.
    #[error("metric and tags are longer than the limit: shorten them where they are produced")]
    SeriesTooLong,
    /// A new string doesn't fit into the table of strings.
    #[error("the table of strings is full: restart with higher limits for strings and bytes")]
    StringsFull,
    /// A UUID, decimal or duration is invalid, or doesn't fit its column.
    #[error("it is not a valid value of its logical type, or doesn't fit its column: fix the producer or the schema")]
    Logical,
    /// A column would exceed 2^31 bytes or elements.
    #[error("its column has 2^31 bytes or elements: finish the batch and append the message again")]
    ColumnsFull,
    /// The bytes before the message identify another schema, or none.
    #[error("it does not begin with the expected schema fingerprint or id: it has another schema or framing")]
    Frame,
    /// Bytes are left after the message's last field.
    #[error("bytes are left after the last field: the message was written with another schema")]
    Remainder,
}

/// A fault and its position in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("at byte {position}: {kind}")]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// Position of the bad value's first byte in the message, from 0.
    pub position: usize,
}

/// A rejected message: the field, the position and the fault.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}at byte {}: {}", Field(.path), .fault.position, .fault.kind)]
pub struct DecodeError {
    /// The field's path from the message's root, such as `tags.value` or `items[].price`; empty for the message itself.
    pub path: String,
    /// The fault and its position.
    pub fault: Fault,
}

/// Reasons to reject a schema.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is not an Avro schema in JSON.
    #[error("not an Avro schema: {0}")]
    Json(String),
    /// A name isn't defined as a type, or a default isn't a symbol.
    #[error("the schema uses {0:?} but does not define it; define it before it is used")]
    Name(String),
    /// A name is defined as two types.
    #[error("the schema defines {0:?} more than once; rename one of them")]
    Twice(String),
    /// A field's default does not fit its type.
    #[error("the default of field {field:?} of {record:?}: {error}")]
    Default {
        /// The record.
        record: String,
        /// Its field.
        field: String,
        /// The reason.
        error: EncodeError,
    },
    /// It has more types or longer sizes than this reader supports.
    #[error("the schema is too large or nested too deep; split it")]
    TooLarge,
}

/// A writer's schema can't be resolved to a reader's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{reason}", Field(.path))]
pub struct ResolveError {
    /// The field's path in the reader's schema; empty for the message itself.
    pub path: String,
    /// The mismatch, and what to do.
    pub reason: String,
}

/// A value can't be encoded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}expected {expected}, found {found}", Field(.path))]
pub struct EncodeError {
    /// The field's path from the value's root; empty for the value itself.
    pub path: String,
    /// The type that the schema requires.
    pub expected: String,
    /// The given value.
    pub found: String,
}

impl EncodeError {
    #[cold]
    pub(crate) fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { path: String::new(), expected: expected.into(), found: found.into() }
    }

    /// The same error with `segment` prepended to its path: a field's name, a map's key, or `[]`.
    #[cold]
    pub(crate) fn within(mut self, segment: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{segment}{dot}{}", self.path);
        self
    }
}

/// A message can't be deserialized.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// Its bytes were rejected.
    #[error(transparent)]
    Message(DecodeError),
    /// The type doesn't match the reader's schema.
    #[error("the message does not match the type that it is read into: {0}; compare the type with the reader's schema")]
    Shape(#[from] ShapeMismatch),
}

/// A value doesn't match the type that serde deserializes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ShapeMismatch(String);

impl serde::de::Error for ShapeMismatch {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl From<DecodeError> for ReadError {
    fn from(error: DecodeError) -> Self {
        Self::Message(error)
    }
}

/// `field tags.value: `, or empty for the message itself.
pub(crate) struct Field<'a>(pub &'a str);

impl std::fmt::Display for Field<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(out, "field {}: ", self.0) }
    }
}
