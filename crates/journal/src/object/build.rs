//! Builds the index of a journal object, or of a merged one.

use super::raw::{
    FLAG_ABORT, FLAG_COMMIT, FLAG_CONTINUES, FLAG_PRODUCER, FLAG_TRANSACTION, HEADER_BYTES, MAGIC, MERGED_MAGIC,
    RawEntry, RawHeader, RawSection, VERSION,
};
use super::raw::{checksum, index_bytes};
use super::{Batch, BatchKind, Section, control, control_bytes};
use crate::chain::{Id, Link};
use crate::control::Control;
use crate::limits::{OBJECT_APPENDS_MAX, OBJECT_BYTES_MAX, OBJECT_CONTROL_BYTES_MAX};
use crate::transactions::TransactionPart;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

/// The index of an object with these control records, and with these batches by partition, which follow it in the same
/// order. The caller keeps to [`OBJECT_APPENDS_MAX`] batches and to [`OBJECT_BYTES_MAX`].
pub fn build_index(link: Link, appended_us: u64, controls: &[Control], partitions: &[(Section, &[Batch])]) -> Vec<u8> {
    let in_order = partitions.is_sorted_by(|(one, _), (next, _)| one.partition < next.partition);
    assert!(in_order, "partitions of journal object {} are not in order", link.number);
    build(MAGIC, link, appended_us, controls, partitions)
}

/// The index of a merged object with these pieces, each a section, whose batches follow it in the same order. The
/// caller keeps to the same limits.
pub fn build_merged_index(merge: u64, id: Id, appended_us: u64, pieces: &[(Section, &[Batch])]) -> Vec<u8> {
    let key = |section: &Section| (section.partition, section.first_offset);
    let in_order = pieces.is_sorted_by(|(one, _), (next, _)| key(one) < key(next));
    assert!(in_order && !pieces.is_empty(), "the {} pieces of merge {merge} are not in order", pieces.len());
    let link = Link { number: merge, id, prev: Id::ROOT, in_flight: 0 };
    build(MERGED_MAGIC, link, appended_us, &[], pieces)
}

fn build(
    magic: [u8; 4],
    link: Link,
    appended_us: u64,
    controls: &[Control],
    partitions: &[(Section, &[Batch])],
) -> Vec<u8> {
    let batches: usize = partitions.iter().map(|(_, batches)| batches.len()).sum();
    assert!(batches <= OBJECT_APPENDS_MAX, "{batches} batches in object {}", link.number);
    let (sections, batches) = (partitions.len() as u32, batches as u32);
    let bytes = partitions.iter().flat_map(|(_, batches)| *batches).map(|batch| u64::from(batch.bytes)).sum::<u64>();
    let control_bytes: u64 = controls.iter().map(control_bytes).sum();
    assert!(control_bytes <= OBJECT_CONTROL_BYTES_MAX, "{control_bytes} bytes of control records");
    let index_bytes = index_bytes(sections, batches, control_bytes);
    let object_bytes = index_bytes + bytes;
    assert!(object_bytes <= OBJECT_BYTES_MAX, "object {} has {object_bytes} bytes", link.number);
    let mut header = RawHeader {
        magic,
        version: VERSION,
        in_flight: link.in_flight,
        zero: [0; 2],
        number: U64::new(link.number),
        id_run: U64::new(link.id.run),
        id_commit: U64::new(link.id.commit),
        prev_run: U64::new(link.prev.run),
        prev_commit: U64::new(link.prev.commit),
        object_bytes: U64::new(object_bytes),
        appended_us: U64::new(appended_us),
        sections: U32::new(sections),
        batches: U32::new(batches),
        control_bytes: U32::new(control_bytes as u32),
        crc32c: U32::new(0),
    };
    let mut index = Vec::with_capacity(index_bytes as usize);
    index.extend_from_slice(header.as_bytes());
    for (section, batches) in partitions {
        index.extend_from_slice(raw_section(section, batches).as_bytes());
    }
    for (_, batches) in partitions {
        batches.iter().for_each(|batch| index.extend_from_slice(raw_entry(batch).as_bytes()));
    }
    controls.iter().for_each(|control| control::write(control, &mut index));
    assert_eq!(index.len() as u64, index_bytes, "the index of object {}", link.number);
    let (front, rest) = index.split_at_mut(HEADER_BYTES);
    header.crc32c = U32::new(checksum(&header, rest));
    front.copy_from_slice(header.as_bytes());
    index
}

fn raw_section(section: &Section, batches: &[Batch]) -> RawSection {
    assert!(batches.first().is_some_and(|first| !first.continues), "{section:?} begins in the middle of an append");
    let records: u64 = batches.iter().map(|batch| u64::from(batch.records)).sum();
    let next_offset = section.first_offset.checked_add(records);
    assert!(next_offset.is_some(), "{section:?} has {records} records");
    RawSection {
        topic: U64::new(section.partition.topic),
        first_offset: U64::new(section.first_offset),
        partition: U32::new(section.partition.number),
        batches: U32::new(batches.len() as u32),
    }
}

fn raw_entry(batch: &Batch) -> RawEntry {
    assert!(batch.records > 0 && batch.bytes > 0, "{batch:?}");
    assert!(batch.producer.is_none() || !batch.continues, "{batch:?} names its producer again");
    let can_wrap = batch.kind == BatchKind::Kafka;
    assert!(batch.producer.is_none_or(|producer| producer.wraps == can_wrap), "the numbers of {batch:?}");
    let continues = if batch.continues { FLAG_CONTINUES } else { 0 };
    let producer = if batch.producer.is_some() { FLAG_PRODUCER } else { 0 };
    let transaction = match batch.transaction {
        None => 0,
        Some(TransactionPart::Records) => FLAG_TRANSACTION,
        Some(TransactionPart::Commit) => FLAG_COMMIT,
        Some(TransactionPart::Abort) => FLAG_ABORT,
    };
    assert!(
        transaction == 0 || batch.producer.is_some() && can_wrap,
        "{batch:?} is in a transaction without a producer"
    );
    RawEntry {
        records: U32::new(batch.records),
        bytes: U32::new(batch.bytes),
        crc32c: U32::new(batch.crc32c),
        kind: batch.kind as u8,
        flags: continues | producer | transaction,
        producer_epoch: U16::new(batch.producer.map_or(0, |producer| producer.epoch)),
        producer_id: U64::new(batch.producer.map_or(0, |producer| producer.id)),
        sequence: U64::new(batch.producer.map_or(0, |producer| producer.sequence)),
        max_timestamp_us: U64::new(batch.max_timestamp_us),
    }
}
