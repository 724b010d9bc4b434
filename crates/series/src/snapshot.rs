//! Saves strings and series as bytes, incrementally since a mark, and loads them with the same ids.
//!
//! A snapshot is a sequence of segments up to the end of the input. Integers are little-endian:
//!
//! ```text
//!  0  4  magic "RWLS"
//!  4  2  version, 1
//!  6  2  kind: 1 strings, 2 series
//!  8  4  id of the first entry: the number of entries of this kind in earlier segments
//! 12  4  number of entries
//! 16  4  length of the entries in bytes
//! 20  4  CRC-32C of bytes 0 to 19 and of the entries
//! 24  …  entries; a string: length (4), bytes; a series: number of tags (4), metric's string id (4), then each tag,
//!        sorted by key, its key's and its value's string id (4 and 4)
//! ```
//!
//! A segment of series follows the strings to which it refers. Known encodings (aliases) are not saved: after a
//! restart, each costs one slow look-up.

use std::io::{self, Read, Write};

use thiserror::Error;

use crate::byte_table::LimitsError;
use crate::interner::{Interner, InternerLimits, STRING_BYTES_MAX};
use crate::series::{SeriesLimits, SeriesTable, TAGS_MAX};

const MAGIC: [u8; 4] = *b"RWLS";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 24;
/// A segment is written when its entries reach this size. With the longest entry added, it stays below the maximum.
const SEGMENT_BYTES: usize = 1 << 20;
const SEGMENT_BYTES_MAX: usize = 2 << 20;
const _: () = assert!(SEGMENT_BYTES + 4 + STRING_BYTES_MAX <= SEGMENT_BYTES_MAX);
const _: () = assert!(SEGMENT_BYTES + 8 + 8 * TAGS_MAX <= SEGMENT_BYTES_MAX);

/// How much of a series table has been saved; by default nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Number of strings saved.
    pub strings: u32,
    /// Number of series saved.
    pub series: u32,
}

/// A snapshot can't be written or read.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The output or input failed.
    #[error("the snapshot cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// The bytes are not those that were saved.
    #[error("the snapshot is damaged in the segment at byte {position}: {reason}; truncate it there or restore a copy")]
    Corrupt {
        /// Start of the damaged segment. The bytes before it are intact and can be loaded without it.
        position: u64,
        /// The reason.
        reason: &'static str,
    },
    /// Another version wrote it.
    #[error(
        "the snapshot's segment at byte {position} has version {version}, this program reads {VERSION}: use the \
         program that wrote it, or a newer one"
    )]
    Version {
        /// Start of the segment.
        position: u64,
        /// Its version.
        version: u16,
    },
    /// The table's limits are too low for the saved data.
    #[error("the snapshot does not fit into the table: restart with higher limits")]
    Full,
    /// The table can't be created.
    #[error(transparent)]
    Limits(#[from] LimitsError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Strings = 1,
    Series = 2,
}

impl Interner {
    /// Writes the strings with ids from `since` on. Returns the number of strings saved so far: the next call's
    /// `since`.
    pub fn save_since(&self, since: u32, output: &mut impl Write) -> Result<u32, SnapshotError> {
        save(output, Kind::Strings, since, self.len(), |id, entries| {
            let text = self.get(id).unwrap_or_default();
            entries.extend_from_slice(&(text.len() as u32).to_le_bytes());
            entries.extend_from_slice(text.as_bytes());
        })
    }

    /// Loads an interner from a snapshot, up to the input's end. Each string keeps its id.
    pub fn load(limits: InternerLimits, seed: u64, input: &mut impl Read) -> Result<Self, SnapshotError> {
        let interner = Self::new(limits, seed)?;
        let mut segments = Segments::new(input);
        while let Some(segment) = segments.next()? {
            match segment.kind {
                Kind::Strings => segment.strings(&interner)?,
                Kind::Series => return Err(segment.corrupt("it has series, but only strings were expected")),
            }
        }
        Ok(interner)
    }
}

