//! Lays out a journal object around the batches of its appends.

use crate::pool::take_front;
use crate::received::{Checked, Received, describe_header};
use bytes::Bytes;
use rawline_batch::BatchMeta;
use rawline_batch::Limits;
use rawline_batch::record_batch::{
    CheckedRecordBatch, MARKER_BYTES, RecordBatchHeader, STAMPED_BYTES, end_marker, stamp,
};
use rawline_journal::{Batch, BatchKind, Changes, Entry, Link, PartitionId, Section, TransactionPart, build_index};
use std::collections::{BTreeMap, VecDeque};

/// The parts of an object: its index, then the batches as received. `appends` are those of the entries in `changes`;
/// markers are made here.
pub(super) fn build<'a>(link: Link, changes: &Changes, mut appends: impl Iterator<Item = &'a Received>) -> Vec<Bytes> {
    let mut sections: BTreeMap<PartitionId, (Section, Vec<Batch>, Vec<Bytes>)> = BTreeMap::new();
    for entry in &*changes.entries {
        let Entry { partition, first_offset, .. } = *entry;
        let section = || (Section { partition, first_offset }, Vec::new(), Vec::new());
        let (_, batches, parts) = sections.entry(partition).or_insert_with(section);
        if entry.is_marker() {
            let marker = marker(entry, changes.appended_us);
            batches.push(describe_marker(&marker, entry));
            parts.push(Bytes::copy_from_slice(&marker));
            continue;
        }
        let Some(received) = appends.next() else { unreachable!("{entry:?} of no append") };
        let content = received.content(entry.producer.is_some());
        assert_eq!(entry.content, content, "{entry:?} of another append");
        match &received.batches {
            Checked::Rawline(checked) => {
                batches.extend(checked.iter().enumerate().map(|(at, meta)| describe(meta, at, entry)));
                parts.extend_from_slice(&received.parts);
            }
            Checked::Kafka(checked) => {
                batches.extend(checked.iter().enumerate().map(|(at, batch)| describe_kafka(batch, at, entry)));
                add_stamped(checked, &received.parts, first_offset, parts);
            }
        }
    }
    let described: Vec<_> = sections.values().map(|(section, batches, _)| (*section, &batches[..])).collect();
    let index = build_index(link, changes.appended_us, &changes.controls, &described);
    std::iter::once(Bytes::from(index)).chain(sections.into_values().flat_map(|(_, _, parts)| parts)).collect()
}

fn describe(meta: &BatchMeta, at: usize, entry: &Entry) -> Batch {
    Batch {
        kind: BatchKind::Rawline,
        records: meta.records,
        bytes: meta.bytes,
        crc32c: meta.crc32c,
        continues: at > 0,
        producer: entry.producer.filter(|_| at == 0),
        max_timestamp_us: 0,
        transaction: None,
    }
}

fn describe_kafka(CheckedRecordBatch { header, .. }: &CheckedRecordBatch, at: usize, entry: &Entry) -> Batch {
    let transaction = entry.transaction;
    assert!(transaction.is_none() || at == 0, "{entry:?} in several batches");
    Batch { continues: at > 0, producer: entry.producer.filter(|_| at == 0), transaction, ..describe_header(header) }
}

/// The marker of a transaction's end, with its offset. Built again, it is the same.
fn marker(entry: &Entry, appended_us: u64) -> [u8; MARKER_BYTES] {
    let Some(producer) = entry.producer else { unreachable!("{entry:?} has no producer") };
    let is_committed = entry.transaction == Some(TransactionPart::Commit);
    let mut marker = end_marker(producer.id, producer.epoch, is_committed, (appended_us / 1000) as i64);
    let (front, _) = marker.split_at_mut(STAMPED_BYTES);
    front.copy_from_slice(&stamp(entry.first_offset, MARKER_BYTES as u32));
    marker
}

fn describe_marker(marker: &[u8; MARKER_BYTES], entry: &Entry) -> Batch {
    let header = marker.first_chunk().map(|front| RecordBatchHeader::parse_stored(front, &Limits::FORMAT));
    let Some(Ok(header)) = header else { unreachable!("a marker that was built: {header:?}") };
    Batch { producer: entry.producer, transaction: entry.transaction, ..describe_header(&header) }
}

/// Adds the batches in `received`, with the offset of each in it. Received bytes aren't changed: the batches
/// get another front, and if they are built again, another one.
fn add_stamped(batches: &[CheckedRecordBatch], received: &[Bytes], mut offset: u64, parts: &mut Vec<Bytes>) {
    let mut stamps = Vec::with_capacity(batches.len() * STAMPED_BYTES);
    for CheckedRecordBatch { header, .. } in batches {
        stamps.extend_from_slice(&stamp(offset, header.batch_bytes));
        offset += u64::from(header.records);
    }
    let mut stamps = Bytes::from(stamps);
    let mut left: VecDeque<Bytes> = received.iter().cloned().collect();
    for CheckedRecordBatch { header, .. } in batches {
        let at = parts.len();
        take_front(&mut left, STAMPED_BYTES, parts);
        parts.truncate(at);
        parts.push(stamps.split_to(STAMPED_BYTES));
        take_front(&mut left, header.batch_bytes as usize - STAMPED_BYTES, parts);
    }
    assert!(left.is_empty(), "{} parts of no batch", left.len());
}
