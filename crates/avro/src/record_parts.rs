//! Writes a record's fields, given in any order, in the schema's order.

use crate::error::EncodeError;
use crate::schema::Record;

/// A record whose fields arrive in any order, each once. Fields that arrive in the schema's order are written in place.
#[derive(Debug)]
pub(crate) struct RecordParts<'s> {
    record: &'s Record,
    /// Fields before this one are written and stay.
    next: usize,
    /// Fields that were written early, and their bytes from `late_begin` on.
    late: Vec<(usize, std::ops::Range<usize>)>,
    late_begin: usize,
}

impl<'s> RecordParts<'s> {
    pub fn new(record: &'s Record) -> Self {
        Self { record, next: 0, late: Vec::new(), late_begin: 0 }
    }

    /// The field's index; costs one comparison if fields arrive in order.
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

    /// Sorts the fields, and adds the defaults of missing ones.
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
                return Err(EncodeError::new("a value, since it has no default", "nothing").within(&field.name));
            };
            out.extend_from_slice(bytes);
        }
        Ok(())
    }
}
