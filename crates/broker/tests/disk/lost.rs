//! Acknowledged objects of a journal that the disk lost: the start says so, and a person can give them up.

use crate::journal::{append, broker, options, records};
use crate::support::files;
use rawline_batch::Codec;
use rawline_broker::journal::{Journal, JournalConfig};
use rawline_broker::store::disk::{self, Durability};
use rawline_broker::store::{Storage, StoreError};
use rawline_broker::{Broker, Kind, Partition, Piece, ReadRequest, SystemClock};
use rawline_journal::{Control, PartitionId};
use rawline_testkit::batches::{batch, received, records_of};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const TOPICS: u64 = 3;
/// Records of each topic, each in its own object.
const RECORDS: u64 = 6;

fn open(dir: &Path) -> Result<Storage, StoreError> {
    disk::open_with(dir, options(Durability::Fsync, 1 << 20))
}

/// A directory whose only segment was never sealed, and where its frames begin.
async fn killed(dir: &Path, snapshot_objects: u64) -> Vec<usize> {
    let store = open(dir).unwrap();
    let journal = store.journal().clone();
    let settings = JournalConfig { snapshot_objects, merge: None, ..journal.settings(JournalConfig::new(5)) };
    let journal = Journal::open(journal, Arc::new(SystemClock), settings);
    let mut topics = Vec::new();
    for topic in 0..TOPICS {
        let name = topic.to_string().into();
        let create = Control::Create { topic: 0, name, partitions: 1, settings: [].into() };
        topics.push(journal.change(create).await.unwrap());
    }
    for offset in 0..RECORDS {
        for (topic, id) in (0..TOPICS).zip(&topics) {
            let batch = batch(Codec::None, &[format!("{topic}: {offset}").into_bytes()]);
            let partition = PartitionId { topic: *id, number: 0 };
            assert_eq!(journal.append(partition, None, received(&batch)).await.unwrap().first_offset, offset);
        }
    }
    while snapshot_objects < TOPICS * RECORDS && files(&dir.join("journal/snapshots"), "rws").is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let snapshots = snapshots(dir);
    drop((journal, store));
    reopened(dir).await.close().await;
    // A crash leaves neither a seal nor the snapshot of an orderly end.
    let _ = fs::remove_file(segment(dir).with_extension("idx"));
    keep_snapshots(dir, &snapshots);
    let bytes = fs::read(segment(dir)).unwrap();
    bytes.chunks(8).enumerate().filter(|(_, bytes)| bytes.starts_with(b"RAWF")).map(|(at, _)| at * 8).collect()
}

fn snapshots(dir: &Path) -> Vec<PathBuf> {
    files(&dir.join("journal/snapshots"), "rws")
}

/// Removes all snapshots but these.
fn keep_snapshots(dir: &Path, kept: &[PathBuf]) {
    snapshots(dir).into_iter().filter(|path| !kept.contains(path)).for_each(|path| fs::remove_file(path).unwrap());
}

fn segment(dir: &Path) -> PathBuf {
    files(&dir.join("journal"), "seg").remove(0)
}

