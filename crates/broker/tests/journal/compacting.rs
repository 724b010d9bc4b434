//! Compaction by key on every store: what a reader that keeps the newest value of each key knows is the same, offsets
//! stay, and a crash at any time loses nothing.

use crate::bucket::store;
use crate::support::{config, merging};
use fastrand::Rng;
use rawline_batch::Limits;
use rawline_batch::record_batch::{RecordBatchHeader, RecordCodec, Records, STAMPED_BYTES, check_stored, unpack};
use rawline_broker::journal::{CompactLimits, Journal, JournalConfig, MergeConfig};
use rawline_broker::store::MemoryStore;
use rawline_broker::store::disk::{self, Durability, Options};
use rawline_broker::{Clock, SystemClock};
use rawline_journal::{Control, MergeLimits, PartitionId};
use rawline_testkit::batches::{keyed_batch, received_record_batches};
use rawline_testkit::s3_server::bucket;
use rawline_testkit::unreadable;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

pub(crate) type Keyed = (Vec<u8>, Option<Vec<u8>>);

/// What was appended, by offset.
#[derive(Default)]
pub(crate) struct Appended {
    pub(crate) records: BTreeMap<u64, Keyed>,
}

/// Merges and compacts soon, with memory for few keys.
pub(crate) fn compacting(config: JournalConfig) -> JournalConfig {
    let merge = config.merge.clone().unwrap();
    let limits = MergeLimits { piece_bytes: 3_000, ..merge.limits };
    let compact = CompactLimits { dirty_bytes_min: 2_000, keys_max: 15 };
    JournalConfig { merge: Some(MergeConfig { limits, look_objects: 5, compact, wait: None, ..merge }), ..config }
}

pub(crate) async fn create(journal: &Journal, settings: &str) -> PartitionId {
    let control = Control::Create { topic: 0, name: "t".into(), partitions: 1, settings: settings.as_bytes().into() };
    PartitionId { topic: journal.change(control).await.unwrap(), number: 0 }
}

impl Appended {
    pub(crate) async fn append(&mut self, journal: &Journal, partition: PartitionId, random: &mut Rng) {
        let codecs = [RecordCodec::None, RecordCodec::Gzip, RecordCodec::Snappy, RecordCodec::Lz4, RecordCodec::Zstd];
        let value = |random: &mut Rng| (random.u8(..8) > 0).then(|| random.u64(..).to_string().repeat(3).into_bytes());
        let records: Vec<Keyed> =
            (0..random.usize(1..8)).map(|_| (random.u8(..25).to_string().into_bytes(), value(random))).collect();
        let batch = keyed_batch(random.choice(codecs).unwrap(), &records);
        let appended = journal.append(partition, None, received_record_batches(&batch)).await.unwrap();
        self.records.extend((appended.first_offset..).zip(records));
    }

    /// Checks what the partition has, and returns the number of its records.
    async fn check(&self, journal: &Journal, partition: PartitionId) -> usize {
        let kept = kept(journal, partition).await;
        assert_eq!(folded(&kept), folded(&self.records));
        let mut newest: BTreeMap<&[u8], u64> = BTreeMap::new();
        for (offset, (key, _)) in &self.records {
            newest.insert(key, *offset);
        }
        for (offset, found) in &self.records {
            match kept.get(offset) {
                Some(same) => assert_eq!(same, found),
                None => assert!(newest[&found.0[..]] > *offset || found.1.is_none(), "the record at {offset} is gone"),
            }
        }
        assert_eq!(kept.last_key_value(), self.records.last_key_value(), "the last record stays");
        kept.len()
    }
}

/// The records of a partition, by offset. Its batches have all offsets.
pub(crate) async fn kept(journal: &Journal, partition: PartitionId) -> BTreeMap<u64, Keyed> {
    let offsets = journal.offsets(partition);
    let (mut kept, mut offset) = (BTreeMap::new(), offsets.start);
    while offset < offsets.end {
        let piece = journal.read(partition, offset).await.unwrap().unwrap();
        let (mut at, mut left) = (piece.first_offset, &piece.batches[..]);
        while !left.is_empty() {
            let header = RecordBatchHeader::parse_stored(left.first_chunk().unwrap(), &Limits::FORMAT).unwrap();
            let (batch, rest) = left.split_at(header.batch_bytes as usize);
            check_stored(batch, at).unwrap();
            let mut unpacked = Vec::new();
            let section = unpack(header.codec, &batch[61..], 1 << 20, &mut unpacked);
            let records = section.and_then(|section| Records::new(&header, section).collect::<Result<Vec<_>, _>>());
            // Some are sent so that they can't be read.
            for record in records.unwrap_or_default() {
                let found = (record.key.unwrap().to_vec(), record.value.map(<[u8]>::to_vec));
                kept.insert(at + u64::from(record.offset_delta), found);
            }
            at += u64::from(header.offsets);
            left = rest;
        }
        assert_eq!(at, piece.next_offset);
        offset = at;
    }
    kept
}

pub(crate) fn folded(records: &BTreeMap<u64, Keyed>) -> BTreeMap<&[u8], &[u8]> {
    let mut values = BTreeMap::new();
    for (key, value) in records.values() {
        match value {
            Some(value) => drop(values.insert(&key[..], &value[..])),
            None => drop(values.remove(&key[..])),
        }
    }
    values
}

/// Appends until most of the records are gone.
async fn until_compacted(journal: &Journal, partition: PartitionId, appended: &mut Appended, random: &mut Rng) {
    let give_up = Instant::now() + Duration::from_secs(100_000);
    for round in 0.. {
        appended.append(journal, partition, random).await;
        sleep(Duration::from_millis(5)).await;
        if round % 50 == 49 && appended.check(journal, partition).await * 3 < appended.records.len() {
            return;
        }
        assert!(round < 5_000 && Instant::now() < give_up, "nothing is compacted");
    }
}

