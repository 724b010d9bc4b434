//! Topics in the journal of a directory.

use crate::support::files;
use futures_util::future::join_all;
use rawline_batch::Codec;
use rawline_broker::journal::{Journal, JournalConfig, MergeConfig};
use rawline_broker::store::Storage;
use rawline_broker::store::disk::{self, Durability, Options};
use rawline_broker::{AppendError, Broker, Config, Kind, Partition, Piece, ReadRequest, SystemClock};
use rawline_journal::{Control, MergeLimits, PartitionId};
use rawline_testkit::batches::{batch, received, records_of};
use rawline_testkit::child::{child, child_dir, fill_a_disk};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

pub fn options(durability: Durability, segment_bytes: u64) -> Options {
    Options { durability, segment_bytes }
}

fn store(dir: &Path) -> Storage {
    disk::open_with(dir, options(Durability::PageCache, 64 << 10)).unwrap()
}

pub async fn broker(store: Storage) -> Broker {
    Broker::open(store, Arc::new(SystemClock), Config::new(u64::from(std::process::id()))).await.unwrap()
}

/// Settings of a journal that waits for no more appends.
fn at_once() -> JournalConfig {
    let mut settings = JournalConfig::new(5);
    settings.limits.batch_wait = Duration::ZERO;
    settings
}

pub async fn append(partition: &Partition, record: &str) -> Result<u64, AppendError> {
    let batch = batch(Codec::None, &[record.as_bytes().to_vec()]);
    partition.append(received(&batch)).await.map(|appended| appended.first_offset)
}