/// Opens a directory again; what had it may still be ending.
async fn reopened(dir: &Path) -> Broker {
    loop {
        match open(dir) {
            Ok(store) => return broker(store).await,
            Err(error) => assert!(error.message.contains("in use"), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The records of a partition that can be read, by offset, and how many can't.
async fn readable(partition: &Partition) -> (BTreeMap<u64, String>, u64) {
    let Range { start, end } = partition.offsets();
    let (mut found, mut lost) = (BTreeMap::new(), 0);
    for offset in start..end {
        let request = ReadRequest { offset, records_max: 1, bytes_max: 0, wait: Duration::ZERO, verify: true };
        let Ok(read) = partition.read(&request).await else {
            lost += 1;
            continue;
        };
        assert_eq!((read.first_offset, read.end_offset), (offset, offset + 1));
        let Piece::Whole(batches) = &read.pieces[0] else { panic!("{:?}", read.pieces) };
        found.insert(offset, String::from_utf8(records_of(batches).remove(0)).unwrap());
    }
    (found, lost)
}

#[tokio::test]
async fn what_is_whole_stays_when_lost_objects_of_a_journal_are_given_up() {
    for snapshot_objects in [1_000, 8] {
        let dir = tempfile::tempdir().unwrap();
        let frames = killed(dir.path(), snapshot_objects).await;
        assert_eq!(frames.len() as u64, TOPICS + TOPICS * RECORDS);
        let (path, whole) = (segment(dir.path()), fs::read(segment(dir.path())).unwrap());
        let kept = snapshots(dir.path());
        // Objects that create topics are before those; the last one isn't known to have been synced.
        let appends = TOPICS as usize..frames.len() - 1;
        let (one, two, all) = (4..5, 9..11, appends.clone());
        for (lost, damage) in [(one, 0..8), (5..6, 0..64), (6..7, 40..48), (two, 0..64), (20..20, 0..0), (all, 0..40)] {
            let what = format!("objects {lost:?} of {}, snapshots after {snapshot_objects}", frames.len());
            files(&dir.path().join("journal"), "seg").iter().for_each(|path| fs::remove_file(path).unwrap());
            files(&dir.path().join("journal"), "idx").iter().for_each(|path| fs::remove_file(path).unwrap());
            let _ = fs::remove_file(path.with_extension("accept"));
            keep_snapshots(dir.path(), &kept);
            let mut damaged = whole.clone();
            for lost in lost.clone() {
                damaged[frames[lost] + damage.start..frames[lost] + damage.end].fill(0x55);
            }
            fs::write(&path, &damaged).unwrap();
            if !lost.is_empty() {
                let refused = open(dir.path()).err().unwrap();
                assert_eq!(refused.kind, Kind::TellHuman, "{what}");
                let at = format!("damaged at byte {} ", frames[lost.start]);
                assert!(refused.message.contains(&at) && refused.message.contains(".accept next to it"), "{refused}");
                fs::write(path.with_extension("accept"), "").unwrap();
            }
            for run in 0..2 {
                check_given_up(dir.path(), lost.len() as u64, run, &what).await;
            }
            let now = fs::read(&path).unwrap();
            assert!(damaged.starts_with(&now), "{what}: the damaged file was changed");
        }
    }
}

/// All records but those of the lost objects are there, and others follow.
async fn check_given_up(dir: &Path, lost: u64, run: u64, what: &str) {
    let broker = reopened(dir).await;
    let mut lost_records = 0;
    for topic in 0..TOPICS {
        let partition = broker.partition(&topic.to_string(), 0).await.unwrap();
        let (found, unreadable) = readable(&partition).await;
        lost_records += unreadable;
        let expected = |offset: u64| format!("{topic}: {offset}");
        assert!(found.iter().all(|(offset, found)| *found == expected(*offset)), "{what}: {found:?}");
        // No later object has shown the last records of some partitions if all but one are lost.
        let next = partition.offsets().end;
        let is_known = lost < TOPICS * RECORDS / 2 || topic == TOPICS - 1;
        assert!(!is_known || next == RECORDS + run, "{what}, run {run}: topic {topic} ends at {next}");
        assert_eq!(append(&partition, &expected(next)).await.unwrap(), next, "{what}, run {run}");
    }
    assert!(lost_records <= lost && (lost_records > 0 || lost == 0), "{what}, run {run}: {lost_records} of {lost}");
    assert!(lost_records == lost || lost >= TOPICS * RECORDS / 2, "{what}, run {run}: {lost_records} of {lost}");
    broker.close().await;
}

/// The newest object isn't known to have been synced: it is an interrupted write, and nothing is refused.
#[tokio::test]
async fn a_damaged_newest_object_of_a_journal_is_an_interrupted_write() {
    let dir = tempfile::tempdir().unwrap();
    let frames = killed(dir.path(), 1_000).await;
    let mut damaged = fs::read(segment(dir.path())).unwrap();
    damaged[*frames.last().unwrap()] = 0;
    fs::write(segment(dir.path()), damaged).unwrap();
    let broker = reopened(dir.path()).await;
    let mut left = 0;
    for topic in 0..TOPICS {
        left += records(&broker.partition(&topic.to_string(), 0).await.unwrap()).await.len() as u64;
    }
    assert_eq!(left, TOPICS * RECORDS - 1);
    broker.close().await;
}

/// Without the topic, nothing that was appended to it can follow.
#[tokio::test]
async fn a_lost_object_that_others_depend_on_ends_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let frames = killed(dir.path(), 1_000).await;
    let path = segment(dir.path());
    let mut damaged = fs::read(&path).unwrap();
    // The creation of the last topic; its first record is the last that is appended before others follow.
    damaged[frames[TOPICS as usize - 1] + 40] ^= 1;
    fs::write(&path, damaged).unwrap();
    assert!(open(dir.path()).is_err());
    fs::write(path.with_extension("accept"), "").unwrap();
    for run in 0..2 {
        let broker = reopened(dir.path()).await;
        for topic in 0..TOPICS - 1 {
            let partition = broker.partition(&topic.to_string(), 0).await.unwrap();
            let expected: Vec<_> = (0..=run).map(|offset| format!("{topic}: {offset}")).collect();
            assert_eq!(records(&partition).await, expected, "run {run}");
            append(&partition, &format!("{topic}: {}", run + 1)).await.unwrap();
        }
        assert!(broker.partition(&(TOPICS - 1).to_string(), 0).await.is_err());
        broker.close().await;
    }
}

/// Epochs of a named producer are dense: the next instance would contradict a journal that has lost one.
#[tokio::test]
async fn what_follows_a_lost_instance_of_a_named_producer_stays() {
    let dir = tempfile::tempdir().unwrap();
    let broker = reopened(dir.path()).await;
    let partition = broker.partition_or_create("t", 0).await.unwrap();
    let mut expected = Vec::new();
    let mut write = async |record: &str| {
        append(&partition, record).await.unwrap();
        expected.push(record.to_owned());
    };
    write("first").await;
    let one = broker.open_producer("known", "").await.unwrap();
    // From here on each is lost once: a new name, one that is never used again, and another instance of a known one.
    for name in ["new", "never seen again", "known"] {
        broker.open_producer(name, "").await.unwrap();
    }
    write("second").await;
    let (known, new) =
        (broker.open_producer("known", "").await.unwrap(), broker.open_producer("new", "").await.unwrap());
    assert_eq!((known.id, known.epoch, new.epoch), (one.id, 2, 1));
    broker.open_producer("last", "").await.unwrap();
    write("third").await;
    write("the last one isn't known to have been synced").await;
    drop(partition);
    broker.close().await;
    reopened(dir.path()).await.close().await;
    let _ = fs::remove_file(segment(dir.path()).with_extension("idx"));
    let (path, whole) = (segment(dir.path()), fs::read(segment(dir.path())).unwrap());
    let frames: Vec<usize> =
        whole.chunks(8).enumerate().filter(|(_, bytes)| bytes.starts_with(b"RAWF")).map(|(at, _)| at * 8).collect();
    // The topic, a record and the name before them.
    for lost in [3..4, 4..5, 5..6, 3..6, 2..6] {
        files(&dir.path().join("journal"), "seg").iter().for_each(|path| fs::remove_file(path).unwrap());
        files(&dir.path().join("journal"), "idx").iter().for_each(|path| fs::remove_file(path).unwrap());
        let mut damaged = whole.clone();
        for frame in &frames[lost.clone()] {
            damaged[*frame..*frame + 64].fill(0x55);
        }
        fs::write(&path, &damaged).unwrap();
        fs::write(path.with_extension("accept"), "").unwrap();
        keep_snapshots(dir.path(), &[]);
        for run in 0..2 {
            let broker = reopened(dir.path()).await;
            let partition = broker.partition("t", 0).await.unwrap();
            assert_eq!(records(&partition).await, expected, "{lost:?}, run {run}");
            drop(partition);
            let next = broker.open_producer("known", "").await.unwrap();
            assert_eq!((next.id, next.epoch), (one.id, 3 + run), "{lost:?}, run {run}");
            broker.close().await;
        }
    }
}

/// A directory whose broker has ended in order, with 200 records of one topic in several segments.
async fn closed(dir: &Path, durability: Durability) {
    let broker = broker(disk::open_with(dir, options(durability, 8 << 10)).unwrap()).await;
    let partition = broker.topic_or_create("t").await.unwrap().partition(0).unwrap();
    for offset in 0..200 {
        assert_eq!(append(&partition, &format!("record {offset}")).await.unwrap(), offset);
    }
    drop(partition);
    broker.close().await;
}

/// Starts a broker on small segments.
async fn start(dir: &Path, durability: Durability) -> Result<Broker, StoreError> {
    // What had the directory may still be ending.
    let store = loop {
        match disk::open_with(dir, options(durability, 8 << 10)) {
            Err(error) if error.message.contains("in use") => tokio::time::sleep(Duration::from_millis(1)).await,
            opened => break opened?,
        }
    };
    Broker::open(store, Arc::new(SystemClock), rawline_broker::Config::new(9)).await
}

/// Where the frames of a segment begin.
fn frames(path: &Path) -> Vec<usize> {
    let bytes = fs::read(path).unwrap();
    (0..bytes.len()).step_by(8).filter(|at| bytes[*at..].starts_with(b"RAWF")).collect()
}

/// Nothing shows what was at the end of the newest segment, but the snapshot that an orderly end leaves.
#[tokio::test]
async fn a_newest_segment_that_is_deleted_or_cut_after_an_orderly_end_stops_the_start_and_can_be_given_up() {
    for durability in Durability::ALL {
        for cuts in [None, Some(1), Some(3)] {
            let dir = tempfile::tempdir().unwrap();
            closed(dir.path(), durability).await;
            let newest = files(&dir.path().join("journal"), "seg").pop().unwrap();
            let frames = frames(&newest);
            match cuts {
                None => fs::remove_file(&newest).unwrap(),
                Some(kept) => {
                    fs::File::options().write(true).open(&newest).unwrap().set_len(frames[kept] as u64).unwrap()
                }
            }
            let refused = start(dir.path(), durability).await.err().unwrap();
            assert_eq!(refused.kind, Kind::TellHuman, "{refused}");
            let accept = refused.message.split("create the empty file ").nth(1).unwrap().split_once(' ').unwrap().0;
            assert!(refused.message.contains("is missing") || refused.message.contains("are missing"), "{refused}");
            fs::write(accept, b"").unwrap();
            let lost = frames.len() - cuts.unwrap_or_default();
            let broker = start(dir.path(), durability).await.unwrap();
            let partition = broker.partition("t", 0).await.unwrap();
            let (found, unreadable) = readable(&partition).await;
            assert_eq!((found.len() as u64 + unreadable, unreadable), (200, lost as u64), "{durability} {cuts:?}");
            let request = ReadRequest { offset: 199, records_max: 1, bytes_max: 0, wait: Duration::ZERO, verify: true };
            let error = partition.read(&request).await.unwrap_err();
            let is_clear = error.kind() == Kind::TellHuman && error.to_string().contains("read from offset 200");
            assert!(is_clear, "{error}");
            assert_eq!(append(&partition, "next").await.unwrap(), 200, "an offset is given out again");
        }
    }
}

#[tokio::test]
async fn a_segment_that_a_snapshot_covers_stops_the_start_and_can_be_given_up() {
    let dir = tempfile::tempdir().unwrap();
    closed(dir.path(), Durability::Fsync).await;
    let segments = files(&dir.path().join("journal"), "seg");
    let lost = frames(&segments[1]).len() as u64;
    fs::remove_file(&segments[1]).unwrap();
    let refused = start(dir.path(), Durability::Fsync).await.err().unwrap();
    let accept = segments[1].with_extension("accept");
    let is_named = refused.message.contains(&accept.display().to_string());
    assert!(refused.kind == Kind::TellHuman && is_named, "{refused}");
    fs::write(accept, b"").unwrap();
    let broker = start(dir.path(), Durability::Fsync).await.unwrap();
    let partition = broker.partition("t", 0).await.unwrap();
    let (found, unreadable) = readable(&partition).await;
    assert_eq!((found.len() as u64, unreadable), (200 - lost, lost));
    assert_eq!(append(&partition, "next").await.unwrap(), 200);
}

/// A broker that looks often.
fn watching(dir: &Path) -> (Journal, Storage) {
    let store = disk::open_with(dir, options(Durability::Fsync, 8 << 10)).unwrap();
    let journal = store.journal().clone();
    let settings = journal.settings(JournalConfig::new(5));
    let settings = JournalConfig { check_interval: Duration::from_millis(20), merge: None, ..settings };
    (Journal::open(journal, Arc::new(SystemClock), settings), store)
}

#[tokio::test]
async fn a_running_broker_notices_that_its_directory_was_changed() {
    type Change = fn(&Path);
    let newest = |dir: &Path| files(&dir.join("journal"), "seg").pop().unwrap();
    let changes: [(&str, Change); 5] = [
        ("deleted", |dir| fs::remove_file(files(&dir.join("journal"), "seg").pop().unwrap()).unwrap()),
        ("an older one deleted", |dir| fs::remove_file(&files(&dir.join("journal"), "seg")[0]).unwrap()),
        ("replaced", |dir| {
            let path = files(&dir.join("journal"), "seg").pop().unwrap();
            let copy = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            fs::write(&path, copy).unwrap();
        }),
        ("storage.json", |dir| fs::remove_file(dir.join("storage.json")).unwrap()),
        ("all", |dir| fs::remove_dir_all(dir.join("journal")).unwrap()),
    ];
    for (what, change) in changes {
        let dir = tempfile::tempdir().unwrap();
        let (journal, _store) = watching(dir.path());
        let create = Control::Create { topic: 0, name: "t".into(), partitions: 1, settings: [].into() };
        let partition = PartitionId { topic: journal.change(create).await.unwrap(), number: 0 };
        let append = || journal.append(partition, None, received(&batch(Codec::None, &[vec![b'x'; 500]])));
        for _ in 0..50 {
            append().await.unwrap();
        }
        assert!(newest(dir.path()) != files(&dir.path().join("journal"), "seg")[0], "several segments");
        change(dir.path());
        let error = loop {
            match append().await {
                Ok(_) => tokio::time::sleep(Duration::from_millis(2)).await,
                Err(error) => break error,
            }
        };
        let is_clear = error.kind() == Kind::TellHuman && error.to_string().contains("while the broker was running");
        assert!(is_clear || what == "all", "{what}: {error}");
    }
}
