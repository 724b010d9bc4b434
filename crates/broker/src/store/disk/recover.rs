//! Finds out at start what a topic's directory holds, and seals what an earlier run left open.
//!
//! A segment of an earlier run is never appended to: its end is fixed here, and the next commit begins a new one. Bytes
//! that a crash left behind an end so can never come to be read.

use super::seal::{Entry, Seal};
use super::segment::{Segment, map, populate, segment_path, sync_dir};
use super::{Durability, io_error};
use crate::object::{self, HEADER_BYTES, Header, MAGIC, ObjectError, ObjectIndex};
use crate::store::mapping::Mappings;
use crate::store::{SETTINGS_NAME, StoreError};
use memmap2::{Advice, Mmap};
use rustix::fs::SeekFrom;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Checksums of less than this are computed on one thread; starting more costs as much.
const VERIFY_BYTES_PER_THREAD: usize = 8 << 20;

/// Every object is a multiple of this long: its header, its entries and its batches are.
const OBJECT_ALIGNMENT: usize = 8;

/// What a topic's directory holds.
pub(super) struct Recovered {
    pub(super) segments: BTreeMap<u64, Arc<Segment>>,
    pub(super) next_offset: u64,
}

/// Recovers the topic in `dir`. All segments but the newest are known from their seals, the newest is walked object by
/// object, and so is each without a sound seal.
pub(super) fn recover(dir: &Path, durability: Durability, mappings: &Arc<Mappings>) -> Result<Recovered, StoreError> {
    let mut found = Vec::new();
    for first_offset in segment_names(dir)? {
        found.push(Found::open(dir, first_offset)?);
    }
    // A segment is created when the one before is synced, unless nobody asked for that: then the machine may have gone
    // down with the new segment's name on disk and the end of the old one not.
    let counts = |found: &&Found| durability == Durability::Fsync || !found.seal.entries.is_empty();
    let chain: Vec<&Found> = found.iter().filter(counts).collect();
    check_chain(dir, &chain)?;
    let newest = chain.last();
    if let Some(newest) = newest {
        check_end(newest, durability)?;
    }
    let next_offset = newest.map_or(0, |newest| newest.seal.next_offset);
    let mut recovered = Recovered { segments: BTreeMap::new(), next_offset };
    for found in found {
        let first_offset = found.seal.first_offset;
        if let Some(segment) = found.settle(dir, durability, mappings)? {
            recovered.segments.insert(first_offset, Arc::new(segment));
        }
    }
    Ok(recovered)
}

/// The objects of a sealed segment, read again.
pub(super) fn entries(dir: &Path, first_offset: u64) -> Result<Vec<Entry>, StoreError> {
    Ok(Found::open(dir, first_offset)?.seal.entries)
}

/// The first offsets of the directory's segments, in order. What is not ours is reported.
fn segment_names(dir: &Path) -> Result<Vec<u64>, StoreError> {
    let names = match std::fs::read_dir(dir) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_error("list", dir, &error)),
    };
    let mut offsets = Vec::new();
    let mut foreign = Vec::new();
    for name in names {
        let name = name.map_err(|error| io_error("list", dir, &error))?.file_name();
        let parts = name.to_str().and_then(|name| name.split_once('.'));
        let offset = parts.filter(|(stem, _)| stem.len() == 20).and_then(|(stem, ending)| {
            Some((stem.bytes().all(|byte| byte.is_ascii_digit()).then(|| stem.parse::<u64>().ok())??, ending))
        });
        match offset {
            Some((offset, "seg")) => offsets.push(offset),
            Some((_, "idx" | "torn")) => {}
            None if parts == SETTINGS_NAME.split_once('.') => {}
            _ => foreign.push(name),
        }
    }
    if !foreign.is_empty() {
        tracing::warn!(dir = %dir.display(), files = ?foreign, "files that are not the broker's are ignored; move them elsewhere");
    }
    offsets.sort_unstable();
    Ok(offsets)
}

/// Segments must follow each other without a gap: the middle of a log is never left out silently.
fn check_chain(dir: &Path, found: &[&Found]) -> Result<(), StoreError> {
    for (one, next) in found.iter().zip(found.iter().skip(1)) {
        if one.seal.next_offset != next.seal.first_offset {
            let torn = match &one.torn {
                Some(torn) => format!(" ({} is damaged at byte {}: {})", one.name(), torn.position, torn.why),
                None => String::new(),
            };
            return Err(StoreError::human(format!(
                "{}: records {} to {} are missing between {} and {}{torn}; put the missing segment back, or, to go on \
                 without what comes after them, move {} and all later files out of the directory",
                dir.display(),
                one.seal.next_offset,
                next.seal.first_offset,
                one.name(),
                next.name(),
                next.name(),
            )));
        }
    }
    Ok(())
}

