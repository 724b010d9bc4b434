//! Reads Avro's primitive types from a message, with every bound checked.
//!
//! Source of the encoding: Avro specification 1.12, "Binary encoding".

use crate::error::{Fault, FaultKind};

/// Number of bytes after a string that are checked together with it: about a line of short strings.
const LOOK_AHEAD: usize = 256;

/// A position in a message's bytes. After an error, it is at the start of the invalid value.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    message: &'a [u8],
    rest: &'a [u8],
    /// All bytes from the last check up to this distance from the message's end are ASCII.
    ascii_rest: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the message's first byte.
    #[inline]
    pub fn new(message: &'a [u8]) -> Self {
        Self { message, rest: message, ascii_rest: usize::MAX }
    }

    /// A cursor at byte `position`, or at the message's end if that comes first.
    #[inline]
    pub(crate) fn at(message: &'a [u8], position: usize) -> Self {
        Self { rest: message.get(position..).unwrap_or_default(), ..Self::new(message) }
    }

    /// Moves to the position of `ahead`, a clone of this cursor.
    #[inline]
    pub(crate) fn go_to(&mut self, ahead: &Self) {
        self.rest = ahead.rest;
        self.ascii_rest = ahead.ascii_rest;
    }

    /// The whole message.
    #[inline]
    pub(crate) fn message(&self) -> &'a [u8] {
        self.message
    }

    /// Bytes read so far.
    #[inline]
    pub fn position(&self) -> usize {
        self.message.len() - self.rest.len()
    }

    /// The remaining bytes.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The fault `kind` at the current position.
    #[cold]
    pub fn fault(&self, kind: FaultKind) -> Fault {
        Fault { kind, position: self.position() }
    }

    /// A zigzag `long`. Overlong encodings are accepted if they fit into ten bytes and 64 bits.
    #[inline]
    pub fn long(&mut self) -> Result<i64, Fault> {
        match self.rest.split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.rest = rest;
                Ok(unzigzag(u64::from(byte)))
            }
            _ => match self.rest.first_chunk().and_then(|word| short_long(*word)) {
                Some((value, length)) => {
                    self.rest = self.rest.get(length..).unwrap_or_default();
                    Ok(value)
                }
                None => match long_long(self.rest) {
                    Ok((value, rest)) => {
                        self.rest = rest;
                        Ok(value)
                    }
                    Err(kind) => Err(self.fault(kind)),
                },
            },
        }
    }

    /// A zigzag `int`: a `long` that fits into 32 bits.
    #[inline]
    pub fn int(&mut self) -> Result<i32, Fault> {
        let begin = self.rest;
        let value = self.long()?;
        i32::try_from(value).map_err(|_| {
            self.rest = begin;
            self.fault(FaultKind::IntegerTooLong)
        })
    }

    /// The next `length` bytes.
    #[inline]
    pub fn fixed(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        match self.rest.split_at_checked(length) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(self.fault(FaultKind::Truncated)),
        }
    }

    /// `bytes`: a length and that many bytes. A length that is negative or larger than the rest is rejected before
    /// anything is allocated for it.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        // An even byte below 0x80 is a length of one byte.
        if let Some((&first, rest)) = self.rest.split_first()
            && first & 0x81 == 0
            && let Some((bytes, rest)) = rest.split_at_checked(usize::from(first >> 1))
        {
            self.rest = rest;
            return Ok(bytes);
        }
        match long_bytes(self.rest) {
            Ok((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            Err(kind) => Err(self.fault(kind)),
        }
    }

    /// A `string`: bytes that are UTF-8.
    #[inline]
    pub fn string(&mut self) -> Result<&'a str, Fault> {
        let begin = self.rest;
        let bytes = self.bytes()?;
        // Lengths and short integers are below 0x80 too, so one look-ahead usually covers many strings.
        if self.rest.len() < self.ascii_rest {
            let end = self.message.len() - self.rest.len();
            let ahead = self.message.get(end - bytes.len()..).unwrap_or_default();
            match ascii_ahead(ahead, bytes) {
                Some(ascii_rest) => self.ascii_rest = ascii_rest,
                None => {
                    self.rest = begin;
                    self.ascii_rest = usize::MAX;
                    return Err(self.fault(FaultKind::Utf8));
                }
            }
        }
        // SAFETY: either these bytes were checked just now, or all bytes up to `ascii_rest` from the end were found to
        // be ASCII when an earlier string was read; a cursor only moves forward.
        Ok(unsafe { std::str::from_utf8_unchecked(bytes) })
    }

    /// A `boolean`: one byte, 0 or 1.
    #[inline]
    pub fn boolean(&mut self) -> Result<bool, Fault> {
        match self.rest.split_first() {
            Some((&byte @ (0 | 1), rest)) => {
                self.rest = rest;
                Ok(byte == 1)
            }
            Some(_) => Err(self.fault(FaultKind::Boolean)),
            None => Err(self.fault(FaultKind::Truncated)),
        }
    }

    /// A `float`: four bytes, little-endian.
    #[inline]
    pub fn float(&mut self) -> Result<f32, Fault> {
        match self.rest.split_first_chunk() {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(f32::from_le_bytes(*bytes))
            }
            None => Err(self.fault(FaultKind::Truncated)),
        }
    }

    /// A `double`: eight bytes, little-endian.
    #[inline]
    pub fn double(&mut self) -> Result<f64, Fault> {
        match self.rest.split_first_chunk() {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(f64::from_le_bytes(*bytes))
            }
            None => Err(self.fault(FaultKind::Truncated)),
        }
    }

    /// The number of elements in the next block of an array or map; 0 ends it. A negative count is followed by the
    /// block's size in bytes, which must be neither negative nor larger than the rest. The size is returned so that the
    /// caller can skip or check the block.
    #[inline]
    pub fn block(&mut self) -> Result<(u64, Option<usize>), Fault> {
        let begin = self.rest;
        let count = self.long()?;
        if count >= 0 {
            return Ok((count.unsigned_abs(), None));
        }
        let size = self.long().inspect_err(|_| self.rest = begin);
        match size.map(|size| usize::try_from(size).ok().filter(|size| *size <= self.rest.len())) {
            Ok(Some(size)) => Ok((count.unsigned_abs(), Some(size))),
            Ok(None) => {
                self.rest = begin;
                Err(self.fault(FaultKind::Length))
            }
            Err(fault) => Err(Fault { position: self.position(), ..fault }),
        }
    }

    /// Fails unless the message ends here.
    #[inline]
    pub fn finish(&self) -> Result<(), Fault> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.fault(FaultKind::Remainder)) }
    }
}

