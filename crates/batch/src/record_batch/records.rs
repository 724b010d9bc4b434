//! The records of a RecordBatch, one by one, borrowed from the section that holds them.
//!
//! ```text
//! record: length │ attributes i8, unused │ time i64, from the batch's │ offset, from the batch's
//!         │ length of the key, key │ length of the value, value │ number of headers, headers
//! header: length of the key, key │ length of the value, value
//! ```
//!
//! All numbers but the attributes are varints. Keys and values of records and values of headers can be null: their
//! length is then -1. A record's length counts the bytes after it.

use super::varint::{self, Broken};
use super::{RecordBatchHeader, RecordError};

/// A header takes at least this many bytes: two lengths.
const HEADER_BYTES_MIN: u64 = 2;

/// A record, borrowed from its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its offset, counted from the batch's; also its number in the batch, unless the log is compacted.
    pub offset_delta: u32,
    /// Its time in milliseconds since the Unix epoch; usually -1 if its producer gave none.
    pub timestamp_ms: i64,
    /// Its key; `None` if null.
    pub key: Option<&'a [u8]>,
    /// Its value; `None` if null, which deletes the key in a compacted topic.
    pub value: Option<&'a [u8]>,
    /// Its headers.
    pub headers: Headers<'a>,
}

/// The headers of a record, in order: keys and values, which can be null. Keys are UTF-8 in most clients, which isn't
/// checked. All lengths have been checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headers<'a> {
    bytes: &'a [u8],
    left: u32,
}

/// The records of a batch, in order, each checked as it is reached; ends after the first error.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    section: &'a [u8],
    cursor: RecordCursor,
}

impl<'a> Records<'a> {
    /// The records of a batch with this header. `section` is the part after it, as [`super::unpack`] returns it.
    pub fn new(header: &RecordBatchHeader, section: &'a [u8]) -> Records<'a> {
        Records { section, cursor: RecordCursor::new(header) }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.cursor.read(self.section)
    }
}

/// A place among the records of a batch, for readers that don't keep the records' memory borrowed.
#[derive(Debug, Clone)]
pub struct RecordCursor {
    base_timestamp_ms: i64,
    /// The time of every record, if it isn't the producer's.
    append_time_ms: Option<i64>,
    records: u32,
    /// Number of offsets that the batch takes.
    offsets: u32,
    next: u32,
    /// The lowest offset that the next record can have, counted from the batch's.
    next_delta: u32,
    /// Position of the next record in the section.
    position: usize,
    has_ended: bool,
}

impl RecordCursor {
    /// At the first record of a batch with this header.
    pub fn new(header: &RecordBatchHeader) -> RecordCursor {
        RecordCursor {
            base_timestamp_ms: header.base_timestamp_ms,
            append_time_ms: header.has_append_time.then_some(header.max_timestamp_ms),
            records: header.records,
            offsets: header.offsets,
            next: 0,
            next_delta: 0,
            position: 0,
            has_ended: false,
        }
    }

    /// The number of the next record in the batch.
    pub(super) fn number(&self) -> u32 {
        self.next
    }

    /// Checks the next record, of which these are the bytes after its length, and goes to the one after it.
    pub(super) fn check(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        let record = self.next;
        let mut fields = Fields { record, bytes };
        self.fields(&mut fields)?;
        if !fields.bytes.is_empty() {
            return Err(RecordError::Unused { record, count: fields.bytes.len() as u64 });
        }
        self.pass();
        Ok(())
    }

    /// Goes to the record after the next one, in a batch of which no record was removed.
    pub(super) fn pass(&mut self) {
        self.next += 1;
        self.next_delta = self.next;
    }

    /// Position of the next record in the section.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Whether a record follows that wasn't read, if it is valid.
    pub fn has_next(&self) -> bool {
        self.next < self.records && !self.has_ended
    }

    /// Goes to the first record with this offset, counted from the batch's, or a higher one, if it is further on.
    pub fn skip_before(&mut self, offset_delta: u64, section: &[u8]) -> Result<(), RecordError> {
        while u64::from(self.next_delta) < offset_delta {
            let before = self.clone();
            match self.read(section).transpose()? {
                Some(record) if u64::from(record.offset_delta) < offset_delta => {}
                Some(_) => {
                    *self = before;
                    break;
                }
                None => break,
            }
        }
        Ok(())
    }

    /// Goes to a record by its number in the batch, and by the position at which it begins.
    pub fn seek(&mut self, record: u32, position: usize) {
        assert!(record <= self.records, "record {record} of {}", self.records);
        (self.next, self.position, self.has_ended) = (record, position, false);
        // At least as many offsets are before it as records.
        self.next_delta = record;
    }

