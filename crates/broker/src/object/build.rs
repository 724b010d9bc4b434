//! Lays out an object around the batches that were received.

use super::entry::Described;
use super::index::checksum;
use super::{BatchEntry, HEADER_BYTES, Header, OBJECT_ALIGNMENT, index_bytes};
use crate::limits::{OBJECT_BATCHES_MAX, OBJECT_BYTES_MAX};
use bytes::Bytes;
use rawline_batch::BatchMeta;
use zerocopy::IntoBytes;

/// The fields of a header that the broker decides; the others follow from the batches.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    /// Offset of the first record.
    pub first_offset: u64,
    /// Time of the append, microseconds since the Unix epoch.
    pub appended_us: u64,
    /// The broker's run.
    pub writer_id: u64,
    /// Number of the commit in that run.
    pub commit: u64,
    /// Exclusive end of the topic's records that the store has confirmed; at most `first_offset`. A directory's
    /// recovery uses it to tell a write that a crash interrupted from an acknowledged object that the disk lost.
    pub confirmed_next_offset: Option<u64>,
}

/// An object ready to be stored: its header and its bytes in pieces, first the index, then the batches as received.
#[derive(Debug, Clone)]
pub struct Object {
    /// The header, which the first piece contains.
    pub header: Header,
    /// The object's bytes. Cheap to clone, for retries.
    pub parts: Vec<Bytes>,
}

impl Object {
    /// Puts an index before `batches`, whose bytes are `parts`, in order.
    ///
    /// The caller keeps an object within [`OBJECT_BATCHES_MAX`] and [`OBJECT_BYTES_MAX`]; `batches` is not empty.
    pub fn build(stamp: Stamp, batches: impl Iterator<Item = BatchMeta> + Clone, parts: &[Bytes]) -> Object {
        let (header, index) = build_index(stamp, batches.clone().count(), batches.map(Described::from));
        let mut all = Vec::with_capacity(parts.len() + 1);
        all.push(Bytes::from(index));
        all.extend_from_slice(parts);
        let bytes: u64 = all.iter().map(|part| part.len() as u64).sum();
        assert_eq!(bytes, header.object_bytes, "the parts of an object at offset {} don't add up", stamp.first_offset);
        assert!(bytes.is_multiple_of(OBJECT_ALIGNMENT as u64), "an object of {bytes} bytes is not aligned");
        Object { header, parts: all }
    }
}

/// The index of an object of these `count` batches: its header, and its bytes.
pub(crate) fn build_index(stamp: Stamp, count: usize, batches: impl Iterator<Item = Described>) -> (Header, Vec<u8>) {
    assert!((1..=OBJECT_BATCHES_MAX).contains(&count), "{count} batches in one object");
    let mut index = Vec::with_capacity(index_bytes(count));
    index.resize(HEADER_BYTES, 0);
    let mut records = 0u32;
    let mut position = index_bytes(count) as u64;
    for batch in batches {
        let entry = BatchEntry::new(batch, records, position);
        index.extend_from_slice(entry.as_bytes());
        records += entry.records();
        position = entry.range().end;
    }
    assert_eq!(index.len(), index_bytes(count), "the index of {count} batches");
    assert!(position <= OBJECT_BYTES_MAX, "an object of {position} bytes");
    let next_offset = stamp.first_offset.checked_add(u64::from(records));
    assert!(next_offset.is_some(), "{records} records from offset {} on", stamp.first_offset);
    let mut header = Header {
        first_offset: stamp.first_offset,
        records,
        batches: count as u32,
        object_bytes: position,
        appended_us: stamp.appended_us,
        writer_id: stamp.writer_id,
        commit: stamp.commit,
        confirmed_next_offset: stamp.confirmed_next_offset,
        crc32c: 0,
    };
    let (front, entries) = index.split_at_mut(HEADER_BYTES);
    header.crc32c = checksum(&header.encode(), entries);
    front.copy_from_slice(&header.encode());
    (header, index)
}
