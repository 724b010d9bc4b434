//! Checks the records of an uncompressed RecordBatch as its bytes arrive, in pieces of any length.
//!
//! One pass over the records' numbers; keys, values and headers are passed over. This accepts what [`super::Records`]
//! reads without an error: the records of a producer, whose offsets are 0, 1, 2, … Records that lie whole in a piece
//! are read by the same code, which is faster than field by field.

use super::varint::{self, Broken};
use super::{RecordBatchHeader, RecordCursor, RecordError};

/// Maximum size of a number in bytes.
const NUMBER_BYTES_MAX: usize = 10;

/// The next field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Length,
    Attributes,
    Time,
    OffsetDelta,
    Key,
    Value,
    Headers,
    HeaderKey,
    HeaderValue,
}

/// Checks the records of one batch.
#[derive(Debug, Clone)]
pub(super) struct RecordsCheck {
    base_timestamp_ms: i64,
    records: u32,
    /// At the current record.
    cursor: RecordCursor,
    field: Field,
    /// Bytes that are left of the current record.
    left: u64,
    /// Bytes of a key or a value that are passed over.
    passed: u64,
    /// Headers that are left of the current record, the current one included.
    headers: u64,
    /// The first bytes of a number that is split between two pieces.
    held: [u8; NUMBER_BYTES_MAX],
    have: usize,
}

impl RecordsCheck {
    /// At the first record of a batch with this header.
    pub fn new(header: &RecordBatchHeader) -> RecordsCheck {
        RecordsCheck {
            base_timestamp_ms: header.base_timestamp_ms,
            records: header.records,
            cursor: RecordCursor::new(header),
            field: Field::Length,
            left: 0,
            passed: 0,
            headers: 0,
            held: [0; NUMBER_BYTES_MAX],
            have: 0,
        }
    }

    /// Takes the next piece of the records.
    pub fn push(&mut self, mut piece: &[u8]) -> Result<(), RecordError> {
        loop {
            if self.passed > 0 {
                let passed = self.passed.min(piece.len() as u64);
                piece = piece.split_at(passed as usize).1;
                self.passed -= passed;
                self.left -= passed;
            }
            while let Some(after) = self.whole(piece)? {
                piece = after;
            }
            if piece.is_empty() {
                return Ok(());
            }
            piece = self.step(piece)?;
        }
    }

    /// Ends the batch.
    pub fn finish(&self) -> Result<(), RecordError> {
        let record = self.cursor.number();
        if self.field != Field::Length || self.have > 0 || self.passed > 0 {
            return Err(RecordError::Truncated { record });
        }
        if record < self.records {
            return Err(RecordError::Missing { found: record, records: self.records });
        }
        Ok(())
    }

