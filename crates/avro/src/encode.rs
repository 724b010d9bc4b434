//! Writes Avro's primitive types, and a record's fields in whatever order they come.
//!
//! Source of the encoding: Avro specification 1.12, "Binary encoding".

use crate::datum::Datum;
use crate::error::EncodeError;
use crate::row::Item;
use crate::schema::Record;

/// A zigzag integer.
#[inline]
pub(crate) fn long(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// A length, a count or an index. What lies in memory has fewer than 2^63 bytes.
#[inline]
pub(crate) fn length(out: &mut Vec<u8>, value: usize) {
    long(out, value as i64);
}

/// A length and bytes; a string's too.
#[inline]
pub(crate) fn bytes(out: &mut Vec<u8>, value: &[u8]) {
    length(out, value.len());
    out.extend_from_slice(value);
}

impl Datum<'_, '_> {
    /// Appends the value, encoded by its own schema: the reader's.
    ///
    /// Calls itself for each level, of which the plan's limits allow so many.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self.item() {
            Item::Null => {}
            Item::Boolean(value) => out.push(u8::from(value)),
            Item::Int(value) => long(out, i64::from(value)),
            Item::Long(value) => long(out, value),
            Item::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
            Item::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
            Item::Bytes(value) => bytes(out, value),
            Item::Fixed(value) => out.extend_from_slice(value),
            Item::String(value) => bytes(out, value.as_bytes()),
            Item::Symbol(value) => long(out, i64::from(value)),
            Item::Record { .. } => self.fields().for_each(|(_, field)| field.encode(out)),
            Item::Array { count, .. } => {
                long(out, i64::from(count));
                self.elements().for_each(|element| element.encode(out));
                if count > 0 {
                    out.push(0);
                }
            }
            Item::Map { count, .. } => {
                long(out, i64::from(count));
                for (key, value) in self.entries() {
                    bytes(out, key.as_bytes());
                    value.encode(out);
                }
                if count > 0 {
                    out.push(0);
                }
            }
            Item::Union { branch, .. } => {
                long(out, i64::from(branch));
                self.plain().encode(out);
            }
        }
    }
}

/// A record whose fields are being written in any order, each once. Those in order are written where they stay.
#[derive(Debug)]
pub(crate) struct RecordParts<'s> {
    record: &'s Record,
    /// Fields before this one are written and stay.
    next: usize,
    /// Fields that came before their turn, and their bytes from `late_begin` on.
    late: Vec<(usize, std::ops::Range<usize>)>,
    late_begin: usize,
}

impl<'s> RecordParts<'s> {
    pub fn new(record: &'s Record) -> Self {
        Self { record, next: 0, late: Vec::new(), late_begin: 0 }
    }

    /// The field's index. The field whose turn it is costs one comparison.
    pub fn find(&self, name: &str) -> Option<usize> {
        let fields = &self.record.fields;
        if fields.get(self.next).is_some_and(|field| field.name == name) {
            return Some(self.next);
        }
        fields.iter().position(|field| field.name == name)
    }

    /// Writes field `index` with `write`.
    pub fn write(
        &mut self,
        index: usize,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let begin = out.len();
        if index < self.next || self.late.iter().any(|(late, _)| *late == index) {
            return Err(EncodeError::new("each field once", "the field twice"));
        }
        write(out)?;
        if index == self.next && self.late.is_empty() {
            self.next += 1;
            return Ok(());
        }
        if self.late.is_empty() {
            self.late_begin = begin;
        }
        self.late.push((index, begin..out.len()));
        Ok(())
    }

    /// Puts the fields in order, with defaults for those that did not come.
    pub fn finish(self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if self.late.is_empty() && self.next == self.record.fields.len() {
            return Ok(());
        }
        let tail = if self.late.is_empty() { Vec::new() } else { out.split_off(self.late_begin) };
        for (index, field) in self.record.fields.iter().enumerate().skip(self.next) {
            let late = self.late.iter().find(|(late, _)| *late == index).map(|(_, range)| range);
            let bytes = match late {
                Some(range) => tail.get(range.start - self.late_begin..range.end - self.late_begin),
                None => field.default.as_deref(),
            };
            let Some(bytes) = bytes else {
                return Err(EncodeError::new("a value, for it has no default", "nothing").within(&field.name));
            };
            out.extend_from_slice(bytes);
        }
        Ok(())
    }
}
