//! The batches of a piece of an object: where they are and what they must be, by their entries in the object's index.
//!
//! Nothing is built of the entries: a read walks them where they are. A file may have been damaged, and what is fetched
//! of a bucket's object has no checksum for them alone, so each walk begins with a check of what all entries add up to
//! (`docs/storage.md`, Reads of a bucket).

use crate::object_error::ObjectError;
use bytes::Bytes;
use rawline_batch::record_batch::{RECORD_BATCH_HEADER_BYTES, check_stored};
use rawline_batch::{Batch as ParsedBatch, HEADER_BYTES, Header, Limits};
use rawline_journal::{Batch, BatchKind, Index, Place};
use std::ops::Range;

/// The length of our batches is a multiple of this.
const BATCH_ALIGNMENT: u32 = 8;

/// The checked entries of a piece.
#[derive(Debug, Clone)]
pub(crate) struct Entries {
    first_offset: u64,
    bytes: Bytes,
}

/// A batch as its entry describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described {
    /// Its number in the piece, from 0.
    pub number: usize,
    /// Offset of its first record.
    pub first_offset: u64,
    /// Its position among the piece's batches in bytes.
    position: usize,
    batch: Batch,
}

impl Entries {
    /// Checks that `entries` can be those of a piece with the records `offsets`.
    pub fn check(offsets: Range<u64>, place: &Place, entries: Bytes) -> Result<Entries, ObjectError> {
        let (mut bytes, mut records) = (0, 0);
        for batch in Batch::each(&entries)? {
            let batch = batch?;
            let is_aligned = batch.kind != BatchKind::Rawline || batch.bytes.is_multiple_of(BATCH_ALIGNMENT);
            let data_bytes = data_bytes(batch.kind, batch.bytes.into(), 1, batch.records.into());
            if !is_aligned || data_bytes.is_none() {
                return Err(ObjectError::Header);
            }
            (bytes, records) = (bytes + u64::from(batch.bytes), records + u64::from(batch.records));
        }
        let is_sound = bytes == u64::from(place.bytes) && records == offsets.end - offsets.start;
        if is_sound { Ok(Entries { first_offset: offsets.start, bytes: entries }) } else { Err(ObjectError::Header) }
    }

    /// The batches in order.
    pub fn batches(&self) -> impl Iterator<Item = Described> {
        let Ok(batches) = Batch::each(&self.bytes) else { unreachable!("the size of entries that were checked") };
        let checked =
            |batch: Result<Batch, _>| batch.unwrap_or_else(|error| unreachable!("an entry that was checked: {error}"));
        describe(0, self.first_offset, batches.map(checked))
    }

    /// Checks that `bytes` are the batches, intact.
    pub fn verify(&self, bytes: &[u8]) -> Result<(), ObjectError> {
        verify(self.batches(), bytes)
    }

    /// Checks that `bytes` are those of the batches in this part of the piece, intact. Returns the first that isn't.
    pub fn verify_part(&self, part: &Range<usize>, bytes: &[u8]) -> Result<(), (Described, ObjectError)> {
        let batches = self.batches().skip_while(|batch| batch.range().start < part.start);
        for batch in batches.take_while(|batch| batch.range().end <= part.end) {
            let Range { start, end } = batch.range();
            let found = bytes.get(start - part.start..end - part.start).ok_or(ObjectError::Header);
            found.and_then(|found| batch.verify(found)).map_err(|error| (batch, error))?;
        }
        Ok(())
    }
}

impl Described {
    /// Number of records. Of a compacted batch, the number of offsets that it takes.
    pub fn records(&self) -> u32 {
        self.batch.records
    }

    /// Offset after its last record.
    pub fn next_offset(&self) -> u64 {
        self.first_offset + u64::from(self.batch.records)
    }

    /// Where it is among the piece's batches.
    pub fn range(&self) -> Range<usize> {
        self.position..self.position + self.batch.bytes as usize
    }

    /// The format of its bytes.
    pub fn kind(&self) -> BatchKind {
        self.batch.kind
    }

    /// Time of its newest record, in microseconds since the Unix epoch, by its object's time of append.
    pub fn newest_us(&self, appended_us: u64) -> u64 {
        self.batch.kind.newest_us(self.batch.max_timestamp_us, appended_us)
    }

