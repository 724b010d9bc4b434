//! Deleting records frees the disk without an append, also where others share their segments and on a full disk.

use crate::journal::options;
use crate::support::files;
use futures_util::future::join;
use rawline_batch::Codec;
use rawline_broker::journal::{Journal, JournalConfig, JournalError};
use rawline_broker::metrics::{METRICS, Text};
use rawline_broker::store::Storage;
use rawline_broker::store::disk::{self, Durability};
use rawline_broker::{Broker, Config, Kind, SystemClock};
use rawline_journal::{Control, PartitionId, Source};
use rawline_testkit::batches::{batch, received, records_of};
use rawline_testkit::child::{assert_passes, child, child_dir, fill_a_disk};
use serde_json::json;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Size of a record of the large topic, with its batch about as many on the disk.
const LARGE: usize = 20_000;

/// How many records of the large topic are appended for each of the small one.
const LARGE_PER_SMALL: u64 = 10;

/// What the test waits for at most. It takes a few looks, fifty a second, and a pause before a merge.
const PATIENCE: Duration = Duration::from_secs(60);

/// What deletes the records.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Delete,
    /// Its oldest records, nearly all of them, as retention does.
    Trim,
}

#[derive(Clone, Copy)]
struct Case {
    segment_bytes: u64,
    /// Bytes of the large topic; where the disk becomes full before, until it is.
    bytes: u64,
    by: By,
    /// Whether records of both topics are in the same objects.
    shares_objects: bool,
    restarts: bool,
}

const ONE_SEGMENT: Case =
    Case { segment_bytes: 64 << 20, bytes: 16 << 20, by: By::Delete, shares_objects: false, restarts: false };

const MANY_SEGMENTS: Case = Case { segment_bytes: 256 << 10, ..ONE_SEGMENT };

/// A count of the journals of this process.
fn count(name: &str) -> u64 {
    let mut text = Text::default();
    METRICS.render(&mut text);
    let text = text.into_string();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name}: {text}")).parse().unwrap()
}

