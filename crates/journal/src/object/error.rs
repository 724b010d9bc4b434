//! Why bytes are not a journal object's index.

use thiserror::Error;

/// Why bytes are not a journal object's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ObjectError {
    /// Too few bytes: read `need` of them.
    #[error("truncated: {have} of {need} bytes")]
    Truncated {
        /// Bytes found.
        have: u64,
        /// Bytes needed.
        need: u64,
    },
    /// Not the first four bytes of a journal object.
    #[error("begins with {found:02x?}, not with \"RAWJ\" or \"RAWM\"")]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// A version that this broker doesn't know.
    #[error("journal object version {found}; this broker knows version 1")]
    Version {
        /// The object's version.
        found: u8,
    },
    /// The checksum of header, sections and entries is wrong.
    #[error("checksum mismatch in the index")]
    Crc,
    /// The index breaks one of its rules.
    #[error("the index contradicts itself: {0}")]
    Index(&'static str),
}
