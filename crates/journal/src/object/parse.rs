//! Reads the index of a journal object, or of a merged one, and checks it.

use super::raw::{
    FLAG_ABORT, FLAG_COMMIT, FLAG_CONTINUES, FLAG_PRODUCER, FLAG_TRANSACTION, HEADER_BYTES, MAGIC, MERGED_MAGIC,
    NUMBER_MAX, RawEntry, RawHeader, RawSection, VERSION,
};
use super::raw::{checksum, index_bytes};
use super::{Batch, BatchKind, ObjectError, control};
use crate::chain::{Id, Link};
use crate::changes::{Changes, Entry};
use crate::control::Control;
use crate::limits::{
    OBJECT_APPENDS_MAX, OBJECT_BYTES_MAX, OBJECT_CONTROL_BYTES_MAX, PARTITIONS_MAX, PUTS_IN_FLIGHT_MAX,
};
use crate::partition_id::PartitionId;
use crate::place::{BatchCount, Piece, Place, Source};
use crate::producers::{Content, Producer, SEQUENCES_WRAP_AT, content_checksum};
use crate::transactions::TransactionPart;
use std::ops::Range;
use std::sync::Arc;
use zerocopy::FromBytes;

/// A journal object's header. Its checksum needs the whole index and is checked by [`Index::parse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The object's place in the chain. A merged object is in no chain: its predecessor is [`Id::ROOT`].
    pub link: Link,
    /// Whether it is a merged object.
    pub is_merged: bool,
    /// Size of the whole object in bytes.
    pub object_bytes: u64,
    /// When the broker built the object: microseconds since the Unix epoch.
    pub appended_us: u64,
    /// Number of partitions that have batches in it.
    pub sections: u32,
    /// Number of batches.
    pub batches: u32,
    /// Size of the control records in bytes.
    pub control_bytes: u32,
}

/// The batches of one partition in an object. A merged object may have several ranges of a partition's offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Their partition.
    pub partition: PartitionId,
    /// Offset of the first record.
    pub first_offset: u64,
}

/// The checked index of a journal object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The header.
    pub header: Header,
    controls: Arc<[Control]>,
    sections: Vec<(Section, Range<usize>)>,
    /// All batches, with the position of each in the object, in bytes.
    batches: Vec<(Batch, u64)>,
}

impl Header {
    /// The object, by its number.
    pub fn source(&self) -> Source {
        let number = self.link.number;
        if self.is_merged { Source::Merged(number) } else { Source::Journal(number) }
    }

    /// Size of the index in bytes, header included: the position of the first batch.
    pub fn index_bytes(&self) -> u64 {
        index_bytes(self.sections, self.batches, u64::from(self.control_bytes))
    }

    /// Reads a header.
    pub fn parse(bytes: &[u8]) -> Result<Header, ObjectError> {
        let Ok((raw, _)) = RawHeader::read_from_prefix(bytes) else {
            return Err(ObjectError::Truncated { have: bytes.len() as u64, need: HEADER_BYTES as u64 });
        };
        if raw.magic != MAGIC && raw.magic != MERGED_MAGIC {
            return Err(ObjectError::Magic { found: raw.magic });
        }
        if raw.version != VERSION {
            return Err(ObjectError::Version { found: raw.version });
        }
        let link = Link {
            number: raw.number.get(),
            id: Id { run: raw.id_run.get(), commit: raw.id_commit.get() },
            prev: Id { run: raw.prev_run.get(), commit: raw.prev_commit.get() },
            in_flight: raw.in_flight,
        };
        let header = Header {
            link,
            is_merged: raw.magic == MERGED_MAGIC,
            object_bytes: raw.object_bytes.get(),
            appended_us: raw.appended_us.get(),
            sections: raw.sections.get(),
            batches: raw.batches.get(),
            control_bytes: raw.control_bytes.get(),
        };
        if header.batches as usize > OBJECT_APPENDS_MAX || header.sections > header.batches {
            return Err(ObjectError::Index("the numbers of sections and batches"));
        }
        if u64::from(header.control_bytes) > OBJECT_CONTROL_BYTES_MAX {
            return Err(ObjectError::Index("the size of the control records"));
        }
        let has_batches = header.batches > 0;
        let index_bytes = header.index_bytes();
        if header.object_bytes > OBJECT_BYTES_MAX
            || header.object_bytes < index_bytes
            || has_batches != (header.object_bytes > index_bytes)
        {
            return Err(ObjectError::Index("the size of the object"));
        }
        if !(1..=NUMBER_MAX).contains(&link.number) || link.id == Id::ROOT {
            return Err(ObjectError::Index("the number or the id"));
        }
        if usize::from(link.in_flight) >= PUTS_IN_FLIGHT_MAX || u64::from(link.in_flight) >= link.number {
            return Err(ObjectError::Index("the number of objects in flight"));
        }
        if header.is_merged && (!has_batches || header.control_bytes > 0 || link.prev != Id::ROOT || link.in_flight > 0)
        {
            return Err(ObjectError::Index("what a merged object doesn't have"));
        }
        Ok(header)
    }
}

