//! Lays out a journal object around the batches of its appends.

use crate::append::Received;
use bytes::Bytes;
use rawline_batch::BatchMeta;
use rawline_journal::{Batch, BatchKind, Changes, Entry, Link, PartitionId, Section, build_index};
use std::collections::BTreeMap;

/// The parts of an object: its index, then the batches as received. `appends` are those of the entries in `changes`.
pub(super) fn build<'a>(link: Link, changes: &Changes, appends: impl Iterator<Item = &'a Received>) -> Vec<Bytes> {
    let mut sections: BTreeMap<PartitionId, (Section, Vec<Batch>, Vec<&Bytes>)> = BTreeMap::new();
    for (entry, received) in changes.entries.iter().zip(appends) {
        assert_eq!(u64::from(entry.records), received.records(), "{entry:?} of other records");
        let Entry { partition, first_offset, .. } = *entry;
        let section = || (Section { partition, first_offset }, Vec::new(), Vec::new());
        let (_, batches, parts) = sections.entry(partition).or_insert_with(section);
        let described = received.batches.iter().enumerate();
        batches.extend(described.map(|(at, meta)| describe(meta, at, entry)));
        parts.extend(&received.parts);
    }
    let described: Vec<_> = sections.values().map(|(section, batches, _)| (*section, &batches[..])).collect();
    let index = build_index(link, changes.appended_us, &changes.controls, &described);
    let parts = sections.values().flat_map(|(_, _, parts)| parts.iter().map(|part| (*part).clone()));
    std::iter::once(Bytes::from(index)).chain(parts).collect()
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
    }
}
