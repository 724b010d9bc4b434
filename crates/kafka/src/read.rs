//! Reads fields of a request, none of which is trusted: every length and count is compared with the bytes that follow.

use thiserror::Error;

/// Maximum length of a string in bytes, unless a caller allows more: topics have 249, client ids and racks are
/// short.
const STRING_BYTES_MAX: usize = 1 << 10;

/// Why bytes are not a request. The connection can't continue after it: where the next request begins is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// The request ends within a field.
    #[error("the request ends within a field")]
    Truncated,
    /// A length or a count that can't be.
    #[error("a length or count of {found} where at most {limit} can follow")]
    Length {
        /// The request's number.
        found: i64,
        /// The maximum.
        limit: u64,
    },
    /// A string that isn't UTF-8.
    #[error("a string that is not UTF-8")]
    Utf8,
    /// A varint of more than five bytes.
    #[error("a number of more than five bytes")]
    Varint,
    /// Nothing, where there has to be a string, bytes or an array.
    #[error("null in a field that must not be null")]
    Null,
    /// The fields would need more memory than a request of this size may have.
    #[error("{bytes} more bytes of memory for the fields where {limit} are left")]
    Memory {
        /// The necessary bytes.
        bytes: usize,
        /// The remaining bytes.
        limit: usize,
    },
    /// A version that this broker doesn't read.
    #[error("version {version} of API {api}; the broker reads {min} to {max}")]
    Version {
        /// The API's number.
        api: i16,
        /// The request's version.
        version: i16,
        /// The oldest version.
        min: i16,
        /// The newest version.
        max: i16,
    },
}

/// Why a field can't be read from the bytes at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// More bytes are needed.
    Incomplete,
    Wrong(WireError),
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Stop {
        Stop::Wrong(error)
    }
}

/// A source with all bytes in memory.
impl From<Stop> for WireError {
    fn from(stop: Stop) -> WireError {
        match stop {
            Stop::Incomplete => WireError::Truncated,
            Stop::Wrong(error) => error,
        }
    }
}

/// Reads fields from the front of some bytes.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    is_flexible: bool,
    string_bytes_max: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], is_flexible: bool) -> Reader<'a> {
        Reader { bytes, at: 0, is_flexible, string_bytes_max: STRING_BYTES_MAX }
    }

    /// The same, with strings of up to this many bytes.
    pub fn with_strings(self, string_bytes_max: usize) -> Reader<'a> {
        Reader { string_bytes_max, ..self }
    }

    pub fn is_flexible(&self) -> bool {
        self.is_flexible
    }

    /// Number of bytes that follow.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Number of bytes read.
    pub fn position(&self) -> usize {
        self.at
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        let end = self.at.checked_add(count).ok_or(Stop::Incomplete)?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::Incomplete)?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let bytes = self.take(N)?;
        let Some(array) = bytes.first_chunk() else { unreachable!("{} bytes were taken for {N}", bytes.len()) };
        Ok(*array)
    }

    pub fn i8(&mut self) -> Result<i8, Stop> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    pub fn i16(&mut self) -> Result<i16, Stop> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub fn i32(&mut self) -> Result<i32, Stop> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub fn i64(&mut self) -> Result<i64, Stop> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// A topic's id.
    pub fn id(&mut self) -> Result<[u8; 16], Stop> {
        self.array()
    }

    pub fn varint(&mut self) -> Result<u32, Stop> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| WireError::Varint.into());
            }
        }
        Err(WireError::Varint.into())
    }

    /// A length or a count: `None` if it is null.
    fn length(&mut self, fixed: impl FnOnce(&mut Self) -> Result<i64, Stop>) -> Result<Option<u64>, Stop> {
        let found = if self.is_flexible { i64::from(self.varint()?) - 1 } else { fixed(self)? };
        match u64::try_from(found) {
            Ok(length) => Ok(Some(length)),
            Err(_) if found == -1 => Ok(None),
            Err(_) => Err(WireError::Length { found, limit: 0 }.into()),
        }
    }

    /// The length of bytes that follow.
    pub fn bytes_length(&mut self) -> Result<Option<u64>, Stop> {
        self.length(|reader| reader.i32().map(i64::from))
    }

    pub fn nullable_string(&mut self) -> Result<Option<&'a str>, Stop> {
        let Some(length) = self.length(|reader| reader.i16().map(i64::from))? else { return Ok(None) };
        if length > self.string_bytes_max as u64 {
            return Err(WireError::Length { found: length as i64, limit: self.string_bytes_max as u64 }.into());
        }
        let bytes = self.take(length as usize)?;
        str::from_utf8(bytes).map(Some).map_err(|_| WireError::Utf8.into())
    }

    pub fn string(&mut self) -> Result<&'a str, Stop> {
        self.nullable_string()?.ok_or_else(|| WireError::Null.into())
    }

    /// The number of elements that follow, each of at least `element_bytes`. `left` bytes are to come, those of the
    /// number included. A null array has none.
    pub fn count(&mut self, element_bytes: u64, left: u64) -> Result<u32, Stop> {
        let begin = self.at;
        let count = self.length(|reader| reader.i32().map(i64::from))?.unwrap_or_default();
        let limit = left.saturating_sub((self.at - begin) as u64) / element_bytes;
        if count > limit {
            return Err(WireError::Length { found: count as i64, limit }.into());
        }
        u32::try_from(count).map_err(|_| WireError::Length { found: count as i64, limit }.into())
    }

    /// Skips tagged fields: this broker reads none of them. `left` is as in [`Reader::count`].
    pub fn tags(&mut self, left: u64) -> Result<(), Stop> {
        if !self.is_flexible {
            return Ok(());
        }
        let count = u64::from(self.varint()?);
        if count > left / 2 {
            return Err(WireError::Length { found: count as i64, limit: left / 2 }.into());
        }
        for _ in 0..count {
            self.varint()?;
            let bytes = self.varint()?;
            if u64::from(bytes) > STRING_BYTES_MAX as u64 {
                return Err(WireError::Length { found: i64::from(bytes), limit: STRING_BYTES_MAX as u64 }.into());
            }
            self.take(bytes as usize)?;
        }
        Ok(())
    }
}