    /// Time of its append in microseconds since the Unix epoch, if it isn't that of its object; else 0. Of one of
    /// Kafka's, the time of its newest record by its producer's clock.
    pub fn time_us(&self) -> u64 {
        self.batch.max_timestamp_us
    }

    /// Size of its records in bytes, compressed if they are: of one of ours, its data with the padding.
    pub fn data_bytes(&self) -> u64 {
        let Batch { kind, bytes, records, .. } = self.batch;
        data_bytes(kind, bytes.into(), 1, records.into())
            .unwrap_or_else(|| unreachable!("{self:?} is too small for its records"))
    }

    /// Checks that `bytes` are this batch, intact.
    pub fn verify(&self, bytes: &[u8]) -> Result<(), ObjectError> {
        let number = self.number as u32;
        match self.batch.kind {
            BatchKind::Rawline => {
                let batch = ParsedBatch::parse(bytes, &Limits::FORMAT);
                self.check(batch.map_err(|error| ObjectError::Batch { number, error })?.header())
            }
            BatchKind::Kafka => {
                let header = check_stored(bytes, self.first_offset);
                let header = header.map_err(|error| ObjectError::RecordBatch { number, error })?;
                let found = (header.crc32c, header.offsets, header.batch_bytes);
                let Batch { crc32c, records, bytes, .. } = self.batch;
                if found == (crc32c, records, bytes) { Ok(()) } else { Err(ObjectError::Header) }
            }
        }
    }

    /// Checks that a batch of ours with this header is this one.
    pub fn check(&self, header: &Header) -> Result<(), ObjectError> {
        let Batch { crc32c, records, bytes, .. } = self.batch;
        let found = (header.crc32c, header.records, header.batch_bytes());
        if found == (crc32c, records, bytes.into()) { Ok(()) } else { Err(ObjectError::Header) }
    }
}

/// Batches that lie back to back. `number` is that of the first, `offset` that of its first record.
fn describe(number: usize, mut offset: u64, batches: impl Iterator<Item = Batch>) -> impl Iterator<Item = Described> {
    let mut position = 0;
    (number..).zip(batches).map(move |(number, batch)| {
        let described = Described { number, first_offset: offset, position, batch };
        (offset, position) = (described.next_offset(), described.range().end);
        described
    })
}

fn verify(batches: impl Iterator<Item = Described>, bytes: &[u8]) -> Result<(), ObjectError> {
    let mut end = 0;
    for batch in batches {
        batch.verify(bytes.get(batch.range()).ok_or(ObjectError::Header)?)?;
        end = batch.range().end;
    }
    if end == bytes.len() { Ok(()) } else { Err(ObjectError::Header) }
}

/// Checks that `bytes` are these batches, intact. `number` is that of the first in its object, `offset` that of its
/// first record.
pub(crate) fn verify_batches<'a>(
    number: usize,
    offset: u64,
    batches: impl Iterator<Item = &'a Batch>,
    bytes: &[u8],
) -> Result<(), ObjectError> {
    verify(describe(number, offset, batches.copied()), bytes)
}

/// Checks that `whole` is the object with this index, and its batches intact.
pub(crate) fn verify_object(index: &Index, whole: &[u8]) -> Result<(), ObjectError> {
    let need = index.header.object_bytes;
    let truncated = ObjectError::Truncated { have: whole.len() as u64, need };
    let mut bytes = whole.get(index.header.index_bytes() as usize..need as usize).ok_or(truncated)?;
    let mut number = 0;
    for (section, batches) in index.sections() {
        let section_bytes: usize = batches.iter().map(|(batch, _)| batch.bytes as usize).sum();
        let (of_section, rest) = bytes.split_at_checked(section_bytes).ok_or(ObjectError::Header)?;
        verify_batches(number, section.first_offset, batches.iter().map(|(batch, _)| batch), of_section)?;
        number += batches.len();
        bytes = rest;
    }
    Ok(())
}