    /// Takes a record that lies whole at the front of the piece, and returns the bytes after it; `None` if none does.
    #[inline]
    fn whole<'a>(&mut self, piece: &'a [u8]) -> Result<Option<&'a [u8]>, RecordError> {
        if self.field != Field::Length || self.have > 0 || self.cursor.number() == self.records {
            return Ok(None);
        }
        let Ok((found, rest)) = varint::read(piece, 32) else { return Ok(None) };
        let split = usize::try_from(found).ok().and_then(|length| rest.split_at_checked(length));
        let Some((bytes, after)) = split else { return Ok(None) };
        self.cursor.check(bytes)?;
        Ok(Some(after))
    }

    /// Reads one field, as much as the piece has of it, and returns the bytes after it.
    fn step<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], RecordError> {
        let record = self.cursor.number();
        match self.field {
            Field::Length if record == self.records => Err(RecordError::Trailing { count: piece.len() as u64 }),
            Field::Length => {
                let (found, rest) = self.number(piece, 32)?;
                if let Some(found) = found {
                    // The bytes that follow are counted when they are all there.
                    self.left = self.length("a length", found, u64::MAX)?;
                    self.goes_to(Field::Attributes)?;
                }
                Ok(rest)
            }
            Field::Attributes => {
                self.left -= 1;
                self.goes_to(Field::Time)?;
                Ok(piece.split_at(1).1)
            }
            _ => {
                let bits = if self.field == Field::Time { 64 } else { 32 };
                let within = piece.split_at(self.left.min(piece.len() as u64) as usize).0;
                let (found, rest) = self.number(within, bits)?;
                let taken = within.len() - rest.len();
                self.left -= taken as u64;
                match found {
                    Some(found) => self.take(found)?,
                    None if self.left == 0 => return Err(RecordError::Truncated { record }),
                    None => {}
                }
                Ok(piece.split_at(taken).1)
            }
        }
    }

    /// Takes a number other than a record's length.
    fn take(&mut self, found: i64) -> Result<(), RecordError> {
        let record = self.cursor.number();
        match self.field {
            Field::Length | Field::Attributes => unreachable!("{:?} is taken elsewhere", self.field),
            Field::Time => {
                let base_ms = self.base_timestamp_ms;
                if base_ms.checked_add(found).is_none() {
                    return Err(RecordError::Timestamp { record, base_ms, delta_ms: found });
                }
                self.goes_to(Field::OffsetDelta)
            }
            Field::OffsetDelta => {
                if found != i64::from(record) {
                    return Err(RecordError::OffsetDelta { record, found });
                }
                self.goes_to(Field::Key)
            }
            Field::Key => {
                self.passed = self.nullable("a key", found)?;
                self.goes_to(Field::Value)
            }
            Field::Value => {
                self.passed = self.nullable("a value", found)?;
                self.goes_to(Field::Headers)
            }
            Field::Headers => {
                // Each has at least the lengths of its key and its value.
                self.headers = self.length("a number of headers", found, self.left / 2)?;
                self.next_header()
            }
            Field::HeaderKey => {
                self.passed = self.length("a header's key", found, self.left)?;
                self.goes_to(Field::HeaderValue)
            }
            Field::HeaderValue => {
                self.passed = self.nullable("a header's value", found)?;
                self.headers -= 1;
                self.next_header()
            }
        }
    }

    /// Goes to the next header, or to the next record after the last header.
    fn next_header(&mut self) -> Result<(), RecordError> {
        if self.headers > 0 {
            return self.goes_to(Field::HeaderKey);
        }
        // The value of the last header isn't passed over yet.
        let unused = self.left - self.passed;
        if unused > 0 {
            return Err(RecordError::Unused { record: self.cursor.number(), count: unused });
        }
        self.cursor.pass();
        self.field = Field::Length;
        Ok(())
    }

    /// Goes to the next field of the record, which must have a byte for it.
    fn goes_to(&mut self, field: Field) -> Result<(), RecordError> {
        self.field = field;
        if self.left > self.passed { Ok(()) } else { Err(RecordError::Truncated { record: self.cursor.number() }) }
    }

    fn nullable(&self, field: &'static str, found: i64) -> Result<u64, RecordError> {
        if found == -1 { Ok(0) } else { self.length(field, found, self.left) }
    }

    fn length(&self, field: &'static str, found: i64, left: u64) -> Result<u64, RecordError> {
        let length = u64::try_from(found).ok().filter(|length| *length <= left);
        length.ok_or(RecordError::Length { record: self.cursor.number(), field, found, left })
    }

    /// The number at the front of the piece, unless the piece ends within it, and the bytes after it.
    #[inline]
    fn number<'a>(&mut self, piece: &'a [u8], bits: u32) -> Result<(Option<i64>, &'a [u8]), RecordError> {
        if self.have == 0 {
            match varint::read(piece, bits) {
                Ok((found, rest)) => return Ok((Some(found), rest)),
                Err(Broken::TooLong) => return Err(RecordError::Number { record: self.cursor.number() }),
                Err(Broken::Truncated) => {}
            }
        }
        self.cut_number(piece, bits)
    }

    /// The same of a number that a border of pieces cuts: byte by byte.
    fn cut_number<'a>(&mut self, piece: &'a [u8], bits: u32) -> Result<(Option<i64>, &'a [u8]), RecordError> {
        let mut rest = piece;
        while let Some((byte, after)) = rest.split_first() {
            let Some(place) = self.held.get_mut(self.have) else {
                return Err(RecordError::Number { record: self.cursor.number() });
            };
            *place = *byte;
            (self.have, rest) = (self.have + 1, after);
            let held = self.held.split_at(self.have).0;
            match varint::read(held, bits) {
                Ok((found, _)) => {
                    self.have = 0;
                    return Ok((Some(found), rest));
                }
                Err(Broken::TooLong) => return Err(RecordError::Number { record: self.cursor.number() }),
                Err(Broken::Truncated) => {}
            }
        }
        Ok((None, rest))
    }
}
