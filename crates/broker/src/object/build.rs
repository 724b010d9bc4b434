//! Builds the index that a piece would have as an object.

use super::entry::Described;
use super::index::checksum;
use super::{BatchEntry, HEADER_BYTES, Header, index_bytes};
use crate::limits::{OBJECT_BATCHES_MAX, OBJECT_BYTES_MAX};
use zerocopy::IntoBytes;

/// The index of an object of these `count` batches: its header, and its bytes.
pub(crate) fn build_index(
    first_offset: u64,
    count: usize,
    batches: impl Iterator<Item = Described>,
) -> (Header, Vec<u8>) {
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
    let next_offset = first_offset.checked_add(u64::from(records));
    assert!(next_offset.is_some(), "{records} records from offset {first_offset} on");
    let mut header = Header { first_offset, records, batches: count as u32, object_bytes: position, crc32c: 0 };
    let (front, entries) = index.split_at_mut(HEADER_BYTES);
    header.crc32c = checksum(&header.encode(), entries);
    front.copy_from_slice(&header.encode());
    (header, index)
}
