//! Walks a segment that has no seal: which objects it holds, which of them are damaged, and where the log ends.
//!
//! A crash can interrupt only writes that were not confirmed. Every object's header says how far the store had
//! confirmed when the object was built (objects of earlier brokers: it follows from their lengths), so a later object
//! proves that the earlier ones were on the disk. What lies below that mark and isn't whole is *damaged*: it was
//! acknowledged. What lies above it and misses a sector is *torn*: nobody was promised it, and the log ends there.

use super::seal::{Entry, Seal};
use super::sys::{map, populate};
use crate::limits::CONFIRM_LATER_BYTES_MIN;
use crate::object::{self, HEADER_BYTES, Header, OBJECT_ALIGNMENT, ObjectError, ObjectIndex};
use memmap2::{Advice, Mmap};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;

/// Fewer bytes than this are verified on one thread: starting another costs as much.
const VERIFY_BYTES_PER_THREAD: usize = 8 << 20;

/// A disk writes at least this much or nothing.
const SECTOR_BYTES: usize = 512;

/// The search for an object reads this many bytes at a time.
const SEARCH_STEP_BYTES: usize = 1 << 20;

const _: () = assert!(SEARCH_STEP_BYTES.is_multiple_of(OBJECT_ALIGNMENT));

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

    /// Where the next object of the segment's writer begins, after the one that should begin at `position`.
    fn find_next(&mut self) -> io::Result<Option<usize>> {
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

    /// Tells damage from writes that a crash interrupted. `stopped`: why the data after the last step are no object.
    fn judge(mut self, stopped: Option<String>) -> Walked {
        let said = self.steps.iter().map(|step| step.confirmed_next_offset).max().unwrap_or(0);
        let confirmed = said.max(self.strangers_confirmed).max(self.known.next_segment.unwrap_or(0));
        let is_torn = |step: &Step| {
            let was_written = step.entry.first_offset() < confirmed || !self.misses_sector(step.entry.range());
            step.damage.is_some() && !(self.known.is_synced && was_written)
        };
        let (mut torn, mut damaged_end) = (None, None);
        if let Some(cut) = self.steps.iter().position(is_torn) {
            let mut steps = self.steps.split_off(cut).into_iter();
            torn = steps.next().map(|step| Torn {
                position: step.entry.range().start as u64,
                why: step.damage.unwrap_or_else(|| unreachable!("{:?} is torn, but not damaged", step.entry)),
                whole_objects_after: steps.filter(|step| step.damage.is_none()).count(),
            });
        } else if let Some(why) = stopped {
            let is_lost = match self.known.next_segment {
                Some(next_segment) => self.offset < next_segment,
                None => self.offset < confirmed || self.was_written(),
            };
            if self.known.is_synced && is_lost {
                damaged_end = self.damaged_end(why);
            } else {
                torn = Some(Torn { position: self.position as u64, why, whole_objects_after: 0 });
            }
        }
        let damage: Vec<_> = self.steps.iter().filter_map(Step::damage).chain(damaged_end).collect();
        let seal = self.seal();
        if let Some(torn) = &torn {
            assert_eq!(torn.position, seal.segment_bytes, "the log ends elsewhere than where it is torn");
        }
        Walked { seal, damage, torn }
    }

    /// The damage at the end of the data: a step if the next segment says how many records are lost.
    fn damaged_end(&mut self, why: String) -> Option<Damage> {
        let end = self.data_end.next_multiple_of(OBJECT_ALIGNMENT).min(self.mapping.len());
        let appended_us = self.steps.last().map_or(0, |step| step.entry.appended_us());
        let next_offset = self.known.next_segment.filter(|&next| next > self.offset);
        let entry = next_offset.and_then(|next| Entry::damaged(self.offset, next, appended_us, self.position..end));
        let Some(entry) = entry else {
            let position = self.position as u64;
            return Some(Damage { position, why, first_offset: self.offset, next_offset: None });
        };
        self.steps.push(Step { entry, confirmed_next_offset: 0, damage: Some(why) });
        None
    }

    /// Whether the damaged object at `position`, after which nothing is whole, was written to its end: a crash leaves a
    /// part of a write as whole sectors of zeros.
    fn was_written(&self) -> bool {
        let rest = self.rest();
        let Some(front) = rest.get(..HEADER_BYTES) else { return false };
        if front.iter().all(|&byte| byte == 0) {
            let end = (self.position + HEADER_BYTES).next_multiple_of(SECTOR_BYTES);
            return !self.misses_sector(self.position..end);
        }
        if ObjectIndex::parse(rest).is_ok() {
            // It belongs elsewhere.
            return false;
        }
        let remains = object::remains(rest, self.offset, self.writer_id);
        let object_bytes = remains.into_iter().flat_map(|remains| remains.object_bytes).flatten();
        object_bytes.map(|bytes| self.position..self.position + bytes as usize).any(|range| !self.misses_sector(range))
    }

    /// Whether the part of a sector that lies in `range` is missing or all zeros.
    fn misses_sector(&self, range: Range<usize>) -> bool {
        let Some(bytes) = self.mapping.get(range.clone()) else { return true };
        let first = bytes.len().min(range.start.next_multiple_of(SECTOR_BYTES) - range.start);
        let (first, others) = bytes.split_at(first);
        let is_zero = |sector: &[u8]| sector.iter().all(|&byte| byte == 0);
        (!first.is_empty() && is_zero(first)) || others.chunks(SECTOR_BYTES).any(is_zero)
    }

    fn seal(&self) -> Seal {
        for (one, next) in self.steps.iter().zip(self.steps.iter().skip(1)) {
            let (one, next) = (one.entry, next.entry);
            assert_eq!(one.next_offset(), next.first_offset(), "records between {one:?} and {next:?}");
            assert_eq!(one.range().end, next.range().start, "bytes between {one:?} and {next:?}");
        }
        let last = self.steps.last().map(|step| step.entry);
        Seal {
            first_offset: self.known.first_offset,
            next_offset: last.map_or(self.known.first_offset, |last| last.next_offset()),
            segment_bytes: last.map_or(0, |last| last.range().end as u64),
            writer_id: self.writer_id.unwrap_or(0),
            entries: self.steps.iter().map(|step| step.entry).collect(),
        }
    }
}

