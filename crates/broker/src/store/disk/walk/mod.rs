//! Walks a segment that has no seal: which objects it holds, which of them are damaged, and where the log ends.
//!
//! A crash can interrupt only writes that were not confirmed. Every object's header says how far the store had
//! confirmed when the object was built (objects of earlier brokers: it follows from their lengths), so a later object
//! proves that the earlier ones were on the disk. What lies below that mark and isn't whole is *damaged*: it was
//! acknowledged. What lies above it and misses a sector is *torn*: nobody was promised it, and the log ends there.

mod bytes;
mod judge;
mod search;
#[cfg(test)]
mod tests;

use super::seal::{Entry, Seal};
use super::sys::{map, populate};
use crate::limits::CONFIRM_LATER_BYTES_MIN;
use crate::object::{self, HEADER_BYTES, Header};
pub(super) use bytes::data_ranges;
use bytes::{from, index_at, part};
use memmap2::{Advice, Mmap};
use std::fs::File;
use std::io;
use std::ops::Range;

/// Fewer bytes than this are verified on one thread: starting another costs as much.
const VERIFY_BYTES_PER_THREAD: usize = 8 << 20;

/// What is known about a segment before it is walked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Offset of its first record, from its name.
    pub(super) first_offset: u64,
    /// First offset of the segment after it.
    pub(super) next_segment: Option<u64>,
    /// Whether every commit was synced before it was confirmed, and the segment before the next was created.
    pub(super) is_synced: bool,
}

/// What a walk found.
#[derive(Debug)]
pub(super) struct Walked {
    /// The objects of the log, in order, damaged ones among them.
    pub(super) seal: Seal,
    /// Which of the acknowledged objects are damaged.
    pub(super) damage: Vec<Damage>,
    /// Why the log ends before the file's data do.
    pub(super) torn: Option<Torn>,
}

/// Bytes that held acknowledged objects.
#[derive(Debug)]
pub(super) struct Damage {
    /// Where it begins in the file, in bytes.
    pub(super) position: u64,
    /// What is wrong.
    pub(super) why: String,
    /// Offset of the first record that is lost.
    pub(super) first_offset: u64,
    /// Exclusive end of the lost records; `None` if nothing is left that says so.
    pub(super) next_offset: Option<u64>,
}

impl Walked {
    /// A file without a byte.
    pub(super) fn empty(first_offset: u64) -> Walked {
        let seal =
            Seal { first_offset, next_offset: first_offset, segment_bytes: 0, writer_id: 0, entries: Vec::new() };
        Walked { seal, damage: Vec::new(), torn: None }
    }
}

/// Writes that were interrupted.
#[derive(Debug)]
pub(super) struct Torn {
    /// Where the first of them begins in the file, in bytes.
    pub(super) position: u64,
    /// What is wrong there.
    pub(super) why: String,
    /// Number of whole objects after it.
    pub(super) whole_objects_after: usize,
}

/// Walks a segment file of `length` bytes, not 0.
pub(super) fn walk(file: &File, length: u64, known: Known) -> io::Result<Walked> {
    let mapping = map(file, length)?;
    mapping.advise(Advice::Sequential)?;
    let data = data_ranges(file, mapping.len());
    let mut walk = Walk::new(&mapping, known, data)?;
    let stopped = walk.run()?;
    walk.verify_batches()?;
    Ok(walk.judge(stopped))
}

/// An object, or bytes between two objects that are not whole objects.
struct Step {
    entry: Entry,
    /// Exclusive end of what was confirmed when the object was built.
    confirmed_next_offset: u64,
    damage: Option<String>,
}

struct Walk<'a> {
    mapping: &'a Mmap,
    known: Known,
    /// The file's data between its holes.
    data: Vec<Range<usize>>,
    /// Where the last byte that is not zero ends.
    data_end: usize,
    writer_id: Option<u64>,
    steps: Vec<Step>,
    /// Where the next object should begin, and its first offset.
    position: usize,
    offset: u64,
    /// How many more bytes of indexes the search for the next object may check: keeps its work linear in the file's
    /// length, whatever records hold.
    check_bytes_left: u64,
    /// Exclusive end of what was confirmed according to objects of an unknown run.
    strangers_confirmed: u64,
}

