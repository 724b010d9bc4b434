//! Backups of a journal that changes meanwhile, and storages made of them.

use crate::compacting::{Appended, COMPACT, Keyed, compacting, folded, kept};
use crate::support::{all, merging, one, received};
use fastrand::Rng;
use futures_util::FutureExt;
use rawline_broker::backup::{back_up, points, restore, tidy, verify};
use rawline_broker::doctor::{Level, check};
use rawline_broker::journal::{Journal, JournalConfig};
use rawline_broker::store::disk::{self, Durability, Options};
use rawline_broker::store::{Purpose, Storage};
use rawline_broker::{Meter, SystemClock};
use rawline_journal::{Control, PartitionId};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// How many backups are made while the journal changes.
const BACKUPS: usize = 12;

/// What the journal has acknowledged.
#[derive(Default)]
struct Acknowledged {
    /// The records of a topic, from its first on, and the offset of the first that may be read.
    plain: Vec<String>,
    trimmed: u64,
    keyed: BTreeMap<u64, Keyed>,
}

struct Topics {
    plain: PartitionId,
    keyed: PartitionId,
}

async fn create(journal: &Journal, name: &str, settings: &str) -> PartitionId {
    let settings = settings.as_bytes().into();
    let control = Control::Create { topic: 0, name: name.into(), partitions: 1, settings };
    PartitionId { topic: journal.change(control).await.unwrap(), number: 0 }
}

/// A journal that merges, compacts and deletes all the time.
async fn open(storage: &Storage, run: u64) -> Journal {
    let store = storage.journal().clone();
    let mut settings = compacting(store.settings(merging(run)));
    settings.limits.batch_wait = Duration::ZERO;
    let soon = Duration::from_millis(5);
    let settings = JournalConfig {
        snapshot_objects: 10,
        snapshot_interval: soon,
        garbage_interval: soon,
        garbage_bytes: 1_000,
        ..settings
    };
    let journal = Journal::open(store, Arc::new(SystemClock), settings);
    journal.ready().await.unwrap();
    journal
}

fn options() -> Options {
    Options { durability: Durability::PageCache, segment_bytes: 32 << 10 }
}