impl Step {
    fn damage(&self) -> Option<Damage> {
        Some(Damage {
            position: self.entry.range().start as u64,
            why: self.damage.clone()?,
            first_offset: self.entry.first_offset(),
            next_offset: Some(self.entry.next_offset()),
        })
    }
}

/// The header of the object at the front of `rest`, if its index is sound and the object ends inside.
fn index_at(rest: &[u8]) -> io::Result<Result<Header, ObjectError>> {
    let header = match Header::parse(rest) {
        Ok(header) => header,
        Err(error) => return Ok(Err(error)),
    };
    let (have, need) = (rest.len() as u64, header.object_bytes);
    if have < need {
        return Ok(Err(ObjectError::Truncated { have, need }));
    }
    populate(part(rest, 0..header.index_bytes()))?;
    Ok(ObjectIndex::parse(rest).map(|index| index.header))
}

/// Bytes that are known to be there.
fn part(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range.clone()).unwrap_or_else(|| unreachable!("bytes {range:?} of {}", bytes.len()))
}

/// The bytes from `position` on: none if an object claims to end after the file does.
fn from(mapping: &[u8], position: usize) -> &[u8] {
    mapping.split_at_checked(position).map_or(&[], |(_, rest)| rest)
}

/// The parts of a file that are not holes. Blocks that were allocated and never written are holes too.
fn data_ranges(file: &File, length: usize) -> Vec<Range<usize>> {
    let everything = || std::iter::once(0..length).collect();
    let mut ranges = Vec::new();
    let mut position = 0;
    loop {
        let data = match rustix::fs::seek(file, SeekFrom::Data(position)) {
            Ok(data) if data >= length as u64 => return ranges,
            Ok(data) => data,
            Err(Errno::NXIO) => return ranges,
            // A file system without it: everything may be data.
            Err(_) => return everything(),
        };
        match rustix::fs::seek(file, SeekFrom::Hole(data)) {
            Ok(hole) if hole > data => {
                ranges.push(data as usize..(hole as usize).min(length));
                position = hole;
            }
            _ => return everything(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{MAGIC, Object, Stamp};
    use rawline_batch::{BatchMeta, Builder, Checker, Codec, Limits};
    use std::io::Write;

    fn object(first_offset: u64, record: &[u8]) -> Object {
        let mut builder = Builder::new(Codec::None, Limits::default());
        builder.push(record).unwrap();
        let mut bytes = Vec::new();
        builder.finish_into(1, 1, 1, &mut bytes).unwrap();
        let mut checker = Checker::new(Limits::default());
        checker.push(&bytes).unwrap();
        let batches: Vec<BatchMeta> = checker.finish().unwrap();
        let stamp =
            Stamp { first_offset, appended_us: 1, writer_id: 77, commit: 1, confirmed_next_offset: Some(first_offset) };
        Object::build(stamp, batches.into_iter(), &[bytes.into()])
    }

    /// A record full of headers, each of which claims an index as long as there can be.
    fn fake_headers(writer_id: u64) -> Vec<u8> {
        let mut header = object(5, b"x").parts.concat()[..HEADER_BYTES].to_vec();
        assert!(header.starts_with(&MAGIC));
        header[20..24].copy_from_slice(&65_536u32.to_le_bytes());
        header[16..20].copy_from_slice(&65_536u32.to_le_bytes());
        header[24..32].copy_from_slice(&(2u64 << 20).to_le_bytes());
        header[40..48].copy_from_slice(&writer_id.to_le_bytes());
        header.repeat((8 << 20) / HEADER_BYTES)
    }

    #[test]
    fn a_record_full_of_headers_does_not_make_the_search_quadratic() {
        for writer_id in [77, 78] {
            let mut segment = object(0, b"whole").parts.concat();
            let torn = segment.len();
            segment.extend(object(1, &fake_headers(writer_id)).parts.concat());
            segment[torn..torn + 4].fill(b'?');
            let later = object(9, b"later");
            segment.extend(later.parts.concat());
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&segment).unwrap();
            let mapping = map(&file, segment.len() as u64).unwrap();
            let known = Known { first_offset: 0, next_segment: None, is_synced: true };
            let mut walk = Walk::new(&mapping, known, data_ranges(&file, segment.len())).unwrap();
            let may_check = walk.check_bytes_left;
            assert!(may_check <= 2 * segment.len() as u64);
            walk.run().unwrap();
            let checked = may_check - walk.check_bytes_left;
            // Headers of this run, which no producer can know, are limited; those of other runs cost nothing.
            if writer_id == 78 {
                assert_eq!(checked, later.header.index_bytes() as u64);
                assert_eq!(walk.steps.last().unwrap().entry.first_offset(), 9);
            }
        }
    }
}
