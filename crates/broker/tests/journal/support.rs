//! What the tests of journals share.

use rawline_batch::Codec;
use rawline_broker::SystemClock;
use rawline_broker::journal::{Journal, JournalConfig, MergeConfig};
use rawline_broker::store::Store;
use rawline_broker::store::cache::Cache;
use rawline_journal::{Control, MergeLimits, PartitionId};
pub(crate) use rawline_testkit::batches::received;
use rawline_testkit::batches::{batch, records_of};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Size of a cache.
pub(crate) const CACHE_BYTES: u64 = 1 << 20;

/// A journal whose writer waits shortly between two objects.
pub(crate) fn open(store: Arc<dyn Store>, run: u64) -> Journal {
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
        keep_piece_bytes: u64::MAX,
        shares_files: false,
        objects_max: 20,
        piece_bytes: 2_000,
        piece_span_us: 3_600_000_000,
    };
    let merge = MergeConfig { limits, look_objects: 5, ..MergeConfig::default() };
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

/// A record that is long enough for a few to be worth a merge.
fn long(topic: u64, n: usize) -> String {
    format!("record {n} of {topic} {}", "-".repeat(n % 300))
}

/// Appends to each topic, one record after the other.
pub(crate) async fn fill(journal: &Journal, topics: &[u64], records: std::ops::Range<usize>) {
    for n in records {
        let appends = topics.iter().map(|&topic| async move {
            let partition = PartitionId { topic, number: 0 };
            journal.append(partition, None, received(&one(&[&long(topic, n)]))).await.unwrap();
        });
        futures_util::future::join_all(appends).await;
    }
}

/// Checks that the topics have these records.
pub(crate) async fn assert_all(journal: &Journal, topics: &[u64], records: usize) {
    for &topic in topics {
        let found = all(journal, PartitionId { topic, number: 0 }).await;
        assert_eq!(found, (0..records).map(|n| long(topic, n)).collect::<Vec<_>>());
    }
}

pub(crate) async fn three_topics(journal: &Journal) -> Vec<u64> {
    let mut topics = Vec::new();
    for name in ["conn", "dns", "http"] {
        topics.push(journal.change(create(name, 1)).await.unwrap());
    }
    topics
}

/// Flips a bit in each copy that a closed journal has left in this cache, and returns their number.
pub(crate) async fn damage_copies(cache_dir: &Path) -> usize {
    // Copies are written after an append has its response. Their writer holds the cache.
    while Cache::open(cache_dir, CACHE_BYTES).is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let copies = fs::read_dir(cache_dir.join("objects/.journal")).unwrap().map(|file| file.unwrap().path());
    let mut damaged = 0;
    for copy in copies {
        let mut bytes = fs::read(&copy).unwrap();
        let last = bytes.len() - 1;
        // In the header, in the index, in the last batch.
        bytes[[40, 130, last][damaged % 3]] ^= 1;
        fs::write(&copy, bytes).unwrap();
        damaged += 1;
    }
    damaged
}
