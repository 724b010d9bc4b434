//! Errors in a value's bytes, with their positions.

use thiserror::Error;

use crate::Kind;

/// Why bytes aren't a value, or not one of the requested type. Positions are in bytes from the beginning of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The bytes end inside a value, or a container claims more elements than there are bytes.
    #[error("the value is truncated: the field at byte {position} needs more bytes than follow; send it whole")]
    Truncated {
        /// Start of the field that doesn't fit.
        position: usize,
    },
    /// The byte isn't the tag of a type.
    #[error("no type has the tag {found:#04x} at byte {position}; use 0x00 to 0x0e")]
    Tag {
        /// Position.
        position: usize,
        /// The byte.
        found: u8,
    },
    /// The number isn't a port's protocol.
    #[error("no protocol has the number {found} at byte {position}; use 0 (unknown), 1 (tcp), 2 (udp) or 3 (icmp)")]
    Protocol {
        /// Position.
        position: usize,
        /// The number.
        found: u8,
    },
    /// A size of more than five bytes or of 2^32 or more.
    #[error("the size at byte {position} takes more than five bytes or 32 bits; send smaller values")]
    Size {
        /// Start of the size.
        position: usize,
    },
    /// The value isn't of the requested type.
    #[error(
        "the value at byte {position} is of type {}, not {}; ask for what was written",
        found.name(), wanted.name()
    )]
    Kind {
        /// Start of the value.
        position: usize,
        /// The requested type.
        wanted: Kind,
        /// The actual type.
        found: Kind,
    },
    /// A string that was requested as text and isn't UTF-8.
    #[error("the string at byte {position} is not UTF-8; ask for its bytes")]
    Utf8 {
        /// Start of the string.
        position: usize,
    },
    /// A set with a duplicate element, or a table with a duplicate key.
    #[error("the set or table at byte {position} has a duplicate element or key; send each once")]
    NotUnique {
        /// Start of the container.
        position: usize,
    },
    /// Bytes after the end of the value.
    #[error("{count} bytes follow the value's end at byte {position}; send exactly one value")]
    TrailingBytes {
        /// End of the value.
        position: usize,
        /// Number of bytes after it.
        count: usize,
    },
    /// Containers nested beyond the limit.
    #[error("the container at byte {position} is nested deeper than {depth_max}; send flatter values")]
    TooDeep {
        /// Start of the container.
        position: usize,
        /// The limit.
        depth_max: u32,
    },
    /// More elements than the limit, in all containers together.
    #[error("at byte {position} the value passes {elements_max} elements; send smaller values")]
    TooManyElements {
        /// Start of the number of elements that exceeds the limit.
        position: usize,
        /// The limit.
        elements_max: u32,
    },
    /// More bytes than the limit.
    #[error("a value of {bytes} bytes exceeds this reader's limit of {bytes_max}; send smaller values")]
    TooLong {
        /// Size of the value in bytes.
        bytes: usize,
        /// The limit.
        bytes_max: u32,
    },
}

impl ValueError {
    /// The error for a value that begins this many bytes into a larger one.
    pub(crate) fn moved(mut self, start: usize) -> ValueError {
        match &mut self {
            ValueError::Truncated { position }
            | ValueError::Tag { position, .. }
            | ValueError::Protocol { position, .. }
            | ValueError::Size { position }
            | ValueError::Kind { position, .. }
            | ValueError::Utf8 { position }
            | ValueError::NotUnique { position }
            | ValueError::TrailingBytes { position, .. }
            | ValueError::TooDeep { position, .. }
            | ValueError::TooManyElements { position, .. } => *position += start,
            ValueError::TooLong { .. } => {}
        }
        self
    }
}