impl Index {
    /// Reads the index at the beginning of `bytes` and checks all of it. If there are too few bytes, the error says how
    /// many to read.
    pub fn parse(bytes: &[u8]) -> Result<Index, ObjectError> {
        let header = Header::parse(bytes)?;
        let truncated = ObjectError::Truncated { have: bytes.len() as u64, need: header.index_bytes() };
        let (raw, rest) = RawHeader::read_from_prefix(bytes).map_err(|_| truncated)?;
        let sections = <[RawSection]>::ref_from_prefix_with_elems(rest, header.sections as usize);
        let (sections, rest) = sections.map_err(|_| truncated)?;
        let (entries, rest) =
            <[RawEntry]>::ref_from_prefix_with_elems(rest, header.batches as usize).map_err(|_| truncated)?;
        let controls = rest.get(..header.control_bytes as usize).ok_or(truncated)?;
        let covered = bytes.get(HEADER_BYTES..header.index_bytes() as usize).ok_or(truncated)?;
        if checksum(&raw, covered) != raw.crc32c.get() {
            return Err(ObjectError::Crc);
        }
        let controls = control::read_all(controls)?.into();
        let mut index = Index { header, controls, sections: Vec::new(), batches: Vec::new() };
        index.add_batches(entries)?;
        index.add_sections(sections)?;
        Ok(index)
    }

    fn add_batches(&mut self, entries: &[RawEntry]) -> Result<(), ObjectError> {
        let mut position = self.header.index_bytes();
        self.batches.reserve_exact(entries.len());
        for entry in entries {
            let batch = batch(entry)?;
            self.batches.push((batch, position));
            position += u64::from(batch.bytes);
        }
        if position == self.header.object_bytes { Ok(()) } else { Err(ObjectError::Index("the sizes of the batches")) }
    }

    fn add_sections(&mut self, sections: &[RawSection]) -> Result<(), ObjectError> {
        let mut next = 0;
        self.sections.reserve_exact(sections.len());
        for raw in sections {
            let partition = PartitionId { topic: raw.topic.get(), number: raw.partition.get() };
            let section = Section { partition, first_offset: raw.first_offset.get() };
            let is_merged = self.header.is_merged;
            let follows = |before: &Section| {
                let is_later = before.partition == partition && before.first_offset < section.first_offset;
                before.partition < partition || is_merged && is_later
            };
            if self.sections.last().is_some_and(|(before, _)| !follows(before)) {
                return Err(ObjectError::Index("the order of the sections"));
            }
            if partition.number >= PARTITIONS_MAX {
                return Err(ObjectError::Index("the number of a partition"));
            }
            let range = next..next + raw.batches.get() as usize;
            let batches = self.batches.get(range.clone()).filter(|batches| !batches.is_empty());
            let batches = batches.ok_or(ObjectError::Index("the number of a section's batches"))?;
            if batches.first().is_some_and(|(first, _)| first.continues) {
                return Err(ObjectError::Index("an append that continues in another section"));
            }
            let (mut records, mut of_append, mut sequence) = (0, 0, 0u64);
            for (batch, _) in batches {
                of_append = u64::from(batch.records) + if batch.continues { of_append } else { 0 };
                records += u64::from(batch.records);
                sequence = batch.producer.map_or(if batch.continues { sequence } else { 0 }, |named| named.sequence);
                if sequence.checked_add(of_append).is_none() {
                    return Err(ObjectError::Index("a producer's sequence"));
                }
                if of_append > u64::from(u32::MAX) || section.first_offset.checked_add(records).is_none() {
                    return Err(ObjectError::Index("the number of records"));
                }
            }
            next = range.end;
            self.sections.push((section, range));
        }
        if next == self.batches.len() { Ok(()) } else { Err(ObjectError::Index("batches of no section")) }
    }

    /// The partitions that have batches in the object, each with its batches and their positions in the object.
    pub fn sections(&self) -> impl Iterator<Item = (Section, &[(Batch, u64)])> {
        self.sections.iter().map(|(section, range)| {
            let Some(batches) = self.batches.get(range.clone()) else {
                unreachable!("{section:?} has the batches {range:?} of {}", self.batches.len())
            };
            (*section, batches)
        })
    }