impl<'a> Walk<'a> {
    fn new(mapping: &'a Mmap, known: Known, data: Vec<Range<usize>>) -> io::Result<Walk<'a>> {
        let mut data_end = 0;
        for range in data.iter().rev() {
            let bytes = part(mapping, range.clone());
            populate(bytes)?;
            if let Some(last) = bytes.iter().rposition(|&byte| byte != 0) {
                data_end = range.start + last + 1;
                break;
            }
        }
        Ok(Walk {
            mapping,
            known,
            data,
            data_end,
            writer_id: None,
            steps: Vec::new(),
            position: 0,
            offset: known.first_offset,
            check_bytes_left: mapping.len() as u64 * 2,
            strangers_confirmed: 0,
        })
    }

    fn rest(&self) -> &'a [u8] {
        from(self.mapping, self.position)
    }

    /// Goes from object to object, past damage to the next one that is ours. Returns why it stopped before the end of
    /// the data, if it did.
    fn run(&mut self) -> io::Result<Option<String>> {
        loop {
            let Some(why) = self.follow()? else { return Ok(None) };
            let range = self.position..self.find_next()?.unwrap_or(self.position);
            let next = self.mapping.get(range.end..).and_then(object::place).filter(|_| !range.is_empty());
            let appended_us = self.steps.last().map_or(0, |step| step.entry.appended_us());
            let entry =
                next.and_then(|next| Entry::damaged(self.offset, next.first_offset, appended_us, range.clone()));
            let Some(entry) = entry else { return Ok(Some(why)) };
            assert!(entry.next_offset() > self.offset, "{entry:?} is no progress from offset {}", self.offset);
            self.position = range.end;
            self.offset = entry.next_offset();
            self.steps.push(Step { entry, confirmed_next_offset: 0, damage: Some(why) });
        }
    }

    /// Goes from index to index and skips the batches. Returns why it stopped before the end of the data.
    fn follow(&mut self) -> io::Result<Option<String>> {
        loop {
            if self.position >= self.data_end {
                return Ok(None);
            }
            let rest = self.rest();
            let front = rest.get(..HEADER_BYTES).unwrap_or(rest);
            populate(front)?;
            if front.iter().all(|&byte| byte == 0) {
                return Ok(Some("zeros where an object should begin, and data after them".to_owned()));
            }
            let header = match index_at(rest)? {
                Ok(header) => header,
                Err(error) => return Ok(Some(error.to_string())),
            };
            let is_ours = self.writer_id.is_none_or(|writer_id| writer_id == header.writer_id);
            if header.first_offset != self.offset || !is_ours {
                return Ok(Some(format!("not the object of offset {} by the segment's writer", self.offset)));
            }
            let Ok(position) = u32::try_from(self.position) else {
                return Ok(Some("a segment can't be that long".to_owned()));
            };
            self.writer_id = Some(header.writer_id);
            let confirmed_next_offset = self.confirmed_before(&header);
            let entry = Entry::new(&header, position);
            self.steps.push(Step { entry, confirmed_next_offset, damage: None });
            self.offset = header.next_offset();
            // All of it: its batches are verified next.
            populate(part(rest, 0..header.object_bytes as usize))?;
            self.position += header.object_bytes as usize;
        }
    }

    /// What had been confirmed when this object, the next one, was built. Earlier brokers didn't record it; they
    /// confirmed an object before they began the next, unless it was a long one: then one more could be in flight.
    fn confirmed_before(&self, header: &Header) -> u64 {
        let implied = match self.steps.last() {
            Some(step) if step.entry.bytes() >= CONFIRM_LATER_BYTES_MIN => step.entry.first_offset(),
            _ => header.first_offset,
        };
        header.confirmed_next_offset.unwrap_or(implied)
    }

    /// Checks every batch of the objects, on several threads.
    fn verify_batches(&mut self) -> io::Result<()> {
        let bytes = self.steps.iter().map(|step| step.entry.range().len()).sum::<usize>();
        let threads =
            std::thread::available_parallelism().map_or(1, usize::from).min(bytes / VERIFY_BYTES_PER_THREAD + 1);
        let share = self.steps.len().div_ceil(threads).max(1);
        let mapping = self.mapping;
        let verify = |steps: &mut [Step]| {
            for step in steps.iter_mut().filter(|step| step.damage.is_none()) {
                step.damage = object::verify(part(mapping, step.entry.range())).err().map(|error| error.to_string());
            }
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "runs on a thread that may block; the result doesn't depend on the order"
        )]
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                self.steps.chunks_mut(share).map(|steps| scope.spawn(move || verify(steps))).collect();
            for worker in workers {
                worker.join().map_err(|_| io::Error::other("a thread that verified objects panicked"))?;
            }
            Ok(())
        })
    }
}