impl SeriesTable {
    /// Writes the strings and series added after `since`. Returns the saved extent, which is the next call's `since`.
    /// Series that other threads insert meanwhile may or may not be saved; those that are saved are complete.
    pub fn save_since(&self, since: Mark, output: &mut impl Write) -> Result<Mark, SnapshotError> {
        // Counted before the strings, so every string of these series is among those written first.
        let series_end = self.len();
        let strings = self.strings().save_since(since.strings, output)?;
        let series = save(output, Kind::Series, since.series, series_end, |id, entries| {
            let key = self.get(id).map(|series| series.key()).unwrap_or_default();
            entries.extend_from_slice(&(key.len() as u32 / 8).to_le_bytes());
            entries.extend_from_slice(key);
        })?;
        Ok(Mark { strings, series })
    }

    /// Loads a table from a snapshot, up to the input's end. Each string and series keeps its id.
    pub fn load(limits: SeriesLimits, seed: u64, input: &mut impl Read) -> Result<Self, SnapshotError> {
        let table = Self::new(limits, seed)?;
        let mut segments = Segments::new(input);
        while let Some(segment) = segments.next()? {
            match segment.kind {
                Kind::Strings => segment.strings(table.strings())?,
                Kind::Series => segment.series(&table)?,
            }
        }
        Ok(table)
    }

    /// The mark of everything in the table now.
    pub fn mark(&self) -> Mark {
        let series = self.len();
        Mark { strings: self.strings().len(), series }
    }
}

fn save(
    output: &mut impl Write,
    kind: Kind,
    since: u32,
    end: u32,
    entry: impl Fn(u32, &mut Vec<u8>),
) -> Result<u32, SnapshotError> {
    let mut segment = Vec::new();
    let mut first = since;
    while first < end {
        segment.clear();
        segment.resize(HEADER_BYTES, 0);
        let mut next = first;
        while next < end && segment.len() < SEGMENT_BYTES {
            entry(next, &mut segment);
            next += 1;
        }
        let length = (segment.len() - HEADER_BYTES) as u32;
        let (header, entries) = segment.split_at_mut(HEADER_BYTES);
        let mut fields = Vec::with_capacity(HEADER_BYTES);
        fields.extend_from_slice(&MAGIC);
        fields.extend_from_slice(&VERSION.to_le_bytes());
        fields.extend_from_slice(&(kind as u16).to_le_bytes());
        for field in [first, next - first, length] {
            fields.extend_from_slice(&field.to_le_bytes());
        }
        let crc = checksum(&fields, entries);
        fields.extend_from_slice(&crc.to_le_bytes());
        header.copy_from_slice(&fields);
        output.write_all(&segment)?;
        first = next;
    }
    Ok(first)
}

fn checksum(header: &[u8], entries: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(header);
    digest.update(entries);
    digest.finalize() as u32
}

/// The segments of an input; each is checked as a whole before it is returned.
struct Segments<'r, R> {
    input: &'r mut R,
    entries: Vec<u8>,
    position: u64,
}

struct Segment<'s> {
    kind: Kind,
    first: u32,
    count: u32,
    entries: &'s [u8],
    position: u64,
}

impl<'r, R: Read> Segments<'r, R> {
    fn new(input: &'r mut R) -> Self {
        Self { input, entries: Vec::new(), position: 0 }
    }