/// A crash can tear the last commit only: where every commit was synced before the next began, a whole object behind
/// damage means that the disk lost something it had confirmed.
fn check_end(newest: &Found, durability: Durability) -> Result<(), StoreError> {
    let Some(torn) = &newest.torn else { return Ok(()) };
    tracing::warn!(
        segment = %newest.path.display(),
        position = torn.position,
        why = %torn.why,
        next_offset = newest.seal.next_offset,
        "the newest segment's end is torn and ignored; what was acknowledged after a sync lies before it"
    );
    let Some(behind) = torn.whole_object_behind else { return Ok(()) };
    if durability == Durability::PageCache {
        tracing::warn!(
            segment = %newest.path.display(),
            position = behind,
            "a whole object lies behind the torn end: the machine went down before the page cache was written; ignored"
        );
        return Ok(());
    }
    Err(StoreError::human(format!(
        "{} is damaged at byte {} ({}), but a whole object follows at byte {behind}: this is no torn end, the disk lost \
         records that were acknowledged; restore the file from a copy, or, to go on without everything from offset {} \
         on, start once with --durability page-cache",
        newest.path.display(),
        torn.position,
        torn.why,
        newest.seal.next_offset,
    )))
}

/// A segment file as it was found.
struct Found {
    path: std::path::PathBuf,
    /// What its seal says, or what walking it found.
    seal: Seal,
    /// Whether its seal is on disk.
    sealed: bool,
    torn: Option<Torn>,
}

/// Where the whole objects of a segment end, when not with its end or with zeros.
#[derive(Debug)]
struct Torn {
    position: u64,
    why: String,
    whole_object_behind: Option<u64>,
}

impl Found {
    fn open(dir: &Path, first_offset: u64) -> Result<Found, StoreError> {
        let path = segment_path(dir, first_offset);
        let file = File::open(&path).map_err(|error| io_error("open", &path, &error))?;
        let length = file.metadata().map_err(|error| io_error("read", &path, &error))?.len();
        let sealed = match std::fs::read(path.with_extension("idx")) {
            Ok(bytes) => {
                let seal = Seal::parse(&bytes, first_offset).filter(|seal| seal.segment_bytes <= length);
                if seal.is_none() {
                    tracing::warn!(segment = %path.display(), "the index beside the segment is damaged; walking the segment instead");
                }
                seal
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io_error("read", &path.with_extension("idx"), &error)),
        };
        if let Some(seal) = sealed {
            return Ok(Found { path, seal, sealed: true, torn: None });
        }
        let (seal, torn) = if length == 0 {
            (Walk::new(first_offset).seal(), None)
        } else {
            walk_file(&file, length, first_offset).map_err(|error| io_error("read", &path, &error))?
        };
        Ok(Found { path, seal, sealed: false, torn })
    }

    fn name(&self) -> std::borrow::Cow<'_, str> {
        self.path.file_name().unwrap_or_default().to_string_lossy()
    }

    /// Fixes the segment's end on disk. `None`: no object is in it, and the file has made room.
    fn settle(
        self,
        dir: &Path,
        durability: Durability,
        mappings: &Arc<Mappings>,
    ) -> Result<Option<Segment>, StoreError> {
        let Seal { first_offset, segment_bytes, .. } = self.seal;
        if self.sealed {
            return Ok(Some(Segment::sealed(dir, first_offset, segment_bytes, None, mappings)));
        }
        if self.seal.entries.is_empty() {
            let moved = match self.torn {
                // Never deleted: only a person can tell whether somebody misses it.
                Some(_) => std::fs::rename(&self.path, self.path.with_extension("torn")),
                None => std::fs::remove_file(&self.path),
            };
            moved.map_err(|error| io_error("move", &self.path, &error))?;
            if durability == Durability::Fsync {
                sync_dir(dir)?;
            }
            return Ok(None);
        }
        let segment = Segment::sealed(dir, first_offset, segment_bytes, Some(self.seal.entries.clone()), mappings);
        let file =
            File::options().write(true).open(&self.path).map_err(|error| io_error("open", &self.path, &error))?;
        // What lies behind a torn end is kept for whoever wants to look at it; nobody reads behind the seal's end.
        segment.seal(&file, &self.seal, self.torn.is_none())?;
        Ok(Some(segment))
    }
}

/// Walks a segment file of `length` bytes, not 0.
fn walk_file(file: &File, length: u64, first_offset: u64) -> io::Result<(Seal, Option<Torn>)> {
    let mapping = map(file, length)?;
    mapping.advise(Advice::Sequential)?;
    let mut walk = Walk::new(first_offset);
    let mut end = walk.headers(&mapping)?;
    if let Some((damaged, error)) = first_damaged(&mapping, &walk.entries)? {
        walk.entries.truncate(damaged);
        end = End::Torn(error.to_string());
    }
    let writer_id = walk.writer_id;
    let seal = walk.seal();
    let torn = match end {
        End::Clean => None,
        End::Torn(why) => {
            let data_end = data_end(file, length);
            let whole_object_behind = whole_object_behind(&mapping, &seal, writer_id, data_end)?;
            Some(Torn { position: seal.segment_bytes, why, whole_object_behind })
        }
    };
    Ok((seal, torn))
}

/// How a segment's whole objects end.
enum End {
    /// With the file, or with zeros where a header would be: blocks allocated and not yet written.
    Clean,
    Torn(String),
}

