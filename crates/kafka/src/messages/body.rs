//! A message's bytes as the source of its fields. None of them is trusted.

use super::field::{Source, Uuid};
use crate::memory::Memory;
use crate::read::{Reader, WireError};
use crate::write::STRING_BYTES_MAX;
use bytes::Bytes;

/// Reads the fields of one message.
pub struct Body<'a> {
    reader: Reader<'a>,
    memory: Memory,
}

impl<'a> Body<'a> {
    pub fn new(bytes: &'a [u8], is_flexible: bool) -> Body<'a> {
        let reader = Reader::new(bytes, is_flexible).with_strings(STRING_BYTES_MAX);
        Body { reader, memory: Memory::of(bytes.len()) }
    }

    /// A length or count that was read, compared with the bytes that follow: each element has one at least.
    fn within(&self, length: Option<u64>, is_nullable: bool) -> Result<Option<usize>, WireError> {
        let Some(length) = length else {
            return if is_nullable { Ok(None) } else { Err(WireError::Null) };
        };
        let limit = self.reader.left() as u64;
        if length > limit {
            return Err(WireError::Length { found: length as i64, limit });
        }
        Ok(Some(length as usize))
    }
}

impl Source for Body<'_> {
    fn bool(&mut self) -> Result<bool, WireError> {
        Ok(self.reader.i8()? != 0)
    }

    fn i8(&mut self) -> Result<i8, WireError> {
        Ok(self.reader.i8()?)
    }

    fn i16(&mut self) -> Result<i16, WireError> {
        Ok(self.reader.i16()?)
    }

    fn i32(&mut self) -> Result<i32, WireError> {
        Ok(self.reader.i32()?)
    }

    fn i64(&mut self) -> Result<i64, WireError> {
        Ok(self.reader.i64()?)
    }

    fn uuid(&mut self) -> Result<Uuid, WireError> {
        Ok(Uuid(self.reader.id()?))
    }

    fn string(&mut self, is_nullable: bool) -> Result<Option<String>, WireError> {
        let string = if is_nullable { self.reader.nullable_string()? } else { Some(self.reader.string()?) };
        let Some(string) = string else { return Ok(None) };
        self.memory.reserve(string.len())?;
        Ok(Some(string.to_owned()))
    }

    fn bytes(&mut self, is_nullable: bool) -> Result<Option<Bytes>, WireError> {
        let length = self.reader.bytes_length()?;
        let Some(length) = self.within(length, is_nullable)? else { return Ok(None) };
        self.memory.reserve(length)?;
        Ok(Some(Bytes::copy_from_slice(self.reader.take(length)?)))
    }

    fn count(&mut self, element_bytes: usize, is_nullable: bool) -> Result<Option<usize>, WireError> {
        let count = self.reader.bytes_length()?;
        let Some(count) = self.within(count, is_nullable)? else { return Ok(None) };
        self.memory.reserve(count.saturating_mul(element_bytes))?;
        Ok(Some(count))
    }

    fn is_present(&mut self) -> Result<bool, WireError> {
        Ok(self.reader.i8()? >= 0)
    }

    fn tags(&mut self, mut read: impl FnMut(&mut Self, u32) -> Result<bool, WireError>) -> Result<(), WireError> {
        if !self.reader.is_flexible() {
            return Ok(());
        }
        let count = self.reader.varint()?;
        // Neither the number of a field nor its length has less than a byte.
        self.within(Some(u64::from(count) * 2), false)?;
        for _ in 0..count {
            let (tag, bytes) = (self.reader.varint()?, self.reader.varint()?);
            let begin = self.reader.position();
            if !read(self, tag)? {
                self.reader.take(bytes as usize)?;
            }
            let end = self.reader.position();
            if end - begin != bytes as usize {
                return Err(WireError::Length { found: i64::from(bytes), limit: (end - begin) as u64 });
            }
        }
        Ok(())
    }
}
