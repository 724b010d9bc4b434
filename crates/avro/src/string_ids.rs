//! The interface of a table that assigns dense ids to strings.

use std::fmt::Debug;

use crate::error::FaultKind;

/// Assigns a dense id from 0 to each distinct string. Shared by threads; ids never change.
///
/// `rawline-series` implements it as an interner.
pub trait StringIds: Debug + Send + Sync {
    /// The id of a string, which is inserted if it is new.
    ///
    /// Fails with [`FaultKind::StringsFull`] if a new string has no room, [`FaultKind::StringTooLong`] if it exceeds
    /// the table's limit, and [`FaultKind::Utf8`] if it isn't UTF-8.
    fn intern(&self, bytes: &[u8]) -> Result<u32, FaultKind>;

    /// The string with this id.
    fn get(&self, id: u32) -> Option<&str>;

    /// Number of strings. The ids are the numbers below it.
    fn len(&self) -> u32;

    /// Whether the table has no strings.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Upper bound of the strings' total length in bytes.
    fn bytes_max(&self) -> usize;
}
