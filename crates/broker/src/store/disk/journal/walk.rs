//! Finds the objects of a journal's segment that no seal describes, and where they end.

use super::frame::{ALIGNMENT, FRAME_BYTES, Frame, MAGIC};
use super::seal::Entry;
use crate::object_error::ObjectError;
use crate::piece::verify_object;
use crate::store::disk::holes::data_ranges;
use rawline_journal::Index;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// The search for the next frame reads this many bytes at a time.
const STEP_BYTES: usize = 1 << 20;

const _: () = assert!((STEP_BYTES as u64).is_multiple_of(ALIGNMENT));

#[cfg(test)]
thread_local! {
    /// A planted bug: torn objects are taken.
    pub(super) static TAKES_TORN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The contents of a segment.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Its whole objects.
    pub entries: Vec<Entry>,
    /// Where they end.
    pub end: u64,
    /// The writer's random number, if it has an object.
    pub run: Option<u64>,
    /// The bytes after the end, if they aren't only zeros.
    pub torn: Option<Torn>,
    /// The length of the segment that its frames show to have been synced. 0 where commits are not synced.
    pub synced: u64,
}

/// Whether a segment is that of another run than `run`, as far as its first frame says.
pub(super) fn is_of_another_run(file: &File, run: u64) -> io::Result<bool> {
    let mut front = [0; FRAME_BYTES as usize];
    match file.read_exact_at(&mut front, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
        read => read.map(|()| Frame::parse(&front, 0).is_some_and(|frame| frame.run != run)),
    }
}

/// The index of the object in these bytes of a segment.
pub(super) fn index_of(file: &File, range: Range<u64>) -> io::Result<Result<Index, rawline_journal::ObjectError>> {
    let length = file.metadata()?.len();
    Pages { file, length, buffer: Vec::new(), begin: 0 }.index(range.start, range.end)
}

/// The whole objects of this run after `position`, where one is damaged. `synced`: those up to there were synced.
pub(super) fn whole_after(file: &File, position: u64, run: u64, synced: u64) -> io::Result<Vec<(Frame, Index)>> {
    let length = file.metadata()?.len();
    let mut pages = Pages { file, length, buffer: Vec::new(), begin: 0 };
    let mut whole = Vec::new();
    let mut at = position + ALIGNMENT;
    for data in data_ranges(file, length as usize) {
        at = at.max((data.start as u64).next_multiple_of(ALIGNMENT));
        while at < data.end as u64 {
            let frame = Frame::parse(pages.get(at, at + FRAME_BYTES)?, at).filter(|frame| frame.run == run);
            let Some(frame) = frame.filter(|frame| frame.end() <= length) else {
                at += ALIGNMENT;
                continue;
            };
            let (begin, end) = (frame.object_at(), frame.object_at() + u64::from(frame.object_bytes));
            let index = pages.index(begin, end)?;
            let is_expected = |index: &Index| {
                let header = &index.header;
                !header.is_merged && header.link.id.run == run && header.object_bytes == u64::from(frame.object_bytes)
            };
            let Some(index) = index.ok().filter(is_expected) else {
                at += ALIGNMENT;
                continue;
            };
            if end > synced && verify(pages.get(begin, end)?).is_err() {
                return Ok(whole);
            }
            whole.push((frame, index));
            at = frame.end();
        }
    }
    Ok(whole)
}

/// Bytes that are not a whole object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Torn {
    pub position: u64,
    pub why: String,
    /// Whether what follows shows that these bytes were synced: the disk has lost acknowledged records.
    pub was_synced: bool,
}

/// Walks a segment from its first object, which has the number `first_number`. `is_synced`: whether another segment
/// shows that all of this one, which this run has written, was synced.
pub(super) fn walk(file: &File, first_number: u64, is_synced: impl FnOnce(Option<u64>) -> bool) -> io::Result<Walked> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(Walked::default());
    }
    let mut pages = Pages { file, length, buffer: Vec::new(), begin: 0 };
    let (mut walked, mut synced) = (Walked::default(), 0);
    let why = loop {
        let number = first_number + walked.entries.len() as u64;
        match next(&mut pages, walked.end, number, walked.run)? {
            Ok(frame) => {
                synced = synced.max(u64::from(frame.synced));
                walked.run = Some(frame.run);
                let begin = frame.object_at();
                walked.entries.push(Entry::new(begin..begin + u64::from(frame.object_bytes)));
                walked.end = frame.end();
            }
            Err(why) => break why,
        }
    };
    let is_synced = is_synced(walked.run);
    let rest = pages.search(walked.end, walked.run)?;
    if !rest.is_zero {
        let was_synced = is_synced || rest.synced > walked.end;
        walked.torn = Some(Torn { position: walked.end, why, was_synced });
    }
    walked.synced = synced.max(rest.synced);
    if !is_synced {
        walked.drop_torn(&mut pages)?;
    }
    Ok(walked)
}

