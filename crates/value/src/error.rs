//! What can be wrong with a value's bytes, each its own error, with where it is.

use thiserror::Error;

use crate::Kind;

/// Why bytes are not a value, or not the one asked for. Positions are in bytes, from the value's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The bytes end inside a value, or a container claims more elements than there are bytes.
    #[error("the value is cut off: the field at byte {position} needs more bytes than follow; send it whole")]
    Truncated {
        /// Where the field begins that does not fit.
        position: usize,
    },
    /// A byte that stands for no type.
    #[error("no type has the tag {found:#04x} at byte {position}; use 0x00 to 0x0e")]
    Tag {
        /// Where.
        position: usize,
        /// The byte there is.
        found: u8,
    },
    /// A number that stands for no protocol of a port.
    #[error("no protocol has the number {found} at byte {position}; use 0 (unknown), 1 (tcp), 2 (udp) or 3 (icmp)")]
    Protocol {
        /// Where.
        position: usize,
        /// The number there is.
        found: u8,
    },
    /// A size of more than five bytes or of 2^32 or more.
    #[error("the size at byte {position} takes more than five bytes or 32 bits; send smaller values")]
    Size {
        /// Where the size begins.
        position: usize,
    },
    /// A value of another type than the one asked for.
    #[error(
        "the value at byte {position} is of type {}, not {}; ask for what was written",
        found.name(), wanted.name()
    )]
    Kind {
        /// Where the value begins.
        position: usize,
        /// The type asked for.
        wanted: Kind,
        /// The type there is.
        found: Kind,
    },
    /// A string that is not UTF-8, asked for as text.
    #[error("the string at byte {position} is not UTF-8; ask for its bytes")]
    Utf8 {
        /// Where the string begins.
        position: usize,
    },
    /// A set with an element twice or a table with a key twice.
    #[error("the set or table at byte {position} holds an element or a key twice; send each once")]
    NotUnique {
        /// Where the container begins.
        position: usize,
    },
    /// Bytes after the end of the value.
    #[error("{count} bytes follow the value's end at byte {position}; send exactly one value")]
    TrailingBytes {
        /// Where the value ends.
        position: usize,
        /// How many bytes follow.
        count: usize,
    },
    /// Containers in containers beyond the limit.
    #[error("the container at byte {position} is nested more than {depth_max} deep; send flatter values")]
    TooDeep {
        /// Where the container begins.
        position: usize,
        /// The limit.
        depth_max: u32,
    },
    /// More elements than the limit, all containers together.
    #[error("at byte {position} the value passes {elements_max} elements; send smaller values")]
    TooManyElements {
        /// Where the number of elements begins that is too much.
        position: usize,
        /// The limit.
        elements_max: u32,
    },
    /// More bytes than the limit.
    #[error("a value of {bytes} bytes; this reader takes at most {bytes_max}: send smaller values")]
    TooLong {
        /// Bytes there are.
        bytes: usize,
        /// The limit.
        bytes_max: u32,
    },
}

impl ValueError {
    /// The error of a value that begins so many bytes into a larger one.
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