    /// The next record of `section`, which must be the same each time; `None` after the last one, and after an error.
    pub fn read<'a>(&mut self, section: &'a [u8]) -> Option<Result<Record<'a>, RecordError>> {
        if self.has_ended {
            return None;
        }
        let Some(bytes) = section.get(self.position..) else {
            unreachable!("the next record begins at {} of {} bytes", self.position, section.len())
        };
        let read = self.read_front(bytes).transpose();
        self.has_ended = !matches!(read, Some(Ok(_)));
        read
    }

    /// The record at the front of `bytes`; `None` after the last one, after which nothing may follow.
    fn read_front<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<Record<'a>>, RecordError> {
        let RecordCursor { records, next: record, .. } = *self;
        if record == records {
            return match bytes.len() as u64 {
                0 => Ok(None),
                count => Err(RecordError::Trailing { count }),
            };
        }
        if bytes.is_empty() {
            return Err(RecordError::Missing { found: record, records });
        }
        let mut rest = Fields { record, bytes };
        let found = rest.varint(32)?;
        let mut fields = Fields { record, bytes: rest.take("a length", found)? };
        let read = self.fields(&mut fields)?;
        if !fields.bytes.is_empty() {
            return Err(RecordError::Unused { record, count: fields.bytes.len() as u64 });
        }
        self.position += bytes.len() - rest.bytes.len();
        self.next += 1;
        self.next_delta = read.offset_delta + 1;
        Ok(Some(read))
    }

    fn fields<'a>(&self, fields: &mut Fields<'a>) -> Result<Record<'a>, RecordError> {
        fields.attributes()?;
        let delta_ms = fields.varint(64)?;
        let found = fields.varint(32)?;
        let offset_delta = u32::try_from(found).ok().filter(|delta| self.can_be_next(*delta));
        let offset_delta = offset_delta.ok_or(RecordError::OffsetDelta { record: fields.record, found })?;
        Ok(Record {
            offset_delta,
            timestamp_ms: self.timestamp_ms(fields.record, delta_ms)?,
            key: fields.nullable("a key")?,
            value: fields.nullable("a value")?,
            headers: fields.headers()?,
        })
    }

    /// Whether the next record can have this offset: every record after it needs one too.
    fn can_be_next(&self, delta: u32) -> bool {
        let after = self.records - self.next - 1;
        (self.next_delta..self.offsets - after).contains(&delta)
    }

    fn timestamp_ms(&self, record: u32, delta_ms: i64) -> Result<i64, RecordError> {
        let base_ms = self.base_timestamp_ms;
        match self.append_time_ms {
            Some(append_time_ms) => Ok(append_time_ms),
            None => base_ms.checked_add(delta_ms).ok_or(RecordError::Timestamp { record, base_ms, delta_ms }),
        }
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let mut fields = Fields { record: 0, bytes: self.bytes };
        match fields.header() {
            Ok(header) => {
                self.bytes = fields.bytes;
                Some(header)
            }
            // `Fields::headers` has read these bytes with the same function.
            Err(error) => unreachable!("a header that was checked: {error}"),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Headers<'_> {}

/// The bytes of a record that haven't been read.
struct Fields<'a> {
    /// The record's number, for errors.
    record: u32,
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    fn varint(&mut self, bits: u32) -> Result<i64, RecordError> {
        let record = self.record;
        let (value, rest) = varint::read(self.bytes, bits).map_err(|broken| match broken {
            Broken::Truncated => RecordError::Truncated { record },
            Broken::TooLong => RecordError::Number { record },
        })?;
        self.bytes = rest;
        Ok(value)
    }

    fn attributes(&mut self) -> Result<(), RecordError> {
        let Some((_, rest)) = self.bytes.split_first() else {
            return Err(RecordError::Truncated { record: self.record });
        };
        self.bytes = rest;
        Ok(())
    }

    /// The next `found` bytes.
    fn take(&mut self, field: &'static str, found: i64) -> Result<&'a [u8], RecordError> {
        let (record, left) = (self.record, self.bytes.len() as u64);
        let split = usize::try_from(found).ok().and_then(|count| self.bytes.split_at_checked(count));
        let (taken, rest) = split.ok_or(RecordError::Length { record, field, found, left })?;
        self.bytes = rest;
        Ok(taken)
    }

    /// A length and the bytes after it; -1 is null.
    fn nullable(&mut self, field: &'static str) -> Result<Option<&'a [u8]>, RecordError> {
        match self.varint(32)? {
            -1 => Ok(None),
            found => self.take(field, found).map(Some),
        }
    }

    fn header(&mut self) -> Result<(&'a [u8], Option<&'a [u8]>), RecordError> {
        let found = self.varint(32)?;
        let key = self.take("a header's key", found)?;
        Ok((key, self.nullable("a header's value")?))
    }

    fn headers(&mut self) -> Result<Headers<'a>, RecordError> {
        let found = self.varint(32)?;
        let left = self.bytes.len() as u64;
        let count = u32::try_from(found).ok().filter(|count| u64::from(*count) * HEADER_BYTES_MIN <= left);
        let (record, field) = (self.record, "a number of headers");
        let count = count.ok_or(RecordError::Length { record, field, found, left })?;
        let bytes = self.bytes;
        for _ in 0..count {
            self.header()?;
        }
        Ok(Headers { bytes, left: count })
    }
}
