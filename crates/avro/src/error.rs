//! What can be wrong with the bytes of a message, and where.

use thiserror::Error;

/// What is wrong with a message's bytes at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The message ends inside a field.
    #[error("the message ends inside it: it was truncated, or another schema wrote it")]
    Truncated,
    /// A variable-length integer has more bytes than its type can hold.
    #[error("its integer is longer than its type allows: the message's schema is another one")]
    IntegerTooLong,
    /// A length or count is negative, or larger than what is left of the message.
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
    #[error("the reader's schema has no place for what was written")]
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
    /// A string is new and the table of strings has no room.
    #[error("the table of strings is full: start again with higher limits for strings and bytes")]
    StringsFull,
    /// A UUID, decimal or duration is invalid, or outside of what its column holds.
    #[error(
        "it is not a value of its logical type, or larger than its column holds: repair the producer or the schema"
    )]
    Logical,
    /// The columns have no room for 2^31 bytes or elements.
    #[error("its column has 2^31 bytes or elements: finish the batch and append the message again")]
    ColumnsFull,
    /// The bytes before the message name another schema, or none.
    #[error("it does not begin with the expected schema fingerprint or id: its schema or its framing is another one")]
    Frame,
    /// Bytes are left after the message's last field.
    #[error("bytes are left after the last field: the message's schema is another one")]
    Remainder,
}

/// What is wrong, and at which byte of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("at byte {position}: {kind}")]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// Byte of the message where the bad value begins, from 0.
    pub position: usize,
}

/// Why a message was refused: the field, the byte and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}at byte {}: {}", Field(.path), .fault.position, .fault.kind)]
pub struct DecodeError {
    /// The field's path from the message's root, such as `tags.value` or `items[].price`; empty for the message itself.
    pub path: String,
    /// What is wrong, and at which byte.
    pub fault: Fault,
}

/// Why a schema was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is not an Avro schema in JSON.
    #[error("not an Avro schema: {0}")]
    Json(String),
    /// A name stands for no type, or a default for no symbol.
    #[error("the schema uses {0:?} but does not define it; define it before it is used")]
    Name(String),
    /// A name stands for two types.
    #[error("the schema defines {0:?} twice; give one of them another name")]
    Twice(String),
    /// A field's default does not fit its type.
    #[error("the default of field {field:?} of {record:?}: {error}")]
    Default {
        /// The record.
        record: String,
        /// Its field.
        field: String,
        /// What is wrong.
        error: EncodeError,
    },
    /// It has more types or longer sizes than this reader counts.
    #[error("the schema is too large or nested too deep; split it")]
    TooLarge,
}

/// Why messages of a writer's schema can't be read as a reader's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{reason}", Field(.path))]
pub struct ResolveError {
    /// The field's path in the reader's schema; empty for the message itself.
    pub path: String,
    /// What does not fit, and what to do.
    pub reason: String,
}

/// Why a value was not encoded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}expected {expected}, found {found}", Field(.path))]
pub struct EncodeError {
    /// The field's path from the value's root; empty for the value itself.
    pub path: String,
    /// What the schema asks for.
    pub expected: String,
    /// What was given.
    pub found: String,
}

impl EncodeError {
    #[cold]
    pub(crate) fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { path: String::new(), expected: expected.into(), found: found.into() }
    }

    /// The same error seen from outside of `segment`: a field's name, a map's key, or `[]`.
    #[cold]
    pub(crate) fn within(mut self, segment: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{segment}{dot}{}", self.path);
        self
    }
}

/// Why a message was not read into a type.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// Its bytes were refused.
    #[error(transparent)]
    Message(DecodeError),
    /// The type has another shape than the reader's schema.
    #[error("the message does not fit the type it is read into: {0}; compare the type with the reader's schema")]
    Shape(#[from] ShapeMismatch),
}

/// Why serde's type did not take the value.
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

/// `field tags.value: `, or nothing for the message itself.
pub(crate) struct Field<'a>(pub &'a str);

impl std::fmt::Display for Field<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(out, "field {}: ", self.0) }
    }
}