struct Walk {
    first_offset: u64,
    writer_id: Option<u64>,
    entries: Vec<Entry>,
}

impl Walk {
    fn new(first_offset: u64) -> Walk {
        Walk { first_offset, writer_id: None, entries: Vec::new() }
    }

    /// Goes from index to index; the batches in between are not looked at.
    fn headers(&mut self, mapping: &Mmap) -> io::Result<End> {
        let mut offset = self.first_offset;
        let mut position = 0usize;
        loop {
            let rest = mapping.get(position..).unwrap_or_default();
            let front = rest.get(..HEADER_BYTES).unwrap_or(rest);
            populate(front)?;
            if front.iter().all(|&byte| byte == 0) {
                return Ok(End::Clean);
            }
            let header = match self.object(rest, offset) {
                Ok(Some(header)) => header,
                Ok(None) => return Ok(End::Torn(format!("not the object of offset {offset} by the segment's writer"))),
                Err(WalkError::Object(error)) => return Ok(End::Torn(error.to_string())),
                Err(WalkError::Io(error)) => return Err(error),
            };
            self.writer_id = Some(header.writer_id);
            self.entries.push(Entry::new(&header, position as u32));
            offset = header.next_offset();
            position += header.object_bytes as usize;
            if u32::try_from(position).is_err() {
                return Ok(End::Torn("a segment cannot be that long".to_owned()));
            }
        }
    }

    /// The header of the object at the front of `rest`; `None` if it is not the one that belongs there.
    fn object(&self, rest: &[u8], offset: u64) -> Result<Option<Header>, WalkError> {
        let header = Header::parse(rest)?;
        if header.first_offset != offset || self.writer_id.is_some_and(|writer_id| writer_id != header.writer_id) {
            return Ok(None);
        }
        let (have, need) = (rest.len() as u64, header.object_bytes);
        let object = usize::try_from(need).ok().and_then(|need| rest.get(..need));
        let object = object.ok_or(ObjectError::Truncated { have, need })?;
        // All of it: its checksums are computed next.
        populate(object)?;
        Ok(Some(ObjectIndex::parse(object)?.header))
    }

    fn seal(self) -> Seal {
        let last = self.entries.last();
        Seal {
            first_offset: self.first_offset,
            next_offset: last.map_or(self.first_offset, Entry::next_offset),
            segment_bytes: last.map_or(0, |entry| entry.range().end as u64),
            writer_id: self.writer_id.unwrap_or(0),
            entries: self.entries,
        }
    }
}

enum WalkError {
    Object(ObjectError),
    Io(io::Error),
}

impl From<ObjectError> for WalkError {
    fn from(error: ObjectError) -> Self {
        WalkError::Object(error)
    }
}

impl From<io::Error> for WalkError {
    fn from(error: io::Error) -> Self {
        WalkError::Io(error)
    }
}

/// Checks every batch of the objects, on several threads; gives the first object that is damaged.
fn first_damaged(mapping: &Mmap, entries: &[Entry]) -> io::Result<Option<(usize, ObjectError)>> {
    let bytes = entries.last().map_or(0, |entry| entry.range().end);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(bytes / VERIFY_BYTES_PER_THREAD + 1);
    let share = entries.len().div_ceil(threads).max(1);
    let verify = |number: usize, entry: &Entry| {
        let error = object::verify(mapping.get(entry.range()).unwrap_or_default()).err()?;
        Some((number, error))
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = entries
            .chunks(share)
            .enumerate()
            .map(|(chunk, entries)| {
                scope.spawn(move || entries.iter().enumerate().find_map(|(i, entry)| verify(chunk * share + i, entry)))
            })
            .collect();
        let mut first = None;
        for worker in workers {
            let found = worker.join().map_err(|_| io::Error::other("a thread of the check panicked"))?;
            first = first.or(found);
        }
        Ok(first)
    })
}

/// Where the file's last data end: behind lie holes and blocks never written.
fn data_end(file: &File, length: u64) -> u64 {
    let mut position = 0;
    while let Ok(data) = rustix::fs::seek(file, SeekFrom::Data(position)) {
        match rustix::fs::seek(file, SeekFrom::Hole(data)) {
            Ok(hole) if hole > position => position = hole,
            _ => return length,
        }
    }
    position
}

/// Looks for an object of the segment's writer behind its torn end.
fn whole_object_behind(mapping: &Mmap, seal: &Seal, writer_id: Option<u64>, data_end: u64) -> io::Result<Option<u64>> {
    let first = seal.segment_bytes as usize + OBJECT_ALIGNMENT;
    let tail = mapping.get(first..data_end as usize).unwrap_or_default();
    populate(tail)?;
    for position in (0..tail.len()).step_by(OBJECT_ALIGNMENT) {
        let rest = tail.get(position..).unwrap_or_default();
        if !rest.starts_with(&MAGIC) {
            continue;
        }
        let whole = object::verify(rest).is_ok_and(|header| {
            header.first_offset > seal.next_offset && writer_id.is_none_or(|writer_id| writer_id == header.writer_id)
        });
        if whole {
            return Ok(Some((first + position) as u64));
        }
    }
    Ok(None)
}
