//! Reads Avro's primitive types from a message, every bound checked.
//!
//! Source of the encoding: Avro specification 1.12, "Binary encoding".

use crate::error::{Fault, FaultKind};

/// A place in a message's bytes. After an error it stands where the bad value begins.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    message: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the message's first byte.
    pub fn new(message: &'a [u8]) -> Self {
        Self { message, position: 0 }
    }

    /// Bytes read so far.
    #[inline]
    pub fn position(&self) -> usize {
        self.position
    }

    /// The bytes not yet read.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.message.get(self.position..).unwrap_or_default()
    }

    /// The fault `kind` at the cursor's place.
    #[cold]
    pub fn fault(&self, kind: FaultKind) -> Fault {
        Fault { kind, position: self.position }
    }

    /// A zigzag `long`. Encodings longer than needed are read, as long as they fit into ten bytes and 64 bits.
    #[inline]
    pub fn long(&mut self) -> Result<i64, Fault> {
        let rest = self.rest();
        match rest.first() {
            Some(&byte) if byte < 0x80 => {
                self.position += 1;
                Ok(unzigzag(u64::from(byte)))
            }
            _ => self.long_of_many_bytes(rest),
        }
    }

    fn long_of_many_bytes(&mut self, rest: &[u8]) -> Result<i64, Fault> {
        let mut value = 0_u64;
        for (i, &byte) in rest.iter().take(10).enumerate() {
            // The tenth byte holds the 64th bit alone.
            if i == 9 && byte > 1 {
                return Err(self.fault(FaultKind::IntegerTooLong));
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.position += i + 1;
                return Ok(unzigzag(value));
            }
        }
        Err(self.fault(if rest.len() < 10 { FaultKind::Truncated } else { FaultKind::IntegerTooLong }))
    }

    /// A zigzag `int`: a `long` that fits into 32 bits.
    #[inline]
    pub fn int(&mut self) -> Result<i32, Fault> {
        let begin = self.position;
        let value = self.long()?;
        i32::try_from(value).map_err(|_| Fault { kind: FaultKind::IntegerTooLong, position: begin })
    }

    /// The next `length` bytes.
    #[inline]
    pub fn fixed(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        match self.rest().get(..length) {
            Some(bytes) => {
                self.position += length;
                Ok(bytes)
            }
            None => Err(self.fault(FaultKind::Truncated)),
        }
    }

    /// `bytes`: a length and that many bytes. A length that is negative or larger than the rest is refused before
    /// anything is allocated for it.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let begin = self.position;
        let length = self.long()?;
        match usize::try_from(length).ok().and_then(|length| self.rest().get(..length)) {
            Some(bytes) => {
                self.position += bytes.len();
                Ok(bytes)
            }
            None => {
                self.position = begin;
                Err(self.fault(if length < 0 { FaultKind::Length } else { FaultKind::Truncated }))
            }
        }
    }

    /// A `string`: bytes that are UTF-8.
    #[inline]
    pub fn string(&mut self) -> Result<&'a str, Fault> {
        let begin = self.position;
        let bytes = self.bytes()?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => {
                self.position = begin;
                Err(self.fault(FaultKind::Utf8))
            }
        }
    }

    /// A `boolean`: one byte, 0 or 1.
    #[inline]
    pub fn boolean(&mut self) -> Result<bool, Fault> {
        match self.rest().first() {
            Some(0) => {
                self.position += 1;
                Ok(false)
            }
            Some(1) => {
                self.position += 1;
                Ok(true)
            }
            Some(_) => Err(self.fault(FaultKind::Boolean)),
            None => Err(self.fault(FaultKind::Truncated)),
        }
    }

    /// A `float`: four bytes, little-endian.
    #[inline]
    pub fn float(&mut self) -> Result<f32, Fault> {
        match self.rest().first_chunk() {
            Some(bytes) => {
                self.position += 4;
                Ok(f32::from_le_bytes(*bytes))
            }
            None => Err(self.fault(FaultKind::Truncated)),
        }
    }

    /// A `double`: eight bytes, little-endian.
    #[inline]
    pub fn double(&mut self) -> Result<f64, Fault> {
        match self.rest().first_chunk() {
            Some(bytes) => {
                self.position += 8;
                Ok(f64::from_le_bytes(*bytes))
            }
            None => Err(self.fault(FaultKind::Truncated)),
        }
    }

    /// How many elements the next block of an array or map has; 0 ends it. A negative count is followed by the
    /// block's size in bytes, which must not be negative nor larger than the rest; it is given back so that the caller
    /// can skip the block or check it.
    #[inline]
    pub fn block(&mut self) -> Result<(u64, Option<usize>), Fault> {
        let begin = self.position;
        let count = self.long()?;
        if count >= 0 {
            return Ok((count.unsigned_abs(), None));
        }
        let size = self.long().map_err(|fault| Fault { position: begin, ..fault })?;
        match usize::try_from(size).ok().filter(|size| *size <= self.rest().len()) {
            Some(size) => Ok((count.unsigned_abs(), Some(size))),
            None => {
                self.position = begin;
                Err(self.fault(FaultKind::Length))
            }
        }
    }

    /// The message must end here.
    #[inline]
    pub fn finish(&self) -> Result<(), Fault> {
        if self.position == self.message.len() { Ok(()) } else { Err(self.fault(FaultKind::Remainder)) }
    }
}

#[inline]
fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}