/// Size of the records of `batches` batches of one kind in bytes, with their padding; `None` if the batches are too
/// small to be intact.
pub(crate) fn data_bytes(kind: BatchKind, batch_bytes: u64, batches: u64, records: u64) -> Option<u64> {
    let other_bytes = match kind {
        BatchKind::Rawline => batches * HEADER_BYTES as u64 + records * 4,
        BatchKind::Kafka => batches * RECORD_BATCH_HEADER_BYTES as u64,
    };
    batch_bytes.checked_sub(other_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_batch::{Builder, Codec};
    use rawline_journal::{Id, Link, PartitionId, Section, build_index};

    const OFFSET: u64 = 70;

    /// A batch of so many records, and its entry.
    fn batch(records: u32) -> (Batch, Vec<u8>) {
        let mut builder = Builder::new(Codec::None, Limits::FORMAT);
        (0..records).for_each(|record| builder.push(format!("record {record} of {records}").as_bytes()).unwrap());
        let mut bytes = Vec::new();
        builder.finish_into(1, 0, 0, &mut bytes).unwrap();
        let crc32c = ParsedBatch::parse(&bytes, &Limits::FORMAT).unwrap().header().crc32c;
        let (kind, producer, transaction) = (BatchKind::Rawline, None, None);
        let (length, max_timestamp_us) = (bytes.len() as u32, 0);
        let batch =
            Batch { kind, records, bytes: length, crc32c, continues: false, producer, max_timestamp_us, transaction };
        (batch, bytes)
    }

    /// A piece of batches of 3, 1 and 2 records: its offsets, its place, its entries and its batches.
    fn piece() -> (Range<u64>, Place, Vec<u8>, Vec<u8>) {
        let (described, batches): (Vec<_>, Vec<_>) = [3, 1, 2].map(batch).into_iter().unzip();
        let link = Link { number: 1, id: Id { run: 1, commit: 1 }, prev: Id::ROOT, in_flight: 0 };
        let section = Section { partition: PartitionId { topic: 1, number: 0 }, first_offset: OFFSET };
        let index = build_index(link, 5, &[], &[(section, &described)]);
        let (_, piece, next_offset) = Index::parse(&index).unwrap().pieces().next().unwrap();
        let Range { start, end } = piece.place.entries();
        (OFFSET..next_offset, piece.place, index[start as usize..end as usize].to_vec(), batches.concat())
    }

    #[test]
    fn batches_are_where_the_entries_before_them_end() {
        let (offsets, place, entries, bytes) = piece();
        let entries = Entries::check(offsets, &place, entries.into()).unwrap();
        let batches: Vec<_> = entries.batches().collect();
        let offsets: Vec<_> = batches.iter().map(|batch| batch.first_offset..batch.next_offset()).collect();
        assert_eq!(offsets, [70..73, 73..74, 74..76]);
        assert_eq!(batches[0].range().start, 0);
        assert!(batches.windows(2).all(|pair| pair[0].range().end == pair[1].range().start));
        assert_eq!(batches[2].range().end, bytes.len());
        entries.verify(&bytes).unwrap();
        for (number, batch) in batches.iter().enumerate() {
            batch.verify(&bytes[batch.range()]).unwrap();
            let mut damaged = bytes.clone();
            damaged[batch.range().end - 9] ^= 1;
            assert_eq!(entries.verify(&damaged).unwrap_err().batch(), Some(number));
        }
        let swapped = [&bytes[batches[1].range()], &bytes[batches[0].range()], &bytes[batches[2].range()]].concat();
        assert!(entries.verify(&swapped).is_err());
        assert!(entries.verify(&bytes[..bytes.len() - 8]).is_err());
    }

    /// An index is checked when its object is stored or fetched, and read from a file that may be damaged since.
    #[test]
    fn a_bit_that_flips_in_an_entry_is_noticed() {
        let (offsets, place, entries, bytes) = piece();
        let entry_bytes = entries.len() / 3;
        for position in 0..entries.len() {
            for bit in 0..8 {
                let mut flipped = entries.clone();
                flipped[position] ^= 1 << bit;
                let checked = Entries::check(offsets.clone(), &place, flipped.into());
                match position % entry_bytes {
                    // Records and bytes have to add up.
                    0..8 => assert!(checked.is_err(), "bit {bit} of byte {position}"),
                    // The checksum is the batch's, and the kind is known.
                    8..13 => assert!(checked.and_then(|entries| entries.verify(&bytes)).is_err(), "byte {position}"),
                    // Reads need no more.
                    _ => {}
                }
            }
        }
    }
}
