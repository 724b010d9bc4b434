//! The maximum memory of one request.

use crate::read::WireError;

/// How much memory the fields of a message may take: this many bytes for each of the message's ...
///
/// An empty string has one byte in a message and 24 in memory, and some structures have three and 80. Real requests
/// need up to 14, if all of their names have one letter.
pub const MEMORY_PER_BYTE: usize = 16;

/// ... and this many for every message, whatever its size.
pub const MEMORY_OF_ANY: usize = 4096;

/// The remaining budget for allocations of one message's fields. Each allocation is subtracted before, and never added
/// back.
pub(crate) struct Memory {
    left: usize,
}

impl Memory {
    /// For a message of this size.
    pub fn of(message_bytes: usize) -> Memory {
        Memory { left: message_bytes.saturating_mul(MEMORY_PER_BYTE).saturating_add(MEMORY_OF_ANY) }
    }

    /// Call before this many bytes are allocated.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), WireError> {
        let error = WireError::Memory { bytes, limit: self.left };
        self.left = self.left.checked_sub(bytes).ok_or(error)?;
        Ok(())
    }

    /// An empty vector with capacity for exactly this many elements.
    pub fn vector<T>(&mut self, elements: usize) -> Result<Vec<T>, WireError> {
        self.reserve(elements.saturating_mul(size_of::<T>()))?;
        Ok(Vec::with_capacity(elements))
    }
}
