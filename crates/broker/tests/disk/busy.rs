//! Many busy partitions, each with few and small records, in the journal of a directory.

use crate::journal::options;
use futures_util::future::join_all;
use rawline_batch::Codec;
use rawline_broker::SystemClock;
use rawline_broker::journal::{Journal, JournalConfig, MergeConfig};
use rawline_broker::store::disk::{self, Durability};
use rawline_journal::{Control, MERGED_PIECES_MAX, MergeLimits, PARTITIONS_MAX, PartitionId};
use rawline_testkit::batches::{batch, received, records_of};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The blocks of all files, in bytes.
fn disk_bytes(dir: &Path) -> u64 {
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => disk_bytes(&entry.path()),
        // One that was deleted meanwhile takes none.
        found => found.map_or(0, |found| found.blocks() * 512),
    };
    fs::read_dir(dir).unwrap().map(|entry| of(entry.unwrap())).sum()
}

/// A merged object can't have pieces of all partitions.
#[tokio::test]
async fn small_records_of_thousands_of_partitions_are_joined_and_take_up_little_more_than_their_bytes() {
    const TOPICS: u32 = 8;
    const ROUNDS: u64 = 6;
    const SEGMENT_BYTES: u64 = 4 << 20;
    const { assert!(TOPICS as usize * PARTITIONS_MAX as usize > MERGED_PIECES_MAX) };
    let dir = tempfile::tempdir().unwrap();
    let store = disk::open_with(dir.path(), options(Durability::PageCache, SEGMENT_BYTES)).unwrap();
    let journal = store.journal().clone();
    let settings = journal.settings(JournalConfig::new(5));
    let merge = settings.merge.clone().unwrap();
    let limits = MergeLimits { objects_max: 100, ..merge.limits };
    let merge = Some(MergeConfig { limits, look_objects: 20, wait: None, ..merge });
    let interval = Duration::from_millis(50);
    let settings = JournalConfig { snapshot_interval: interval, garbage_interval: interval, merge, ..settings };
    let journal = Journal::open(journal, Arc::new(SystemClock), settings);
    let mut partitions = Vec::new();
    for number in 0..TOPICS {
        let name = number.to_string().into();
        let create = Control::Create { topic: 0, name, partitions: PARTITIONS_MAX, settings: [].into() };
        let topic = journal.change(create).await.unwrap();
        partitions.extend((0..PARTITIONS_MAX).map(|number| PartitionId { topic, number }));
    }
    let record = |round: u64| vec![round as u8; 100];
    let mut batches_bytes = 0;
    for round in 0..ROUNDS {
        let batch = batch(Codec::None, &[record(round)]);
        batches_bytes += (batch.len() * partitions.len()) as u64;
        let append = |partition: &PartitionId| journal.append(*partition, None, received(&batch));
        for appended in join_all(partitions.iter().map(append)).await {
            assert_eq!(appended.unwrap().first_offset, round);
        }
    }
    let (first, last) = (partitions[0], partitions[partitions.len() - 1]);
    let piece = async |partition, offset| journal.read(partition, offset).await.unwrap().unwrap();
    // Merging and deleting end some time; snapshots, by which files are deleted, are of new objects.
    while piece(last, 0).await.next_offset == 1 || disk_bytes(dir.path()) > batches_bytes * 3 / 2 + 2 * SEGMENT_BYTES {
        journal.append(first, None, received(&batch(Codec::None, &[record(0)]))).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for partition in partitions.iter().skip(1).step_by(777) {
        let piece = piece(*partition, 0).await;
        assert!(piece.next_offset >= ROUNDS / 2, "{} records are joined", piece.next_offset);
        assert!(records_of(&piece.batches).into_iter().eq((0..piece.next_offset).map(record)));
    }
}
