//! The search for the next object after damage.

use super::super::sys::populate;
use super::Walk;
use super::bytes::{from, index_at, part};
use crate::object::{self, Header, OBJECT_ALIGNMENT};
use std::io;

/// The search for an object reads this many bytes at a time.
const SEARCH_STEP_BYTES: usize = 1 << 20;

const _: () = assert!(SEARCH_STEP_BYTES.is_multiple_of(OBJECT_ALIGNMENT));

/// What is known of the run that wrote a segment.
#[derive(Clone, Copy)]
enum Writer {
    Known(u64),
    /// From a damaged header: one byte of it may be wrong.
    Damaged(u64),
    Unknown,
}

impl Writer {
    fn may_be(self, found: u64) -> bool {
        match self {
            Writer::Known(writer_id) => found == writer_id,
            Writer::Damaged(writer_id) => {
                (found ^ writer_id).to_ne_bytes().iter().filter(|&&byte| byte != 0).count() <= 1
            }
            Writer::Unknown => true,
        }
    }
}

impl Walk<'_> {
    /// Where the next object of the segment's writer begins, after the one that should begin at `position`.
    pub(super) fn find_next(&mut self) -> io::Result<Option<usize>> {
        let remains = || object::remains(self.rest(), self.offset, None);
        let writer = match self.writer_id {
            Some(writer_id) => Writer::Known(writer_id),
            None => remains().map_or(Writer::Unknown, |remains| Writer::Damaged(remains.writer_id)),
        };
        let first = self.position + OBJECT_ALIGNMENT;
        let ranges = self.data.partition_point(|range| range.end <= first)..self.data.len();
        for range in ranges.filter_map(|i| self.data.get(i).cloned()).collect::<Vec<_>>() {
            let start = range.start.next_multiple_of(OBJECT_ALIGNMENT).max(first);
            for chunk in (start..range.end.min(self.data_end)).step_by(SEARCH_STEP_BYTES) {
                let end = (chunk + SEARCH_STEP_BYTES).min(range.end);
                let rest = from(self.mapping, chunk);
                populate(part(rest, 0..end - chunk))?;
                for position in (chunk..end).step_by(OBJECT_ALIGNMENT) {
                    if self.is_next(position, writer)? {
                        return Ok(Some(position));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Whether a later object of the segment's writer begins at `position`.
    fn is_next(&mut self, position: usize, writer: Writer) -> io::Result<bool> {
        let rest = from(self.mapping, position);
        let Some(place) = object::place(rest) else { return Ok(false) };
        // Records may hold anything, other objects too: compare before computing a checksum.
        if !writer.may_be(place.writer_id) || place.first_offset <= self.offset {
            return Ok(false);
        }
        let index_bytes = Header::parse(rest).map_or(0, |header| header.index_bytes() as u64);
        let Some(left) = self.check_bytes_left.checked_sub(index_bytes) else { return Ok(false) };
        self.check_bytes_left = left;
        let Ok(header) = index_at(rest)? else { return Ok(false) };
        let is_unknown = matches!(writer, Writer::Unknown);
        if is_unknown {
            // Nobody knows whose it is: a producer can put an object into a record.
            self.strangers_confirmed = self.strangers_confirmed.max(self.confirmed_before(&header));
        }
        Ok(!is_unknown)
    }
}