    fn next(&mut self) -> Result<Option<Segment<'_>>, SnapshotError> {
        let position = self.position;
        let corrupt = |reason| SnapshotError::Corrupt { position, reason };
        let mut header = Vec::with_capacity(HEADER_BYTES);
        self.input.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header)?;
        if header.is_empty() {
            return Ok(None);
        }
        let mut fields = Fields(&header);
        if fields.take(4) != Some(&MAGIC) {
            return Err(corrupt("it does not begin with a segment's magic bytes"));
        }
        let (Some(version), Some(kind)) = (fields.short(), fields.short()) else {
            return Err(corrupt("it is truncated"));
        };
        if version != VERSION {
            return Err(SnapshotError::Version { position, version });
        }
        let (Some(first), Some(count), Some(length), Some(crc)) =
            (fields.int(), fields.int(), fields.int(), fields.int())
        else {
            return Err(corrupt("it is truncated"));
        };
        if length as usize > SEGMENT_BYTES_MAX {
            return Err(corrupt("its length is above the maximum"));
        }
        self.entries.clear();
        self.input.by_ref().take(u64::from(length)).read_to_end(&mut self.entries)?;
        if self.entries.len() != length as usize {
            return Err(corrupt("it is truncated"));
        }
        if crc != checksum(header.get(..HEADER_BYTES - 4).unwrap_or_default(), &self.entries) {
            return Err(corrupt("its checksum does not match its bytes"));
        }
        let kind = match kind {
            1 => Kind::Strings,
            2 => Kind::Series,
            _ => return Err(corrupt("its kind is unknown")),
        };
        self.position += (HEADER_BYTES + self.entries.len()) as u64;
        Ok(Some(Segment { kind, first, count, entries: &self.entries, position }))
    }
}

impl Segment<'_> {
    fn strings(&self, interner: &Interner) -> Result<(), SnapshotError> {
        self.each(interner.len(), |fields, id| {
            let length = fields.int().ok_or("an entry is truncated")?;
            let text = fields.take(length as usize).ok_or("an entry is truncated")?;
            match interner.intern(text) {
                Ok(found) if found == id => Ok(true),
                Ok(_) => Err("it has a duplicate string"),
                Err(crate::interner::InternError::Full) => Ok(false),
                Err(_) => Err("a string is too long or not UTF-8"),
            }
        })
    }

    fn series(&self, table: &SeriesTable) -> Result<(), SnapshotError> {
        self.each(table.len(), |fields, id| {
            let tags = fields.int().ok_or("an entry is truncated")? as usize;
            if tags > TAGS_MAX {
                return Err("a series has too many tags");
            }
            let key = fields.take(4 + 8 * tags).ok_or("an entry is truncated")?;
            check_key(key, table.strings())?;
            match table.insert_key(key) {
                Ok(found) if found == id => Ok(true),
                Ok(_) => Err("it has a duplicate series"),
                Err(_) => Ok(false),
            }
        })
    }

    /// Reads each entry; `read` returns whether it fitted.
    fn each(
        &self,
        held: u32,
        mut read: impl FnMut(&mut Fields<'_>, u32) -> Result<bool, &'static str>,
    ) -> Result<(), SnapshotError> {
        if self.first != held {
            return Err(self.corrupt("earlier segments are missing, or it is a duplicate"));
        }
        let mut fields = Fields(self.entries);
        for id in (self.first..).take(self.count as usize) {
            if !read(&mut fields, id).map_err(|reason| self.corrupt(reason))? {
                return Err(SnapshotError::Full);
            }
        }
        if fields.0.is_empty() { Ok(()) } else { Err(self.corrupt("bytes are left after its entries")) }
    }

    fn corrupt(&self, reason: &'static str) -> SnapshotError {
        SnapshotError::Corrupt { position: self.position, reason }
    }
}

/// Every id must be that of a string, and keys must be in ascending order: only then do equal series have equal keys.
fn check_key(key: &[u8], strings: &Interner) -> Result<(), &'static str> {
    let mut ids = Fields(key);
    let mut text = || ids.int().map(|id| strings.get(id).ok_or("a series refers to a missing string"));
    text().ok_or("an entry is truncated")??;
    let mut last: Option<&str> = None;
    while let Some(name) = text() {
        let name = name?;
        text().ok_or("an entry is truncated")??;
        if last.is_some_and(|last| last >= name) {
            return Err("a series' tags are not sorted");
        }
        last = Some(name);
    }
    Ok(())
}

/// Takes integers and bytes from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn short(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
    }

    fn int(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }
}