/// Opens the storage once the journal's task of the run before has ended, which holds the directory.
async fn open_storage(dir: &Path, case: Case) -> Storage {
    let began = Instant::now();
    loop {
        match disk::open_with(dir, options(Durability::Fsync, case.segment_bytes)) {
            Ok(store) => return store,
            Err(error) => assert!(error.message.contains("in use") && began.elapsed() < PATIENCE, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn open(dir: &Path, case: Case, run: u64) -> (Storage, Journal) {
    let store = open_storage(dir, case).await;
    let stored = store.journal().clone();
    let interval = Duration::from_millis(20);
    let mut settings = stored.settings(JournalConfig::new(run));
    settings.limits.batch_wait = Duration::ZERO;
    let settings = JournalConfig { snapshot_interval: interval, garbage_interval: interval, ..settings };
    let journal = Journal::open(stored, Arc::new(SystemClock), settings);
    journal.ready().await.unwrap();
    (store, journal)
}

async fn create(journal: &Journal, name: &str) -> Result<PartitionId, JournalError> {
    let create = Control::Create { topic: 0, name: name.into(), partitions: 1, settings: [].into() };
    Ok(PartitionId { topic: journal.change(create).await?, number: 0 })
}

fn small_record(number: u64) -> Vec<u8> {
    format!("record {number}").into_bytes()
}

async fn append_small(journal: &Journal, small: PartitionId) -> Result<(), JournalError> {
    let record = small_record(journal.offsets(small).end);
    journal.append(small, None, received(&batch(Codec::None, &[record]))).await.map(drop)
}

/// Appends to both topics until there is enough, or the disk is full. Returns whether it is.
async fn fill(journal: &Journal, [large, small]: [PartitionId; 2], case: Case) -> bool {
    let batch = batch(Codec::None, &[vec![7; LARGE]]);
    // What fails takes nothing of the room that is needed to delete. Sealing a segment frees the room after its end, so
    // one that fails may not be the last.
    let mut failed = 0;
    for number in 0..case.bytes / LARGE as u64 {
        let append = journal.append(large, None, received(&batch));
        let appended = match number % LARGE_PER_SMALL {
            0 if case.shares_objects => join(append, append_small(journal, small)).await.0.map(drop),
            0 => append.await.map(drop).and(append_small(journal, small).await),
            _ => append.await.map(drop),
        };
        let Err(error) = appended else { continue };
        assert_eq!(error.kind(), Kind::Wait, "{error}");
        assert!(error.to_string().contains("free disk space"), "{error}");
        failed += 1;
    }
    assert!(failed == 0 || failed > 100, "{failed} appends failed");
    failed > 0
}

/// The files, and what each takes on the disk.
fn files_with_bytes(dir: &Path) -> Vec<(PathBuf, u64)> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let files = |path: PathBuf| match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => files_with_bytes(&path),
        Ok(found) => vec![(path, found.blocks() * 512)],
        // It was deleted meanwhile.
        Err(_) => Vec::new(),
    };
    entries.flat_map(files).collect()
}

fn disk_bytes(dir: &Path) -> u64 {
    files_with_bytes(dir).iter().map(|(_, bytes)| bytes).sum()
}

/// The small topic has these records and no others.
async fn assert_holds(journal: &Journal, small: PartitionId, records: u64) {
    assert_eq!(journal.offsets(small), 0..records);
    let mut offset = 0;
    while offset < records {
        let piece = journal.read(small, offset).await.unwrap().unwrap();
        let found = records_of(&piece.batches);
        let expected: Vec<_> = (piece.first_offset..piece.next_offset).map(small_record).collect();
        assert_eq!(found, expected, "from {}", piece.first_offset);
        offset = piece.next_offset;
    }
}

/// The number of objects that aren't in the store any more, of those that the newest snapshot covers.
async fn missing_objects(store: &Storage, dir: &Path) -> u64 {
    let stored = store.journal().clone();
    let snapshots = files(&dir.join("journal/snapshots"), "rws");
    let Some(newest) = snapshots.last() else { return 0 };
    let next: u64 = newest.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let mut missing = 0;
    for number in 1..next {
        missing += u64::from(stored.index(Source::Journal(number)).await.unwrap().found.is_none());
    }
    missing
}

/// Deletes most of what is on the disk, and checks that the disk has room again without any append. Returns whether the
/// disk was full, and leaves no directory.
async fn frees(dir: &Path, case: Case) -> bool {
    let deleted_before = count("rawline_journal_deleted_objects_total");
    let (mut store, mut journal) = open(dir, case, 1).await;
    let small = create(&journal, "small").await.unwrap();
    let large = create(&journal, "large").await.unwrap();
    let is_full = fill(&journal, [large, small], case).await;
    if case.restarts {
        drop((journal, store));
        (store, journal) = open(dir, case, 2).await;
        if is_full {
            assert!(fill(&journal, [large, small], case).await, "a restart makes no room");
        }
    }
    let smalls = journal.offsets(small).end;
    assert!(smalls > 20, "{smalls} records of the small topic");
    let full_bytes = disk_bytes(dir);
    let merged_before = count("rawline_journal_merges_total");
    match case.by {
        By::Delete => journal.change(Control::Delete { topic: large.topic }).await.unwrap(),
        By::Trim => {
            let first_offset = journal.offsets(large).end - 1;
            journal.change(Control::Trim { partition: large, first_offset }).await.unwrap()
        }
    };

    // The reserve, a segment for the changes, and a few small files. Nothing is appended.
    let expected = (case.segment_bytes / 64).clamp(64 << 10, 1 << 20) + case.segment_bytes.min(1 << 20) + (300 << 10);
    assert!(full_bytes > 2 * expected, "{full_bytes} bytes");
    let began = Instant::now();
    while disk_bytes(dir) > expected {
        assert!(began.elapsed() < PATIENCE, "{expected} bytes are enough for {:#?}", files_with_bytes(dir));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(count("rawline_journal_merges_total") > merged_before, "nothing was merged");
    assert_holds(&journal, small, smalls).await;

    // Objects count when their files are gone, and each of them once.
    let (mut deleted, mut missing) = (0, 1);
    let began = Instant::now();
    while deleted != missing {
        assert!(began.elapsed() < PATIENCE, "{deleted} objects were deleted, {missing} are missing");
        let gone = missing_objects(&store, dir).await;
        (deleted, missing) = (count("rawline_journal_deleted_objects_total") - deleted_before, gone);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    let again = create(&journal, "again").await.unwrap();
    let large_batch = batch(Codec::None, &[vec![7; LARGE]]);
    for offset in 0..50 {
        let appended = journal.append(again, None, received(&large_batch)).await.unwrap();
        assert_eq!(appended.first_offset, offset);
    }
    for _ in 0..5 {
        append_small(&journal, small).await.unwrap();
    }
    drop((journal, store));
    let (store, journal) = open(dir, case, 3).await;
    assert_holds(&journal, small, smalls + 5).await;
    assert_eq!(journal.offsets(again), 0..50);
    drop((journal, store));
    drop(open_storage(dir, case).await);
    std::fs::remove_dir_all(dir).unwrap();
    is_full
}

/// Appends twenty times as much as a topic may keep, in bursts. After each, the disk shrinks: retention looks by the
/// bytes that were written, for its interval doesn't pass.
#[tokio::test]
async fn a_limit_in_bytes_bounds_the_disk_whatever_the_rate_is() {
    const SEGMENT: u64 = 1 << 20;
    const LIMIT: u64 = 16 << 20;
    const RECORD: usize = 100_000;
    const BURSTS: u64 = 10;
    let dir = tempfile::tempdir().unwrap();
    let store = disk::open_with(dir.path(), options(Durability::PageCache, SEGMENT)).unwrap();
    let config = Config { retention_interval: Duration::from_hours(1), ..Config::new(1) };
    let broker = Broker::open(store, Arc::new(SystemClock), config).await.unwrap();
    let serde_json::Value::Object(limit) = json!({ "retain_bytes": LIMIT }) else { panic!() };
    let topic = broker.create_topic("t", limit).await.unwrap();
    let batch = batch(Codec::None, &[vec![7; RECORD]]);
    let appends = 20 * LIMIT / RECORD as u64 / BURSTS;
    for burst in 1..=BURSTS {
        for _ in 0..appends {
            topic.append(received(&batch)).await.unwrap();
        }
        let began = Instant::now();
        while disk_bytes(dir.path()) > LIMIT * 3 / 2 {
            let files = files_with_bytes(dir.path());
            assert!(began.elapsed() < PATIENCE, "the limit is {LIMIT} bytes, after burst {burst} there are {files:#?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    let status = topic.status();
    assert!(status.bytes > LIMIT / 2 && status.next_offset == appends * BURSTS, "{status:?}");
    drop(topic);
    broker.close().await;
}

/// In its own process, because all journals of a process count together.
#[tokio::test]
async fn deleted_records_free_their_part_of_segments_that_they_share() {
    let dir = tempfile::tempdir().unwrap();
    assert_passes(child("freeing::child_frees_room", dir.path()));
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_frees_room() {
    let Some(dir) = child_dir() else { return };
    let trims = Case { by: By::Trim, shares_objects: true, ..ONE_SEGMENT };
    let restarts = Case { restarts: true, ..MANY_SEGMENTS };
    for case in [ONE_SEGMENT, restarts, trims, Case { segment_bytes: MANY_SEGMENTS.segment_bytes, ..trims }] {
        assert!(!frees(&dir.join("one"), case).await, "the disk is full");
    }
}

#[tokio::test]
async fn a_deleted_topic_frees_a_full_disk() {
    fill_a_disk("freeing::child_frees_its_disk", "9m");
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_frees_its_disk() {
    let Some(dir) = child_dir() else { return };
    for case in [ONE_SEGMENT, MANY_SEGMENTS] {
        for (restarts, by) in [(false, By::Delete), (true, By::Delete), (false, By::Trim)] {
            assert!(frees(&dir.join("one"), Case { restarts, by, ..case }).await, "the disk does not fill");
        }
    }
    println!("the disk was full");
}