/// Appends to both topics, and trims one.
async fn write(
    journal: &Journal,
    topics: &Topics,
    acknowledged: &Mutex<Acknowledged>,
    random: &mut Rng,
    is_over: &AtomicBool,
) {
    let mut keyed = Appended::default();
    while !is_over.load(Ordering::Relaxed) {
        let from = acknowledged.lock().unwrap().plain.len();
        let records: Vec<String> =
            (from..from + random.usize(1..5)).map(|n| format!("record {n} {}", "-".repeat(n % 300))).collect();
        let texts: Vec<&str> = records.iter().map(String::as_str).collect();
        journal.append(topics.plain, None, received(&one(&texts))).await.unwrap();
        acknowledged.lock().unwrap().plain.extend(records);
        keyed.append(journal, topics.keyed, random).await;
        acknowledged.lock().unwrap().keyed.clone_from(&keyed.records);
        if random.u8(..50) == 0 {
            let (length, trimmed) = {
                let found = acknowledged.lock().unwrap();
                (found.plain.len() as u64, found.trimmed)
            };
            let first_offset = random.u64(trimmed..=length);
            let control = Control::Trim { partition: topics.plain, first_offset };
            // What the copy of this moment has isn't known.
            acknowledged.lock().unwrap().trimmed = first_offset;
            journal.change(control).await.unwrap();
        }
        if random.u8(..10) == 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Copies the backup's point into a new directory, and checks what that has: at least what was acknowledged `before`
/// the backup, at most what was `after`.
async fn check_point(backup: &Path, at_us: Option<u64>, topics: &Topics, before: &Acknowledged, after: &Acknowledged) {
    let dir = tempfile::tempdir().unwrap();
    let (from, meter) = (disk::view(backup).await.unwrap(), Meter::default());
    let to = disk::open_with(dir.path(), options()).unwrap();
    let copied = restore(&from, at_us, &to, &meter).await.unwrap();
    verify(&to, &copied, &meter).await.unwrap();
    drop(to);
    let storage = disk::open_with(dir.path(), options()).unwrap();
    let journal = open(&storage, 100).await;
    check_records(&journal, topics, before, after).await;
    // It continues, and its merges get numbers that no object of the copy has.
    let (mut random, mut keyed) = (Rng::with_seed(7), Appended::default());
    let plain = journal.offsets(topics.plain);
    for n in 0..60 {
        journal.append(topics.plain, None, received(&one(&[&format!("new {n}")]))).await.unwrap();
        keyed.append(&journal, topics.keyed, &mut random).await;
        sleep(Duration::from_millis(1)).await;
    }
    let records = all(&journal, topics.plain).await;
    let (old, new) = records.split_at((plain.end - plain.start) as usize);
    assert_eq!(old, &after.plain[plain.start as usize..plain.end as usize]);
    assert_eq!(new, (0..60).map(|n| format!("new {n}")).collect::<Vec<_>>());
}

async fn check_records(journal: &Journal, topics: &Topics, before: &Acknowledged, after: &Acknowledged) {
    let plain = journal.offsets(topics.plain);
    let (least, most) = (before.plain.len() as u64, after.plain.len() as u64);
    assert!((least..=most).contains(&plain.end), "{plain:?}, {least} to {most} acknowledged");
    assert!((before.trimmed..=after.trimmed).contains(&plain.start), "{plain:?} from {} on", after.trimmed);
    let found = all(journal, topics.plain).await;
    assert!(found == after.plain[plain.start as usize..plain.end as usize], "the records of {plain:?} are others");
    let end = journal.offsets(topics.keyed).end;
    let expected: BTreeMap<u64, Keyed> = after.keyed.range(..end).map(|(at, keyed)| (*at, keyed.clone())).collect();
    let least = before.keyed.last_key_value().map_or(0, |(offset, _)| offset + 1);
    let most = after.keyed.last_key_value().map_or(0, |(offset, _)| offset + 1);
    assert!((least..=most).contains(&end), "the keyed topic ends at {end}, {least} to {most} acknowledged");
    let kept = kept(journal, topics.keyed).await;
    assert_eq!(folded(&kept), folded(&expected), "up to {end}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_backup_of_a_busy_directory_is_whole() {
    let (dir, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let storage = disk::open_with(dir.path(), options()).unwrap();
    let journal = open(&storage, 1).await;
    let topics =
        Topics { plain: create(&journal, "plain", "{}").await, keyed: create(&journal, "keyed", COMPACT).await };
    let (acknowledged, is_over) = (Mutex::<Acknowledged>::default(), AtomicBool::new(false));
    let now = || {
        let found = acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        Acknowledged { plain: found.plain.clone(), trimmed: found.trimmed, keyed: found.keyed.clone() }
    };
    let mut random = Rng::with_seed(11);
    let writing = write(&journal, &topics, &acknowledged, &mut random, &is_over);
    let backups = async {
        let (mut made, mut bytes) = (Vec::new(), 0);
        for _ in 0..BACKUPS {
            sleep(Duration::from_millis(150)).await;
            let before = now();
            let to = disk::open_as(backup.path(), Purpose::Backup { of: storage.id }).unwrap();
            let (meter, view) = (Meter::default(), || disk::view(dir.path()).boxed());
            let copied = back_up(&view, &to, &meter).await.unwrap();
            verify(&to, &copied, &meter).await.unwrap();
            assert!(copied[0].is_new);
            bytes += copied[0].bytes;
            made.push((copied[0].newest_us, before, now()));
        }
        is_over.store(true, Ordering::Relaxed);
        (made, bytes)
    };
    let ((), (made, bytes)) = tokio::join!(writing, backups);
    let view = disk::view(backup.path()).await.unwrap();
    let times: Vec<u64> = made.iter().map(|(newest_us, ..)| *newest_us).collect();
    assert_eq!(points(&view).await.unwrap(), times);
    let newest = made.last().unwrap();
    let stored: u64 = newest.2.plain.iter().map(|record| record.len() as u64).sum();
    assert!(bytes < 4 * stored, "{bytes} bytes copied of about {stored}: each run copies what is new");
    for (newest_us, before, after) in &made {
        check_point(backup.path(), Some(*newest_us), &topics, before, after).await;
    }
    let (_, before, after) = newest;
    check_point(backup.path(), None, &topics, before, after).await;
    // Of a point that is gone, nothing is left but what others need.
    let to = disk::open_as(backup.path(), Purpose::Backup { of: storage.id }).unwrap();
    let (gone, _) = tidy(&to, 2).await.unwrap();
    assert_eq!(gone as usize, BACKUPS - 2);
    drop(to);
    let (_, before, after) = &made[BACKUPS - 2];
    check_point(backup.path(), Some(times[BACKUPS - 2]), &topics, before, after).await;
    let view = disk::view(backup.path()).await.unwrap();
    let empty = tempfile::tempdir().unwrap();
    let (to, meter) = (disk::open(empty.path(), Durability::Fsync).unwrap(), Meter::default());
    let refused = restore(&view, Some(times[0]), &to, &meter).await.unwrap_err();
    assert!(refused.message.contains("no point"), "a point that was deleted");
    // Nothing stays of what no point has any more.
    journal.change(Control::Delete { topic: topics.keyed.topic }).await.unwrap();
    let first_offset = journal.offsets(topics.plain).end;
    journal.change(Control::Trim { partition: topics.plain, first_offset }).await.unwrap();
    let to = disk::open_as(backup.path(), Purpose::Backup { of: storage.id }).unwrap();
    back_up(&|| disk::view(dir.path()).boxed(), &to, &meter).await.unwrap();
    let merged = || std::fs::read_dir(backup.path().join("journal/merged")).unwrap().count();
    assert!(merged() > 0);
    assert_eq!(tidy(&to, 1).await.unwrap().0, 2);
    assert_eq!(merged(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_directory_is_found_whole() {
    let dir = tempfile::tempdir().unwrap();
    let storage = disk::open_with(dir.path(), options()).unwrap();
    let journal = open(&storage, 1).await;
    let topics =
        Topics { plain: create(&journal, "plain", "{}").await, keyed: create(&journal, "keyed", COMPACT).await };
    let (acknowledged, is_over) = (Mutex::<Acknowledged>::default(), AtomicBool::new(false));
    let mut random = Rng::with_seed(12);
    let writing = write(&journal, &topics, &acknowledged, &mut random, &is_over);
    let checking = async {
        let view = || disk::view(dir.path()).boxed();
        for _ in 0..40 {
            sleep(Duration::from_millis(20)).await;
            let findings = check(&view().await.unwrap(), &view, u64::MAX / 2, &Meter::default()).await;
            let bad: Vec<_> = findings.iter().filter(|finding| finding.level != Level::Ok).collect();
            assert!(bad.is_empty(), "{bad:?}");
        }
        is_over.store(true, Ordering::Relaxed);
    };
    tokio::join!(writing, checking);
}