impl Walked {
    /// Leaves out objects that were incomplete on the disk when they were lost: batches of an object that isn't known
    /// to have been synced may be missing, although its index is there.
    fn drop_torn(&mut self, pages: &mut Pages<'_>) -> io::Result<()> {
        let first = self.entries.partition_point(|entry| entry.range().end <= self.synced);
        for (at, entry) in self.entries.iter().enumerate().skip(first) {
            let range = entry.range();
            if let Err(error) = verify(pages.get(range.start, range.end)?) {
                let position = range.start - FRAME_BYTES;
                self.torn = Some(Torn { position, why: error.to_string(), was_synced: false });
                self.end = position;
                self.entries.truncate(at);
                break;
            }
        }
        Ok(())
    }
}

/// The frame at `position`, if a whole index of the object with this number follows it. Otherwise the error.
fn next(pages: &mut Pages<'_>, position: u64, number: u64, run: Option<u64>) -> io::Result<Result<Frame, String>> {
    let bytes = pages.get(position, position + FRAME_BYTES)?;
    let Some(frame) = Frame::parse(bytes, position) else { return Ok(Err("no frame begins there".to_owned())) };
    if run.is_some_and(|run| run != frame.run) {
        return Ok(Err("the frame is of another run".to_owned()));
    }
    let (begin, end) = (frame.object_at(), frame.object_at() + u64::from(frame.object_bytes));
    if end > pages.length {
        return Ok(Err(format!("an object ends at byte {end}, after the file")));
    }
    let header = match pages.index(begin, end)? {
        Ok(index) => index.header,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let is_expected = header.link.number == number
        && !header.is_merged
        && header.link.id.run == frame.run
        && header.object_bytes == u64::from(frame.object_bytes);
    Ok(if is_expected { Ok(frame) } else { Err(format!("{:?} is not object {number}", header.link)) })
}

/// Checks the batches of an object.
fn verify(object: &[u8]) -> Result<(), ObjectError> {
    #[cfg(test)]
    if TAKES_TORN.get() {
        return Ok(());
    }
    verify_object(&Index::parse(object)?, object)
}

/// The bytes after the last object of the walk.
struct Rest {
    is_zero: bool,
    /// The length of the segment that frames in it show to have been synced.
    synced: u64,
}

/// A segment that is read step by step. It isn't mapped: in some file systems a page of a hole takes room, on a disk
/// that may be full.
struct Pages<'a> {
    file: &'a File,
    length: u64,
    /// The bytes that were read last, and where they begin.
    buffer: Vec<u8>,
    begin: u64,
}

impl Pages<'_> {
    /// The index of the object in these bytes.
    fn index(&mut self, begin: u64, end: u64) -> io::Result<Result<Index, rawline_journal::ObjectError>> {
        Ok(match Index::parse(self.get(begin, end.min(begin + STEP_BYTES as u64))?) {
            // An index is longer only if it has thousands of batches.
            Err(rawline_journal::ObjectError::Truncated { need, .. }) if begin + need <= end => {
                Index::parse(self.get(begin, begin + need)?)
            }
            index => index,
        })
    }

    /// The bytes from `start` to `end`, or to the file's end.
    fn get(&mut self, start: u64, end: u64) -> io::Result<&[u8]> {
        let (start, end) = (start.min(self.length), end.min(self.length));
        if start < self.begin || end > self.begin + self.buffer.len() as u64 {
            let until = end.max(start + STEP_BYTES as u64).min(self.length);
            self.begin = start;
            self.buffer.resize((until - start) as usize, 0);
            self.file.read_exact_at(&mut self.buffer, start)?;
        }
        let (_, from) = self.buffer.split_at((start - self.begin) as usize);
        Ok(from.split_at((end - start) as usize).0)
    }

    /// Looks for frames of this run from `position` on.
    fn search(&mut self, position: u64, run: Option<u64>) -> io::Result<Rest> {
        let mut rest = Rest { is_zero: true, synced: 0 };
        // A segment is as long as it can get; unwritten parts are holes.
        for data in data_ranges(self.file, self.length as usize) {
            let mut start = position.max(data.start as u64 / ALIGNMENT * ALIGNMENT);
            while start < data.end as u64 {
                let step = self.get(start, start + STEP_BYTES as u64 + FRAME_BYTES)?;
                let begin_here = step.chunks(ALIGNMENT as usize).take(STEP_BYTES / ALIGNMENT as usize);
                for (at, bytes) in (start..).step_by(ALIGNMENT as usize).zip(begin_here) {
                    rest.is_zero &= bytes.iter().all(|&byte| byte == 0);
                    if bytes.starts_with(&MAGIC) {
                        let frame = Frame::parse(step.split_at((at - start) as usize).1, at);
                        if let Some(frame) = frame.filter(|frame| run.is_none_or(|run| run == frame.run)) {
                            rest.synced = rest.synced.max(u64::from(frame.synced));
                        }
                    }
                }
                start += STEP_BYTES as u64;
            }
        }
        Ok(rest)
    }
}