#[inline]
fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// An integer of up to eight bytes, and its length.
#[inline]
fn short_long(word: [u8; 8]) -> Option<(i64, usize)> {
    let word = u64::from_le_bytes(word);
    let ends = !word & 0x8080_8080_8080_8080;
    if ends == 0 {
        return None;
    }
    // Keeps the bytes up to the first without the high bit, then joins groups of 7 bits; each step doubles a group's
    // width.
    let value = word & (ends ^ (ends - 1));
    let value = (value & 0x007f_007f_007f_007f) | (value & 0x7f00_7f00_7f00_7f00) >> 1;
    let value = (value & 0x0000_3fff_0000_3fff) | (value & 0x3fff_0000_3fff_0000) >> 2;
    let value = (value & 0x0fff_ffff) | (value & 0x0fff_ffff_0000_0000) >> 4;
    Some((unzigzag(value), ends.trailing_zeros() as usize / 8 + 1))
}

/// An integer of any length, and the rest.
#[inline(never)]
fn long_long(from: &[u8]) -> Result<(i64, &[u8]), FaultKind> {
    let mut value = 0_u64;
    for (i, &byte) in from.iter().take(10).enumerate() {
        // The tenth byte holds only the 64th bit.
        if i == 9 && byte > 1 {
            return Err(FaultKind::IntegerTooLong);
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok((unzigzag(value), from.get(i + 1..).unwrap_or_default()));
        }
    }
    Err(if from.len() < 10 { FaultKind::Truncated } else { FaultKind::IntegerTooLong })
}

/// Bytes after a length of any size, and the rest. Rarely called; takes values so that the cursor stays in registers.
#[inline(never)]
fn long_bytes(from: &[u8]) -> Result<(&[u8], &[u8]), FaultKind> {
    let mut cursor = Cursor::new(from);
    let length = cursor.long().map_err(|fault| fault.kind)?;
    let split = usize::try_from(length).ok().and_then(|length| cursor.rest.split_at_checked(length));
    split.ok_or(if length < 0 { FaultKind::Length } else { FaultKind::Truncated })
}

/// The rest of `ahead` after its leading ASCII; `None` if `text`, its first bytes, isn't UTF-8.
#[inline(never)]
fn ascii_ahead(ahead: &[u8], text: &[u8]) -> Option<usize> {
    let near = ahead.get(..text.len() + LOOK_AHEAD).unwrap_or(ahead);
    let ascii = ascii_prefix(near);
    (ascii >= text.len() || std::str::from_utf8(text).is_ok()).then_some(ahead.len() - ascii)
}

/// Number of bytes before the first that isn't ASCII.
#[inline]
fn ascii_prefix(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let high = u64::from_le_bytes(*word) & 0x8080_8080_8080_8080;
        if high != 0 {
            return i * 8 + high.trailing_zeros() as usize / 8;
        }
    }
    words.len() * 8 + tail.iter().take_while(|byte| byte.is_ascii()).count()
}