/// The runtime's time.
struct Virtual(Instant);

impl Clock for Virtual {
    fn now_us(&self) -> u64 {
        1_000_000_000_000 + self.0.elapsed().as_micros() as u64
    }
}

pub(crate) const COMPACT: &str = r#"{"cleanup_policy":"compact"}"#;

#[tokio::test(start_paused = true)]
async fn a_partition_keeps_the_newest_record_of_each_key_and_its_offsets() {
    let clock = Arc::new(Virtual(Instant::now()));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let journal = Journal::open(store, clock, compacting(merging(1)));
    let partition = create(&journal, COMPACT).await;
    let (mut appended, mut random) = (Appended::default(), Rng::with_seed(1));
    until_compacted(&journal, partition, &mut appended, &mut random).await;
    let tombstones = |kept: &BTreeMap<u64, Keyed>| kept.values().filter(|(_, value)| value.is_none()).count();
    assert!(tombstones(&kept(&journal, partition).await) > 0, "tombstones stay for a day");
    // Those of now, with few others after them.
    let old: Vec<u64> = kept(&journal, partition)
        .await
        .into_iter()
        .filter(|(_, record)| record.1.is_none())
        .map(|(offset, _)| offset)
        .collect();
    sleep(Duration::from_secs(90_000)).await;
    for _ in 0..3 {
        until_compacted(&journal, partition, &mut appended, &mut random).await;
    }
    let left = kept(&journal, partition).await;
    assert!(old.iter().all(|offset| !left.contains_key(offset)), "tombstones go after a day");
}

/// They stay as they are, and are passed over: the topic may have had another policy when they arrived.
#[tokio::test(start_paused = true)]
async fn batches_that_cannot_be_read_do_not_stop_the_compaction() {
    let clock = Arc::new(Virtual(Instant::now()));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let journal = Journal::open(store, clock, compacting(merging(1)));
    let partition = create(&journal, COMPACT).await;
    let (mut appended, mut random) = (Appended::default(), Rng::with_seed(4));
    let mut sent = Vec::new();
    for (_, batch) in unreadable::compressed() {
        appended.append(&journal, partition, &mut random).await;
        let found = journal.append(partition, None, received_record_batches(&batch)).await.unwrap();
        sent.push((found.first_offset, batch));
    }
    until_compacted(&journal, partition, &mut appended, &mut random).await;
    for (offset, batch) in sent {
        let piece = journal.read(partition, offset).await.unwrap().unwrap();
        let is_there = piece.batches.windows(batch.len()).any(|found| found[STAMPED_BYTES..] == batch[STAMPED_BYTES..]);
        assert!(is_there, "the batch at {offset}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_is_not_compacted_keeps_all_records() {
    let clock = Arc::new(Virtual(Instant::now()));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let journal = Journal::open(store, clock, compacting(merging(1)));
    let partition = create(&journal, r#"{"cleanup_policy":"delete"}"#).await;
    let (mut appended, mut random) = (Appended::default(), Rng::with_seed(2));
    for _ in 0..300 {
        appended.append(&journal, partition, &mut random).await;
    }
    sleep(Duration::from_secs(100)).await;
    assert_eq!(appended.check(&journal, partition).await, appended.records.len());
}

#[tokio::test]
async fn a_bucket_is_compacted() {
    let bucket = bucket().await;
    let store = store(&bucket).await;
    let journal = Journal::open(store.clone(), Arc::new(SystemClock), compacting(merging(1)));
    let partition = create(&journal, COMPACT).await;
    let (mut appended, mut random) = (Appended::default(), Rng::with_seed(3));
    until_compacted(&journal, partition, &mut appended, &mut random).await;
    drop(journal);
    let again = Journal::open(store, Arc::new(SystemClock), config(2));
    again.ready().await.unwrap();
    appended.check(&again, partition).await;
}

/// The process dies again and again, also while it compacts, and in every fourth run after it has.
#[tokio::test]
async fn a_directory_survives_crashes_while_it_is_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let (mut appended, mut random) = (Appended::default(), Rng::with_seed(4));
    let options = Options { durability: Durability::PageCache, segment_bytes: 64 << 10 };
    let mut partition = None;
    let mut fewest = usize::MAX;
    for run in 1..12 {
        let store = loop {
            // The task of the run before may still hold the directory.
            match disk::open_with(dir.path(), options) {
                Ok(store) => break store,
                Err(error) => assert!(error.message.contains("in use"), "{error}"),
            }
            sleep(Duration::from_millis(1)).await;
        };
        let store = store.journal().clone();
        let mut settings = compacting(store.settings(merging(run)));
        settings.limits.batch_wait = Duration::ZERO;
        let (journal, task) = Journal::new(store, Arc::new(SystemClock), settings);
        #[expect(clippy::disallowed_methods, reason = "it is aborted, where a process would have died")]
        let task = tokio::spawn(task);
        journal.ready().await.unwrap();
        let at = match partition {
            Some(at) => at,
            None => create(&journal, COMPACT).await,
        };
        partition = Some(at);
        if run > 1 {
            fewest = fewest.min(appended.check(&journal, at).await * 100 / appended.records.len());
        }
        for _ in 0..random.usize(60..150) {
            appended.append(&journal, at, &mut random).await;
            sleep(Duration::from_millis(2)).await;
        }
        if run % 4 == 0 {
            until_compacted(&journal, at, &mut appended, &mut random).await;
        }
        task.abort();
        let _ = task.await;
    }
    assert!(fewest < 60, "{fewest} % of the records are left at best: what was compacted is back after a crash");
}
