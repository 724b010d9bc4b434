//! Rewrites pieces of a compacted partition without the records that it no longer needs.
//!
//! The offsets of a piece stay: it has batches for all of them, also where records are missing. Each batch takes the
//! offsets up to its last record; only after the last record of the piece, a batch without records takes the rest. So a
//! header tells whether a batch has a record at an offset or after it.

use super::keys::Keys;
use crate::aborted::AbortedRecords;
use crate::journal::copy::{Made, Read, Wanted, dated};
use crate::limits::{COMPACT_BATCH_BYTES, COMPACT_RAW_BYTES_MAX};
use crate::received::describe_header;
use bytes::Bytes;
use rawline_batch::Limits;
use rawline_batch::record_batch::{
    OFFSETS_MAX, RECORD_BATCH_HEADER_BYTES, Record, RecordBatchBuilder, RecordBatchError, RecordBatchHeader,
    RecordCodec, RecordError, Records, STAMPED_BYTES, stamp, unpack, without_records,
};
use rawline_journal::{Batch, BatchKind};
use std::sync::Arc;
use thiserror::Error;

/// Adjacent pieces of a partition, which become one, and their batches.
pub(super) type Group = Vec<(Wanted, Read)>;

/// Why a partition can't be compacted: its batches have records that can't be read.
#[derive(Debug, Error)]
pub(super) enum RewriteError {
    #[error(transparent)]
    Batch(#[from] RecordBatchError),
    #[error(transparent)]
    Records(#[from] RecordError),
    #[error("the record at offset {offset} fits in no batch")]
    Full { offset: u64 },
}

/// Which records stay.
pub(super) struct Removal {
    /// The newest records of all keys in the part of the partition that is compacted now.
    pub keys: Keys,
    /// Where this part ends. Records from here on stay, and tombstones may be newer than the records that they delete.
    pub end_offset: u64,
    /// Now, in milliseconds since the Unix epoch.
    pub now_ms: i64,
    /// When tombstones that are compacted now for the first time may be removed.
    pub horizon_ms: i64,
    /// Aborted transactions: none of their records stays.
    pub aborted: Arc<AbortedRecords>,
}

/// The result for a record.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Removed,
    Kept,
    /// It is a tombstone, which may be removed from this time on.
    KeptUntil(i64),
}

impl Removal {
    fn fate(&self, header: &RecordBatchHeader, offset: u64, record: &Record<'_>) -> Fate {
        let horizon_ms = header.has_delete_horizon.then_some(header.base_timestamp_ms);
        let Some(key) = record.key else { return Fate::Kept };
        let is_compacted = offset < self.end_offset;
        if self.keys.has_newer(key, offset) {
            return Fate::Removed;
        }
        match (record.value, horizon_ms) {
            (Some(_), _) => Fate::Kept,
            (None, Some(horizon_ms)) if is_compacted && horizon_ms <= self.now_ms => Fate::Removed,
            (None, Some(horizon_ms)) => Fate::KeptUntil(horizon_ms),
            (None, None) if is_compacted => Fate::KeptUntil(self.horizon_ms),
            (None, None) => Fate::Kept,
        }
    }

