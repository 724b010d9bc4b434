//! What the tests of journals share.

use rawline_batch::Codec;
use rawline_broker::SystemClock;
use rawline_broker::journal::{Journal, JournalConfig, JournalStore, MergeConfig};
use rawline_journal::{Control, MergeLimits, PartitionId};
pub(crate) use rawline_testkit::batches::received;
use rawline_testkit::batches::{batch, records_of};
use std::sync::Arc;
use std::time::Duration;

/// A journal whose writer waits shortly between two objects.
pub(crate) fn open(store: Arc<dyn JournalStore>, run: u64) -> Journal {
    Journal::open(store, Arc::new(SystemClock), config(run))
}

pub(crate) fn config(run: u64) -> JournalConfig {
    let mut config = JournalConfig::new(run);
    config.limits.batch_wait = Duration::from_millis(20);
    config
}

/// Merges some small objects soon.
pub(crate) fn merging(run: u64) -> JournalConfig {
    let limits = MergeLimits {
        target_bytes: 8_000,
        keep_bytes: 2_000,
        objects_max: 20,
        piece_bytes: 2_000,
        piece_span_us: 3_600_000_000,
    };
    let merge = MergeConfig { limits, look_objects: 5, abandon_after: Duration::from_secs(600) };
    JournalConfig { merge: Some(merge), snapshot_objects: 10, ..config(run) }
}

/// One batch with these records.
pub(crate) fn one(records: &[&str]) -> Vec<u8> {
    let records: Vec<_> = records.iter().map(|record| record.as_bytes().to_vec()).collect();
    batch(Codec::None, &records)
}

pub(crate) fn create(name: &str, partitions: u32) -> Control {
    Control::Create { topic: 0, name: name.into(), partitions, settings: [].into() }
}

/// All records of a partition.
pub(crate) async fn all(journal: &Journal, partition: PartitionId) -> Vec<String> {
    let mut records = Vec::new();
    let offsets = journal.offsets(partition);
    let mut offset = offsets.start;
    while offset < offsets.end {
        let piece = journal.read(partition, offset).await.unwrap().unwrap();
        let skip = (offset - piece.first_offset) as usize;
        let texts = records_of(&piece.batches).into_iter().skip(skip);
        records.extend(texts.map(|record| String::from_utf8(record).unwrap()));
        offset = piece.next_offset;
    }
    assert_eq!(records.len() as u64, offsets.end - offsets.start);
    records
}