pub async fn records(partition: &Partition) -> Vec<String> {
    let mut records = Vec::new();
    let mut offset = partition.offsets().start;
    while offset < partition.offsets().end {
        let request = ReadRequest { offset, records_max: 0, bytes_max: 0, wait: Duration::ZERO, verify: true };
        let read = partition.read(&request).await.unwrap();
        for piece in &read.pieces {
            let Piece::Whole(batches) = piece else { panic!("{piece:?}") };
            records.extend(records_of(batches).into_iter().map(|record| String::from_utf8(record).unwrap()));
        }
        offset = read.end_offset;
    }
    records
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn a_directory_says_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    // Files of others don't matter.
    fs::create_dir_all(dir.path().join("topics/t")).unwrap();
    fs::write(dir.path().join("topics/t/00000000000000000000.seg"), "not ours").unwrap();
    for _ in 0..3 {
        let broker = broker(store(dir.path())).await;
        append(&broker.partition_or_create("t", 0).await.unwrap(), "one more").await.unwrap();
        broker.close().await;
    }
    let broker = broker(store(dir.path())).await;
    assert_eq!(records(&broker.partition("t", 0).await.unwrap()).await, ["one more"; 3]);
    let id = broker.storage_id();
    broker.close().await;
    let storage = dir.path().join("storage.json");
    let content = fs::read_to_string(&storage).unwrap();
    assert_eq!(content, format!(r#"{{"format":1,"journals":1,"id":"{id}"}}"#));
    for other in [r#"{"format":2,"journals":1}"#, r#"{"format":1,"journals":1,"more":1}"#, "no JSON"] {
        fs::write(&storage, other).unwrap();
        let error = disk::open(dir.path(), Durability::PageCache).err().unwrap();
        assert!(error.message.contains("newer"), "{error}");
    }
}

#[tokio::test]
async fn a_directory_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let held = store(dir.path());
    let refused = disk::open(dir.path(), Durability::Fsync).err().unwrap();
    assert_eq!(refused.kind, Kind::TellHuman);
    assert!(refused.message.contains(&dir.path().display().to_string()), "{refused}");
    drop(held);
    store(dir.path());
}

#[tokio::test]
async fn a_kill_loses_nothing_acknowledged_in_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = [0u64; 3];
    for commits in [1, 30, 70] {
        let mut child =
            child("journal::child_appends_until_killed", dir.path()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut appended = lines.filter_map(|line| {
            let (topic, next) = line.strip_prefix("acknowledged ")?.split_once(' ')?;
            Some((topic.parse::<usize>().ok()?, next.parse::<u64>().ok()?))
        });
        for (topic, next) in appended.by_ref().take(commits) {
            acknowledged[topic] = next;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it had answered before it died counts too.
        appended.for_each(|(topic, next)| acknowledged[topic] = next);
        let broker = broker(store(dir.path())).await;
        for (topic, acknowledged) in acknowledged.iter().enumerate() {
            let records = records(&broker.partition(&topic.to_string(), 0).await.unwrap()).await;
            assert!(records.len() as u64 >= *acknowledged, "{} of {acknowledged} in {topic}", records.len());
            let expected = (0..records.len()).map(|offset| format!("{topic}: {offset}"));
            assert!(records.iter().cloned().eq(expected), "{topic}: {records:?}");
        }
        broker.close().await;
    }
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_appends_until_killed() {
    let Some(dir) = child_dir() else { return };
    let broker = broker(disk::open_with(&dir, options(Durability::Fsync, 8 << 10)).unwrap()).await;
    let append_all = async |topic: usize| {
        let partition = broker.partition_or_create(&topic.to_string(), 0).await.unwrap();
        for offset in partition.offsets().end.. {
            assert_eq!(append(&partition, &format!("{topic}: {offset}")).await.unwrap(), offset);
            // One write a line, straight to the pipe.
            std::io::stdout().write_all(format!("acknowledged {topic} {}\n", offset + 1).as_bytes()).unwrap();
        }
    };
    join_all((0..3).map(append_all)).await;
}

#[tokio::test]
async fn a_full_disk_passes_in_the_journal() {
    fill_a_disk("journal::child_fills_its_disk", "2m");
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_fills_its_disk() {
    let Some(dir) = child_dir() else { return };
    let open = || disk::open_with(&dir, options(Durability::Fsync, 64 << 10)).unwrap();
    fs::write(dir.join("other"), vec![1; 512 << 10]).unwrap();
    let full = broker(open()).await;
    let partition = full.partition_or_create("t", 0).await.unwrap();
    let record = "x".repeat(10_000);
    let mut stored = 0;
    // Sealing a segment frees the room after its end, so one that fails may not be the last one that fits.
    let fill = async |partition: &Partition, stored: &mut usize| {
        let mut failed = 0;
        while failed < 10 {
            match append(partition, &record).await {
                Ok(_) => (*stored, failed) = (*stored + 1, 0),
                Err(error) => {
                    assert_eq!(error.kind(), Kind::Wait, "{error}");
                    assert!(error.to_string().contains("free disk space"), "{error}");
                    failed += 1;
                }
            }
            assert!(*stored < 1000, "the disk does not fill");
        }
    };
    fill(&partition, &mut stored).await;
    assert!(stored > 50, "{stored}");
    assert_eq!(records(&partition).await.len(), stored);
    drop(partition);
    full.close().await;

    // A start with a full disk works, and so does reading.
    let full = broker(open()).await;
    let partition = full.partition("t", 0).await.unwrap();
    assert_eq!(records(&partition).await.len(), stored);
    fill(&partition, &mut stored).await;
    fs::remove_file(dir.join("other")).unwrap();
    // The writer may still be finding out what became of the last one.
    while append(&partition, &record).await.is_err() {}
    assert_eq!(records(&partition).await.len(), stored + 1);
    drop(partition);
    full.close().await;
    let again = broker(open()).await;
    assert_eq!(records(&again.partition("t", 0).await.unwrap()).await.len(), stored + 1);
    println!("the disk was full");
}

#[tokio::test]
async fn ten_thousand_topics_need_few_files() {
    const TOPICS: usize = 10_000;
    let dir = tempfile::tempdir().unwrap();
    let first = broker(disk::open_with(dir.path(), options(Durability::PageCache, 64 << 20)).unwrap()).await;
    let append_one = async |number: usize| {
        let partition = first.partition_or_create(&format!("t{number}"), 0).await.unwrap();
        assert_eq!(append(&partition, &format!("record of {number}")).await.unwrap(), 0);
    };
    join_all((0..TOPICS).map(append_one)).await;
    first.close().await;
    let files = files_below(dir.path());
    assert!(files.len() < 10, "{files:?}");
    let again = broker(store(dir.path())).await;
    assert_eq!(again.topics().len(), TOPICS);
    for number in [0, 1, 5_000, 9_999] {
        let partition = again.partition(&format!("t{number}"), 0).await.unwrap();
        assert_eq!(records(&partition).await, [format!("record of {number}")]);
    }
}

/// A directory's rule keeps large pieces where they are; these are small and interleaved.
#[tokio::test]
async fn interleaved_partitions_are_merged_and_stay_what_they_were() {
    const PARTITIONS: u32 = 5;
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let journal = store.journal().clone();
    let settings = journal.settings(at_once());
    let merge = settings.merge.clone().unwrap();
    let limits = MergeLimits { target_bytes: 20_000, keep_bytes: 2_000, objects_max: 20, ..merge.limits };
    let merge = Some(MergeConfig { limits, look_objects: 5, wait: None, ..merge });
    let garbage_interval = Duration::from_millis(50);
    let settings = JournalConfig { snapshot_objects: 200, garbage_interval, merge, ..settings };
    let journal = Journal::open(journal, Arc::new(SystemClock), settings);
    let create = Control::Create { topic: 0, name: "t".into(), partitions: PARTITIONS, settings: [].into() };
    let topic = journal.change(create).await.unwrap();
    let files = |folder: &str| files_below(&dir.path().join(folder)).len();
    let append = async |n: u32| {
        let batch = batch(Codec::None, &[format!("record {n}, {}", "x".repeat(300)).into_bytes()]);
        let partition = PartitionId { topic, number: n % PARTITIONS };
        journal.append(partition, None, received(&batch)).await.unwrap();
    };
    let mut records_count = 0;
    // More objects than are in the newest segment: sources of merges are deleted.
    while records_count < 1000 || files("journal/merged") < 3 {
        append(records_count).await;
        records_count += 1;
    }
    drop(journal);
    drop(store);
    // The task may still hold the directory.
    let again = loop {
        match disk::open_with(dir.path(), options(Durability::PageCache, 64 << 10)) {
            Ok(store) => break broker(store).await,
            Err(error) => assert!(error.message.contains("in use"), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    for number in 0..PARTITIONS {
        let records = records(&again.partition("t", u64::from(number)).await.unwrap()).await;
        let expected = (0..records_count).filter(|n| n % PARTITIONS == number);
        let expected = expected.map(|n| format!("record {n}, {}", "x".repeat(300)));
        assert!(records.into_iter().eq(expected), "partition {number}");
    }
}

/// Large pieces stay where they are, next to those of topics that keep theirs for longer. A topic without a record left
/// keeps no room either.
#[tokio::test]
async fn a_directory_shrinks_although_another_topic_keeps_its_records() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let journal = store.journal().clone();
    let settings = journal.settings(at_once());
    let merge = settings.merge.clone().unwrap();
    let limits = MergeLimits { keep_bytes: 1 << 20, keep_piece_bytes: 2_000, ..merge.limits };
    let merge = Some(MergeConfig { limits, look_objects: 5, wait: None, ..merge });
    let garbage_interval = Duration::from_millis(5);
    let settings = JournalConfig { snapshot_objects: 20, garbage_interval, merge, ..settings };
    let journal = Journal::open(journal, Arc::new(SystemClock), settings);
    let mut partitions = Vec::new();
    for name in ["idle", "trimmed", "kept"] {
        let create = Control::Create { topic: 0, name: name.into(), partitions: 1, settings: [].into() };
        partitions.push(PartitionId { topic: journal.change(create).await.unwrap(), number: 0 });
    }
    let [idle, trimmed, kept] = partitions[..] else { unreachable!("{partitions:?}") };
    let bytes = |byte, length| batch(Codec::None, &[vec![byte; length]]);
    journal.append(idle, None, received(&bytes(1, 3_000))).await.unwrap();
    journal.change(Control::Trim { partition: idle, first_offset: 1 }).await.unwrap();
    let append = async |number: u64| {
        let byte = number as u8;
        for _ in 0..3 {
            journal.append(trimmed, None, received(&bytes(byte, 15_000))).await.unwrap();
        }
        journal.append(kept, None, received(&bytes(byte, 3_000))).await.unwrap();
    };
    for number in 0..40 {
        append(number).await;
    }
    let segments = || files(&dir.path().join("journal"), "seg");
    let first = segments().remove(0);
    assert!(segments().len() > 25, "{:?}", segments());
    let mut number = 40;
    // Snapshots, by which segments are deleted, are of new objects.
    while segments().len() > 10 || first.exists() {
        let first_offset = journal.offsets(trimmed).end;
        journal.change(Control::Trim { partition: trimmed, first_offset }).await.unwrap();
        append(number).await;
        number += 1;
        // Merging and deleting continue next to appending.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(journal.offsets(idle), 1..1);
    assert_eq!(journal.offsets(kept), 0..number);
    for offset in 0..number {
        let piece = journal.read(kept, offset).await.unwrap().unwrap();
        let skipped = offset - piece.first_offset;
        assert_eq!(records_of(&piece.batches)[skipped as usize], vec![offset as u8; 3_000]);
    }
}

#[tokio::test]
async fn a_directory_shrinks_when_records_are_trimmed() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let journal = store.journal().clone();
    let settings = at_once();
    let settings = JournalConfig {
        snapshot_objects: 20,
        garbage_interval: Duration::from_millis(5),
        ..journal.settings(settings)
    };
    let journal = Journal::open(journal, Arc::new(SystemClock), settings);
    let create = Control::Create { topic: 0, name: "t".into(), partitions: 1, settings: [].into() };
    let partition = PartitionId { topic: journal.change(create).await.unwrap(), number: 0 };
    let bytes = batch(Codec::None, &[vec![7; 20_000]]);
    let segments =
        || files_below(dir.path()).iter().filter(|path| path.extension().is_some_and(|e| e == "seg")).count();
    for offset in 0..60 {
        journal.append(partition, None, received(&bytes)).await.unwrap();
        assert_eq!(journal.offsets(partition).end, offset + 1);
    }
    assert!(segments() > 15, "{}", segments());
    journal.change(Control::Trim { partition, first_offset: 55 }).await.unwrap();
    let mut next = 60;
    while segments() > 10 {
        // Snapshots, by which segments are deleted, are of new objects.
        journal.append(partition, None, received(&bytes)).await.unwrap();
        next += 1;
        journal.change(Control::Trim { partition, first_offset: next - 5 }).await.unwrap();
    }
    let piece = journal.read(partition, next - 5).await.unwrap().unwrap();
    assert_eq!(&piece.batches[..], &bytes[..]);
    assert!(journal.read(partition, next - 6).await.unwrap().is_none());
}
