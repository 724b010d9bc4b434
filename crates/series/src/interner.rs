//! Maps strings to dense ids and back, shared by all threads.

use rawline_avro::{FaultKind, StringIds};
use thiserror::Error;

use crate::byte_table::{ByteTable, Full, LimitsError, Number};

/// Maximum length of an interned string. A name as long as a page is a mistake, and a snapshot's segment must hold any
/// string.
pub const STRING_BYTES_MAX: usize = 64 << 10;

/// Limits of an interner. All memory is allocated at its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InternerLimits {
    /// Maximum number of strings, 1 to 2^30.
    pub strings_max: u32,
    /// Memory for the strings' bytes, each with a header of 8 bytes and rounded up to 8; at most 32 GiB.
    pub bytes_max: usize,
}

/// A string could not be interned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InternError {
    /// No room for a new string. Known strings still have their ids.
    #[error("the table of strings is full: restart with higher limits for strings and bytes")]
    Full,
    /// The string is longer than [`STRING_BYTES_MAX`].
    #[error("the string is longer than {STRING_BYTES_MAX} bytes: shorten it where it is produced")]
    TooLong,
    /// The bytes are not UTF-8.
    #[error("the string's bytes are not UTF-8: fix the producer")]
    Utf8,
}

/// Maps strings to dense ids from 0, and back. All methods take `&self` and may be called from any thread at any time.
///
/// - The same bytes have the same id in every thread; an id never changes and is never reused.
/// - Finding a known string takes no lock, writes nothing and allocates nothing: no thread can delay it.
/// - A new string takes one short lock. Only then it is checked to be UTF-8: equal bytes are equally valid.
/// - Capacity and memory are fixed. If a string doesn't fit, the call fails immediately with
///   [`InternError::Full`] and changes nothing; every known string still resolves. No call waits for room.
/// - If a thread panics during an insertion, the string is either inserted or not; other threads continue.
/// - Probing is bounded, the hash is seeded, and bytes are compared in full: different strings never share an id.
///
/// `byte_table.rs` has the implementation.
#[derive(Debug)]
pub struct Interner {
    table: ByteTable,
}

impl Interner {
    /// Creates an empty interner. The seed goes into the hash; use a random one unless a test must be repeatable.
    pub fn new(limits: InternerLimits, seed: u64) -> Result<Self, LimitsError> {
        Ok(Self { table: ByteTable::new(limits.strings_max, limits.bytes_max, seed)? })
    }

    /// The id of a string, which is inserted if it is new.
    #[inline]
    pub fn intern(&self, bytes: &[u8]) -> Result<u32, InternError> {
        let hash = self.table.hash(bytes);
        match self.table.find(hash, bytes) {
            Some(id) => Ok(id),
            None => self.insert(hash, bytes),
        }
    }

    #[cold]
    fn insert(&self, hash: u64, bytes: &[u8]) -> Result<u32, InternError> {
        std::str::from_utf8(bytes).map_err(|_| InternError::Utf8)?;
        if bytes.len() > STRING_BYTES_MAX {
            return Err(InternError::TooLong);
        }
        self.table.insert(hash, bytes, Number::Next).map_err(|Full| InternError::Full)
    }

    /// The id of a string, if it has one.
    #[inline]
    pub fn find(&self, bytes: &[u8]) -> Option<u32> {
        self.table.find(self.table.hash(bytes), bytes)
    }

    /// The string with this id.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&str> {
        // SAFETY: `insert` is the only way to add a string, and it checks for UTF-8.
        self.table.get(id).map(|bytes| unsafe { std::str::from_utf8_unchecked(bytes) })
    }

    /// Number of strings. The ids are the numbers below it.
    pub fn len(&self) -> u32 {
        self.table.len()
    }

    /// Whether the interner has no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Maximum number of strings, if their bytes fit.
    pub fn strings_max(&self) -> u32 {
        self.table.entries_max()
    }

    /// Bytes used by strings, including headers and padding.
    pub fn bytes_used(&self) -> usize {
        self.table.bytes_used()
    }

    /// Allocated memory in bytes. It never changes.
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
    }

    /// Strings with ids from `since` on, in order.
    pub fn iter_since(&self, since: u32) -> impl Iterator<Item = (u32, &str)> {
        (since..self.len()).filter_map(|id| Some((id, self.get(id)?)))
    }
}

impl StringIds for Interner {
    #[inline]
    fn intern(&self, bytes: &[u8]) -> Result<u32, FaultKind> {
        self.intern(bytes).map_err(|error| match error {
            InternError::Full => FaultKind::StringsFull,
            InternError::TooLong => FaultKind::StringTooLong,
            InternError::Utf8 => FaultKind::Utf8,
        })
    }

    fn get(&self, id: u32) -> Option<&str> {
        self.get(id)
    }

    fn len(&self) -> u32 {
        self.len()
    }

    fn bytes_max(&self) -> usize {
        self.memory_bytes()
    }
}
