//! What can be wrong with the bytes of a message, and where.

use thiserror::Error;

/// What is wrong with a message's bytes at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The message ends inside a field.
    #[error("the message ends inside it: it was cut, or its schema is another one")]
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