    /// Whether something changes for a record: it is removed, or its removal is announced.
    fn changes(&self, header: &RecordBatchHeader, offset: u64, record: &Record<'_>) -> bool {
        match self.fate(header, offset, record) {
            Fate::Removed => true,
            Fate::Kept => false,
            Fate::KeptUntil(_) => !header.has_delete_horizon,
        }
    }
}

/// Notes the keys of a group's records from `offset` on, as long as there is room for them. Returns the offset after
/// the last one that was noted.
pub(super) fn note_keys(
    group: &Group,
    offset: u64,
    aborted: &AbortedRecords,
    keys: &mut Keys,
) -> Result<u64, RewriteError> {
    let mut noted_to = offset;
    let mut scratch = Vec::new();
    for (first_offset, batch, bytes) in batches(group) {
        let end_offset = first_offset + u64::from(batch.records);
        if end_offset <= offset {
            continue;
        }
        if batch.kind == BatchKind::Kafka {
            let (header, section) = open(&bytes, &mut scratch)?;
            let section = section.filter(|_| !header.is_control && !aborted.have(&header));
            for record in section.into_iter().flat_map(|section| Records::new(&header, section)) {
                let record = record?;
                let at = first_offset + u64::from(record.offset_delta);
                if at >= offset && record.key.is_some_and(|key| !keys.note(key, at)) {
                    return Ok(at);
                }
            }
        }
        noted_to = end_offset;
    }
    Ok(noted_to)
}

/// A group without the removed records; `None` if it is unchanged.
pub(super) fn rewrite(group: &Group, removal: &Removal) -> Result<Option<Made>, RewriteError> {
    if !changes(group, removal)? {
        return Ok(None);
    }
    let (Some(((partition, first, _), _)), Some(((_, _, next_offset), _))) = (group.first(), group.last()) else {
        unreachable!("a group of no pieces")
    };
    let mut writer = Writer::new(first.first_offset);
    let mut scratch = Vec::new();
    for ((_, piece, _), (of_piece, bytes)) in group {
        for (first_offset, batch, bytes) in batches_of(piece.first_offset, of_piece, bytes) {
            if batch.kind == BatchKind::Rawline {
                writer.copy(first_offset, dated(batch, piece.appended_us), bytes)?;
                continue;
            }
            let (header, section) = open(&bytes, &mut scratch)?;
            if header.is_control {
                // Readers of other pieces may need it: there it ends a transaction of its producer.
                writer.copy(first_offset, *batch, bytes.clone())?;
                continue;
            }
            if removal.aborted.have(&header) {
                continue;
            }
            let Some(section) = section else {
                tracing::warn!(
                    ?partition,
                    first_offset,
                    "a batch whose records can't be read stays as it is; check its producer"
                );
                writer.copy(first_offset, *batch, bytes.clone())?;
                continue;
            };
            for record in Records::new(&header, section) {
                let record = record?;
                let offset = first_offset + u64::from(record.offset_delta);
                match removal.fate(&header, offset, &record) {
                    Fate::Removed => {}
                    Fate::Kept => writer.add(offset, &record, header.codec, None)?,
                    Fate::KeptUntil(horizon_ms) => writer.add(offset, &record, header.codec, Some(horizon_ms))?,
                }
            }
        }
    }
    let appended_us = group.iter().map(|((_, piece, _), _)| piece.appended_us).max().unwrap_or_default();
    let (batches, parts) = writer.end(*next_offset)?;
    let (partition, first_offset, next_offset) = (*partition, first.first_offset, *next_offset);
    Ok(Some(Made { partition, first_offset, next_offset, appended_us, batches, parts }))
}

fn changes(group: &Group, removal: &Removal) -> Result<bool, RewriteError> {
    let mut scratch = Vec::new();
    for (first_offset, batch, bytes) in batches(group) {
        if batch.kind == BatchKind::Rawline {
            continue;
        }
        let (header, section) = open(&bytes, &mut scratch)?;
        if header.is_control {
            continue;
        }
        if removal.aborted.have(&header) {
            return Ok(true);
        }
        for record in section.into_iter().flat_map(|section| Records::new(&header, section)) {
            let record = record?;
            if removal.changes(&header, first_offset + u64::from(record.offset_delta), &record) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The batches of a group, each with its first offset and its bytes.
fn batches(group: &Group) -> impl Iterator<Item = (u64, &Batch, Bytes)> {
    group.iter().flat_map(|((_, piece, _), (batches, bytes))| batches_of(piece.first_offset, batches, bytes))
}

fn batches_of<'a>(
    mut offset: u64,
    batches: &'a [Batch],
    bytes: &'a Bytes,
) -> impl Iterator<Item = (u64, &'a Batch, Bytes)> {
    let mut position = 0;
    batches.iter().map(move |batch| {
        let (first_offset, start) = (offset, position);
        offset += u64::from(batch.records);
        position += batch.bytes as usize;
        (first_offset, batch, bytes.slice(start..position))
    })
}

/// The header of a Kafka batch, and its records, unpacked into `scratch` if they are compressed. `None` stands
/// for records that can't be read: their keys can't be known, so they all stay.
fn open<'a>(batch: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<(RecordBatchHeader, Option<&'a [u8]>), RewriteError> {
    let Some((front, section)) = batch.split_first_chunk::<RECORD_BATCH_HEADER_BYTES>() else {
        unreachable!("{} bytes of a batch that was checked", batch.len())
    };
    let header = RecordBatchHeader::parse_stored(front, &Limits::FORMAT)?;
    let section = unpack(header.codec, section, COMPACT_RAW_BYTES_MAX, scratch).ok();
    Ok((header, section.filter(|section| Records::new(&header, section).all(|record| record.is_ok()))))
}

/// Makes the batches of a piece.
struct Writer {
    batches: Vec<Batch>,
    parts: Vec<Bytes>,
    builder: RecordBatchBuilder,
    codec: RecordCodec,
    /// Of the tombstones in the builder.
    horizon_ms: Option<i64>,
    /// Offset after the last batch.
    next_offset: u64,
    /// Offset after the last record in the builder.
    built_to: u64,
}

impl Writer {
    /// A piece that begins at this offset.
    fn new(first_offset: u64) -> Writer {
        let codec = RecordCodec::None;
        Writer {
            batches: Vec::new(),
            parts: Vec::new(),
            builder: RecordBatchBuilder::new(codec, Limits::FORMAT),
            codec,
            horizon_ms: None,
            next_offset: first_offset,
            built_to: first_offset,
        }
    }

    /// Adds a record; `horizon_ms` if it is a tombstone that may be removed then. A batch has one such time.
    fn add(
        &mut self,
        offset: u64,
        record: &Record<'_>,
        codec: RecordCodec,
        horizon_ms: Option<i64>,
    ) -> Result<(), RewriteError> {
        let is_other = codec != self.codec || record.value.is_none() && horizon_ms != self.horizon_ms;
        if is_other || self.builder.bytes() >= COMPACT_BATCH_BYTES {
            self.begin(codec, horizon_ms)?;
        }
        if self.push(offset, record) {
            return Ok(());
        }
        // Perhaps for its time or its offset, which are too far from those before.
        self.begin(codec, horizon_ms)?;
        self.leave_out(offset, u64::from(OFFSETS_MAX) - 1);
        if self.push(offset, record) { Ok(()) } else { Err(RewriteError::Full { offset }) }
    }

    fn push(&mut self, offset: u64, record: &Record<'_>) -> bool {
        let Record { timestamp_ms, key, value, headers, .. } = *record;
        assert!(offset >= self.built_to, "offset {offset} after {}", self.built_to);
        let Ok(gap) = u32::try_from(offset - self.built_to) else { return false };
        self.builder.skip(gap);
        let is_pushed = self.builder.push(timestamp_ms, key, value, headers).is_ok();
        if is_pushed {
            self.built_to = offset + 1;
        }
        is_pushed
    }

    /// Begins a new batch.
    fn begin(&mut self, codec: RecordCodec, horizon_ms: Option<i64>) -> Result<(), RewriteError> {
        self.finish()?;
        if codec != self.codec {
            self.builder = RecordBatchBuilder::new(codec, Limits::FORMAT);
            self.codec = codec;
        }
        self.horizon_ms = horizon_ms;
        if let Some(horizon_ms) = horizon_ms {
            self.builder.set_delete_horizon(horizon_ms);
        }
        Ok(())
    }

    /// Ends the batch of the records so far.
    fn finish(&mut self) -> Result<(), RewriteError> {
        if !self.builder.is_empty() {
            let batch = self.builder.finish(None)?.to_vec();
            self.put(batch);
            assert_eq!(self.next_offset, self.built_to, "the end of a batch");
        }
        Ok(())
    }

    /// Adds a Kafka batch, whose offset is not set yet.
    fn put(&mut self, mut batch: Vec<u8>) {
        let (front, rest) = batch.split_at_mut(STAMPED_BYTES);
        let batch_bytes = (front.len() + rest.len()) as u32;
        front.copy_from_slice(&stamp(self.next_offset, batch_bytes));
        let header = batch.first_chunk().map(|front| RecordBatchHeader::parse_stored(front, &Limits::FORMAT));
        let Some(Ok(header)) = header else { unreachable!("a batch that was built: {header:?}") };
        self.next_offset += u64::from(header.offsets);
        self.batches.push(describe_header(&header));
        self.parts.push(batch.into());
    }

    /// Adds batches without records until no more than `rest` offsets are left before `offset`.
    fn leave_out(&mut self, offset: u64, rest: u64) {
        assert!(self.builder.is_empty(), "{} records before a gap", self.builder.records());
        while offset - self.next_offset > rest {
            let offsets = (offset - self.next_offset).min(u64::from(OFFSETS_MAX)) as u32;
            self.put(without_records(offsets).to_vec());
        }
        self.built_to = self.next_offset;
    }

    /// Adds a batch unchanged.
    fn copy(&mut self, first_offset: u64, batch: Batch, bytes: Bytes) -> Result<(), RewriteError> {
        self.begin(self.codec, None)?;
        self.leave_out(first_offset, 0);
        self.next_offset += u64::from(batch.records);
        self.built_to = self.next_offset;
        self.batches.push(batch);
        self.parts.push(bytes);
        Ok(())
    }

    /// The batches up to this offset.
    fn end(mut self, next_offset: u64) -> Result<(Vec<Batch>, Vec<Bytes>), RewriteError> {
        self.finish()?;
        self.leave_out(next_offset, 0);
        assert_eq!(self.next_offset, next_offset, "the end of a piece");
        Ok((self.batches, self.parts))
    }
}

#[cfg(test)]
mod tests;