    /// Each section's piece, with the offset after its last record. Those of a merged object have its newest time.
    pub fn pieces(&self) -> impl Iterator<Item = (PartitionId, Piece, u64)> {
        let Header { link, object_bytes, appended_us, sections, .. } = self.header;
        let source = self.header.source();
        self.sections.iter().zip(self.sections()).map(move |((_, range), (section, batches))| {
            let records: u64 = batches.iter().map(|(batch, _)| u64::from(batch.records)).sum();
            let bytes: u64 = batches.iter().map(|(batch, _)| u64::from(batch.bytes)).sum();
            let Some((_, batches_at)) = batches.first() else { unreachable!("{section:?} has no batch") };
            // Positions in an object fit: it has at most `OBJECT_BYTES_MAX` bytes.
            let place = Place {
                source,
                tag: link.id.tag(),
                object_bytes: object_bytes as u32,
                entries_at: index_bytes(sections, range.start as u32, 0) as u32,
                batches: BatchCount::of(batches.iter().map(|(batch, _)| batch.kind)),
                batches_at: *batches_at as u32,
                bytes: bytes as u32,
            };
            let newest = batches.iter().map(|(batch, _)| batch.kind.newest_us(batch.max_timestamp_us, appended_us));
            let newest_us = newest.max().unwrap_or_default();
            let piece = Piece { first_offset: section.first_offset, appended_us, newest_us, place };
            (section.partition, piece, section.first_offset + records)
        })
    }

    /// The control records in the object, in order.
    pub fn controls(&self) -> &[Control] {
        &self.controls
    }

    /// The object's changes if it is valid, for [`State::observe`](crate::State::observe).
    pub fn changes(&self) -> Changes {
        Changes {
            appended_us: self.header.appended_us,
            controls: self.controls.clone(),
            entries: self.entries().into(),
        }
    }

    /// The appends in the object, by partition.
    fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for (Section { partition, first_offset }, batches) in self.sections() {
            let mut next_offset = first_offset;
            for (batch, _) in batches {
                match entries.last_mut() {
                    Some(entry) if batch.continues => {
                        let Content { records, crc32c } = entry.content;
                        let both = entry.producer.map(|_| content_checksum([crc32c, batch.content_crc32c()]));
                        let (records, crc32c) = (records + batch.records, both.unwrap_or_default());
                        entry.content = Content { records, crc32c };
                    }
                    _ => entries.push(Entry {
                        partition,
                        first_offset: next_offset,
                        content: Content {
                            records: batch.records,
                            crc32c: batch.producer.map_or(0, |_| batch.content_crc32c()),
                        },
                        producer: batch.producer,
                        transaction: batch.transaction,
                    }),
                }
                next_offset += u64::from(batch.records);
            }
        }
        entries
    }
}

impl Batch {
    /// Reads entries that lie back to back, such as [`Place::entries`](crate::Place::entries). Their checksum is the
    /// whole index's: [`Index::parse`] checks it.
    pub fn read_all(entries: &[u8]) -> Result<Vec<Batch>, ObjectError> {
        Batch::each(entries)?.collect()
    }

    /// Reads such entries one by one.
    pub fn each(entries: &[u8]) -> Result<impl ExactSizeIterator<Item = Result<Batch, ObjectError>>, ObjectError> {
        let Ok(entries) = <[RawEntry]>::ref_from_bytes(entries) else {
            return Err(ObjectError::Index("the size of its entries"));
        };
        Ok(entries.iter().map(batch))
    }
}

fn batch(raw: &RawEntry) -> Result<Batch, ObjectError> {
    let kind = match raw.kind {
        1 => BatchKind::Rawline,
        2 => BatchKind::Kafka,
        _ => return Err(ObjectError::Index("a kind of batch that this broker doesn't know")),
    };
    let transaction = match raw.flags & !(FLAG_CONTINUES | FLAG_PRODUCER) {
        0 => None,
        FLAG_TRANSACTION => Some(TransactionPart::Records),
        FLAG_COMMIT => Some(TransactionPart::Commit),
        FLAG_ABORT => Some(TransactionPart::Abort),
        _ => return Err(ObjectError::Index("flags that this broker doesn't know")),
    };
    let continues = raw.flags & FLAG_CONTINUES != 0;
    let wraps = kind == BatchKind::Kafka;
    let (id, epoch, sequence) = (raw.producer_id.get(), raw.producer_epoch.get(), raw.sequence.get());
    let producer = (raw.flags & FLAG_PRODUCER != 0).then_some(Producer { id, epoch, sequence, wraps });
    let is_unnamed = (id, epoch, sequence) == (0, 0, 0);
    if producer.is_none() && !is_unnamed || producer.is_some() && continues || wraps && sequence >= SEQUENCES_WRAP_AT {
        return Err(ObjectError::Index("a producer"));
    }
    let batch = Batch {
        kind,
        records: raw.records.get(),
        bytes: raw.bytes.get(),
        crc32c: raw.crc32c.get(),
        continues,
        producer,
        max_timestamp_us: raw.max_timestamp_us.get(),
        transaction,
    };
    let is_marker = transaction.is_some_and(TransactionPart::is_marker);
    if transaction.is_some() && (producer.is_none() || !wraps) || is_marker && batch.records != 1 {
        return Err(ObjectError::Index("a transaction"));
    }
    if batch.records == 0 || batch.bytes == 0 {
        return Err(ObjectError::Index("a batch without records or bytes"));
    }
    Ok(batch)
}
