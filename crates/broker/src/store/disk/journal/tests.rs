//! Objects of a journal in a directory, after crashes and damage too.

mod loss;

use super::frame::FRAME_BYTES;
use super::*;
use crate::clock::SystemClock;
use crate::journal::Journal;
use crate::limits::DISK_SYNC_BYTES;
use crate::metrics::METRICS;
use crate::store::disk::device::{Device, System};
use crate::store::disk::options::Durability;
use rawline_batch::{Builder, Codec, Limits as BatchLimits};
use rawline_journal::{Batch, BatchKind, Control, Id, Link, PartitionId, Section, SnapshotName, build_index};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tempfile::TempDir;

const RECORDS: u64 = 3;
const PARTITION: PartitionId = PartitionId { topic: 1, number: 0 };

/// A directory with a journal.
struct Opened {
    journal: DiskStore,
    _lock: Arc<DirLock>,
}

impl std::ops::Deref for Opened {
    type Target = DiskStore;
    fn deref(&self) -> &DiskStore {
        &self.journal
    }
}

fn try_open(dir: &Path, durability: Durability, device: impl Device) -> Result<Opened, StoreError> {
    let options = Options { durability, segment_bytes: 16 << 10 };
    let lock = Arc::new(DirLock::acquire(dir)?);
    let journal = DiskStore::open(dir, options, &Arc::new(OpenFiles::on(Arc::new(device))), &lock)?;
    Ok(Opened { journal, _lock: lock })
}

fn open(dir: &Path) -> Opened {
    try_open(dir, Durability::Fsync, System).unwrap()
}

fn unsynced(dir: &Path) -> Opened {
    try_open(dir, Durability::PageCache, System).unwrap()
}

fn id(run: u64, number: u64) -> Id {
    Id { run, commit: number }
}

fn batch(number: u64) -> (Batch, Bytes) {
    let mut builder = Builder::new(Codec::None, BatchLimits::FORMAT);
    for record in 0..RECORDS {
        builder.push(format!("record {record} of object {number}").as_bytes()).unwrap();
    }
    let mut bytes = Vec::new();
    builder.finish_into(number, 0, 0, &mut bytes).unwrap();
    let crc32c = rawline_batch::Batch::parse(&bytes, &BatchLimits::FORMAT).unwrap().header().crc32c;
    let (records, length) = (RECORDS as u32, bytes.len() as u32);
    let kind = BatchKind::Rawline;
    let batch = Batch {
        kind,
        records,
        bytes: length,
        crc32c,
        continues: false,
        producer: None,
        max_timestamp_us: 0,
        transaction: None,
    };
    (batch, bytes.into())
}

/// An object of one batch, from this run.
fn object(run: u64, number: u64) -> Vec<Bytes> {
    let (batch, bytes) = batch(number);
    let prev = if number == 1 { Id::ROOT } else { id(run, number - 1) };
    let section = Section { partition: PARTITION, first_offset: (number - 1) * RECORDS };
    let topic = Control::Create { topic: 1, name: "t".into(), partitions: 1, settings: [].into() };
    let controls = if number == 1 { &[topic][..] } else { &[] };
    let index =
        build_index(Link { number, id: id(run, number), prev, in_flight: 0 }, 5, controls, &[(section, &[batch])]);
    vec![index.into(), bytes]
}

async fn create(journal: &DiskStore, run: u64, numbers: Range<u64>) {
    for number in numbers {
        let created = journal.create(Source::Journal(number), object(run, number)).await;
        assert_eq!(created, PutResult::Created { date: DATE }, "object {number}");
    }
}

/// The journal has these objects and no more.
async fn assert_holds(journal: &DiskStore, runs: &[u64], what: &str) {
    for (number, run) in (1..).zip(runs) {
        let index = journal.index(Source::Journal(number)).await.unwrap().found.unwrap().index;
        assert_eq!(index.header.link.id, id(*run, number), "{what}");
        let (_, piece, _) = index.pieces().next().unwrap();
        let read = journal.bytes(piece.place, piece.place.batches()).await.unwrap();
        assert_eq!(read, batch(number).1, "{what}: object {number}");
    }
    let next = runs.len() as u64 + 1;
    assert_eq!(journal.index(Source::Journal(next)).await.unwrap().found, None, "{what}: object {next}");
}

fn segment(dir: &Path, first_number: u64) -> PathBuf {
    dir.join(format!("journal/{first_number:020}.seg"))
}

fn segments(dir: &Path) -> Vec<u64> {
    names::numbers_in(&dir.join("journal"), "seg").unwrap()
}

#[tokio::test]
async fn objects_are_created_once_and_in_order_and_outlive_restarts() {
    for durability in Durability::ALL {
        let dir = tempfile::tempdir().unwrap();
        let open = || try_open(dir.path(), durability, System).unwrap();
        let journal = open();
        create(&journal, 1, 1..200).await;
        assert_eq!(journal.create(Source::Journal(7), object(2, 7)).await, PutResult::Exists);
        assert_eq!(journal.create(Source::Journal(201), object(1, 201)).await, PutResult::Unknown, "200 is missing");
        assert_holds(&journal, &[1; 199], "written").await;
        drop(journal);
        let journal = open();
        assert_holds(&journal, &[1; 199], "opened again").await;
        create(&journal, 2, 200..202).await;
        drop(journal);
        let runs = [&[1; 199][..], &[2, 2]].concat();
        assert_holds(&open(), &runs, "opened twice").await;
        assert!(segments(dir.path()).len() > 3, "{:?}", segments(dir.path()));
        // An index that is damaged or gone is made again.
        fs::write(segment(dir.path(), 1).with_extension("idx"), "damaged").unwrap();
        let last = *segments(dir.path()).last().unwrap();
        let _ = fs::remove_file(segment(dir.path(), last).with_extension("idx"));
        assert_holds(&open(), &runs, "without indexes").await;
    }
}

#[tokio::test]
async fn objects_that_wait_share_one_sync() {
    static SYNCS: AtomicU64 = AtomicU64::new(0);
    struct Counted;
    impl Device for Counted {
        fn sync(&self, file: &File) -> io::Result<()> {
            SYNCS.fetch_add(1, Ordering::SeqCst);
            System.sync(file)
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let journal = try_open(dir.path(), Durability::Fsync, Counted).unwrap();
    create(&journal, 1, 1..2).await;
    let before = SYNCS.load(Ordering::SeqCst);
    let held = journal.inner.writer.lock().unwrap();
    let creates: Vec<_> = (2..10).map(|number| journal.create(Source::Journal(number), object(1, number))).collect();
    drop(held);
    let created = futures_util::future::join_all(creates).await;
    assert!(created.iter().all(|created| matches!(created, PutResult::Created { .. })), "{created:?}");
    assert_eq!(SYNCS.load(Ordering::SeqCst) - before, 1);
    assert_holds(&journal, &[1; 9], "synced at once").await;
}

/// The disk writes what isn't synced when appends are synced.
#[tokio::test]
async fn a_large_file_is_synced_in_parts() {
    static UNSYNCED: AtomicU64 = AtomicU64::new(0);
    static MOST: AtomicU64 = AtomicU64::new(0);
    struct Counted;
    impl Device for Counted {
        fn write(&self, file: &File, parts: &[Bytes], position: u64) -> io::Result<()> {
            let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
            MOST.fetch_max(UNSYNCED.fetch_add(bytes, Ordering::SeqCst) + bytes, Ordering::SeqCst);
            System.write(file, parts, position)
        }

        fn sync(&self, file: &File) -> io::Result<()> {
            UNSYNCED.store(0, Ordering::SeqCst);
            System.sync(file)
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let journal = try_open(dir.path(), Durability::Fsync, Counted).unwrap();
    let bytes: Bytes = (0..3 * DISK_SYNC_BYTES + 7).map(|at| (at / 1000) as u8).collect();
    journal.create_snapshot(SnapshotName::root(2), bytes.clone()).await.unwrap();
    assert_eq!(journal.snapshot(SnapshotName::root(2)).await.unwrap(), Some(bytes.clone()));
    let (front, rest) = bytes.split_at(DISK_SYNC_BYTES / 3);
    let (middle, rest) = rest.split_at(DISK_SYNC_BYTES * 2 / 3);
    let parts = [&[], front, middle, rest].map(Bytes::copy_from_slice);
    assert!(matches!(journal.create(Source::Merged(1), parts.into()).await, PutResult::Created { .. }));
    assert_eq!(fs::read(dir.path().join(format!("journal/merged/{:020}.seg", 1))).unwrap(), bytes);
    assert_eq!((UNSYNCED.load(Ordering::SeqCst), MOST.load(Ordering::SeqCst)), (0, DISK_SYNC_BYTES as u64));
}

/// Small objects are written, and on the commit thread synced, before the store returns.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a disk that blocks")]
async fn a_commit_that_the_journals_task_writes_counts_with_its_whole_time() {
    const WRITE: Duration = Duration::from_millis(20);
    struct Slow;
    impl Device for Slow {
        fn write(&self, file: &File, parts: &[Bytes], position: u64) -> io::Result<()> {
            std::thread::sleep(WRITE);
            System.write(file, parts, position)
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let opened = try_open(dir.path(), Durability::PageCache, Slow).unwrap();
    let config = opened.settings(JournalConfig::new(1));
    let journal = Journal::open(Arc::new(opened.journal.clone()), Arc::new(SystemClock), config);
    let before = METRICS.commits.seconds.values().sum;
    let create = Control::Create { topic: 0, name: "t".into(), partitions: 1, settings: [].into() };
    journal.change(create).await.unwrap();
    let counted = Duration::from_micros(METRICS.commits.seconds.values().sum - before);
    assert!(counted >= WRITE, "{counted:?} of {WRITE:?}");
}

/// A broker that opens the directory meanwhile reads the segments.
#[tokio::test(start_paused = true)]
async fn segments_that_are_sealed_after_the_directory_is_released_keep_their_length() {
    let dir = tempfile::tempdir().unwrap();
    let journal = unsynced(dir.path());
    create(&journal, 1, 1..200).await;
    let full = segments(dir.path());
    assert!(full.len() > 3, "{full:?}");
    drop(journal);
    let lengths =
        || full.iter().map(|&first| fs::metadata(segment(dir.path(), first)).unwrap().len()).collect::<Vec<_>>();
    let are_sealed =
        || full.iter().rev().skip(1).all(|&first| segment(dir.path(), first).with_extension("idx").exists());
    let released = lengths();
    assert!(!are_sealed());
    while !are_sealed() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(lengths(), released);
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_written_or_visible() {
    static FAILS: AtomicBool = AtomicBool::new(false);
    struct Failing;
    impl Device for Failing {
        fn sync(&self, file: &File) -> io::Result<()> {
            if FAILS.load(Ordering::SeqCst) { Err(Errno::IO.into()) } else { System.sync(file) }
        }
    }
    let dir = tempfile::tempdir().unwrap();
    create(&open(dir.path()), 1, 1..3).await;
    let journal = try_open(dir.path(), Durability::Fsync, Failing).unwrap();
    FAILS.store(true, Ordering::SeqCst);
    assert!(journal.failure().is_none());
    assert_eq!(journal.create(Source::Journal(3), object(2, 3)).await, PutResult::Unknown);
    let failure = journal.failure().unwrap();
    assert!(failure.message.contains("until the broker is restarted"), "{failure}");
    let length = fs::metadata(segment(dir.path(), 3)).unwrap().len();
    for _ in 0..2 {
        assert_eq!(journal.create(Source::Journal(3), object(2, 3)).await, PutResult::Unknown);
    }
    assert_holds(&journal, &[1, 1], "not synced").await;
    assert_eq!(fs::metadata(segment(dir.path(), 3)).unwrap().len(), length);
    drop(journal);
    // It is in the page cache, from which this run syncs it before it reports it.
    assert_holds(&open(dir.path()), &[1, 1, 2], "opened again").await;
}

/// A directory of four objects in one segment, as a machine leaves it that goes down.
struct Crashed {
    dir: TempDir,
    bytes: Vec<u8>,
    /// Where each object's frame begins, and where the last one ends.
    begins: Vec<usize>,
}

impl Crashed {
    async fn new(durability: Durability) -> Crashed {
        let dir = tempfile::tempdir().unwrap();
        let journal = try_open(dir.path(), durability, System).unwrap();
        create(&journal, 1, 1..5).await;
        let entries = journal.inner.segments().values().next().unwrap().entries();
        let mut begins: Vec<_> = entries.iter().map(|entry| (entry.range().start - FRAME_BYTES) as usize).collect();
        begins.push((entries.last().unwrap().range().end as usize).next_multiple_of(8));
        drop(journal);
        let bytes = fs::read(segment(dir.path(), 1)).unwrap();
        assert!(!segment(dir.path(), 1).with_extension("idx").exists());
        Crashed { dir, bytes, begins }
    }

    /// The directory has this segment and nothing else.
    fn put(&self, bytes: &[u8]) {
        let _ = fs::remove_dir_all(self.dir.path().join("journal"));
        fs::create_dir(self.dir.path().join("journal")).unwrap();
        fs::write(segment(self.dir.path(), 1), bytes).unwrap();
    }

    /// Opens the directory with this segment: it has the first `whole` objects. Others take their numbers, and nothing
    /// else becomes visible, now or later.
    async fn check(&self, bytes: &[u8], whole: usize, what: &str) {
        self.put(bytes);
        let dir = self.dir.path();
        // Without syncs, on which the outcome doesn't depend.
        let open = unsynced;
        let mut runs = vec![1; whole];
        let journal = open(dir);
        assert_holds(&journal, &runs, what).await;
        create(&journal, 9, whole as u64 + 1..whole as u64 + 2).await;
        drop(journal);
        runs.push(9);
        assert_holds(&open(dir), &runs, what).await;
    }
}

#[tokio::test]
async fn a_torn_object_is_left_out_and_stays_so() {
    let crashed = Crashed::new(Durability::Fsync).await;
    let last = crashed.begins[3]..crashed.begins[4];
    for position in last.clone().step_by(7) {
        crashed.check(&crashed.bytes[..position], 3, &format!("cut at byte {position}")).await;
        let mut zeros = crashed.bytes.clone();
        zeros[position..].fill(0);
        let whole = if zeros == crashed.bytes { 4 } else { 3 };
        crashed.check(&zeros, whole, &format!("zeros from byte {position}")).await;
        let mut flipped = crashed.bytes.clone();
        flipped[position] ^= 1 << (position % 8);
        let is_padding = flipped[position..last.end].len() <= 7 && crashed.bytes[position..].iter().all(|&b| b == 0);
        if !is_padding {
            crashed.check(&flipped, 3, &format!("a bit of byte {position}")).await;
        }
    }
    crashed.check(&crashed.bytes[..last.end], 4, "cut after it").await;
    crashed.check(&[], 0, "an empty file").await;
}

/// A machine that goes down writes the sectors of what isn't synced in any order: what follows a torn object is left
/// out, although it is whole.
#[tokio::test]
async fn what_follows_a_torn_object_is_left_out() {
    // Commits that are not synced say so in their frames.
    let crashed = Crashed::new(Durability::PageCache).await;
    for torn in 0..4 {
        for position in [crashed.begins[torn], crashed.begins[torn] + 40, crashed.begins[torn + 1] - 9] {
            let mut bytes = crashed.bytes.clone();
            bytes[position..position + 8].fill(0x55);
            crashed.check(&bytes, torn, &format!("object {} at {position}", torn + 1)).await;
        }
    }
}

#[tokio::test]
async fn lost_records_that_were_synced_stop_the_start() {
    let crashed = Crashed::new(Durability::Fsync).await;
    for torn in 0..3 {
        for position in [crashed.begins[torn], crashed.begins[torn] + 40] {
            let mut bytes = crashed.bytes.clone();
            bytes[position..position + 8].fill(0x55);
            crashed.put(&bytes);
            let error = try_open(crashed.dir.path(), Durability::Fsync, System).err().unwrap();
            let at = format!("damaged at byte {} ", crashed.begins[torn]);
            assert!(error.message.contains(&at) && error.message.contains("Restore"), "{error}");
            // As the message says.
            crashed.check(&bytes[..crashed.begins[torn]], torn, "given up").await;
        }
    }
}

#[tokio::test]
async fn a_missing_segment_stops_the_start_unless_a_snapshot_covers_it() {
    let dir = tempfile::tempdir().unwrap();
    let journal = unsynced(dir.path());
    create(&journal, 1, 1..200).await;
    drop(journal);
    // Seals are for what is durable: a crash doesn't explain a segment that is missing before one.
    drop(unsynced(dir.path()));
    let all = segments(dir.path());
    let aside = dir.path().join("aside");
    fs::rename(segment(dir.path(), all[1]), &aside).unwrap();
    let error = try_open(dir.path(), Durability::PageCache, System).err().unwrap();
    assert!(error.message.contains("are missing between"), "{error}");
    fs::rename(&aside, segment(dir.path(), all[1])).unwrap();
    let journal = unsynced(dir.path());
    journal.create_snapshot(SnapshotName::root(all[2] + 1), Bytes::from_static(b"a snapshot")).await.unwrap();
    drop(journal);
    fs::rename(segment(dir.path(), all[1]), &aside).unwrap();
    let journal = unsynced(dir.path());
    assert!(journal.index(Source::Journal(all[1])).await.unwrap().found.is_none());
    assert!(journal.index(Source::Journal(199)).await.unwrap().found.is_some());
    create(&journal, 2, 200..201).await;
}

#[tokio::test]
async fn segments_are_deleted_when_nobody_needs_an_object_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    create(&journal, 1, 1..200).await;
    let all = segments(dir.path());
    let listed = journal.list().await.unwrap();
    assert_eq!(listed.date, DATE + 1, "everything is old");
    let numbers: Vec<u64> = listed.found.objects.iter().map(|key| key.number).collect();
    assert!(numbers.iter().copied().eq(1..200), "{numbers:?}");
    let index = journal.index(Source::Journal(2)).await.unwrap().found.unwrap().index;
    let place = index.pieces().next().unwrap().1.place;
    let held = journal.bytes(place, place.batches()).await.unwrap();

    let delete = async |objects: Vec<u64>| {
        let deleted = journal.delete(Garbage { objects, ..Garbage::default() }).await.unwrap();
        (segments(dir.path()), deleted)
    };
    assert_eq!(delete((1..all[1] - 1).collect()).await, (all.clone(), 0), "one object is needed");
    assert_eq!(delete(vec![all[1] - 1, all[2]]).await, (all[1..].to_vec(), all[1] - 1));
    assert_eq!(held, batch(2).1, "what a reader holds stays");
    assert!(journal.bytes(place, place.batches()).await.unwrap_err().is_gone);
    assert!(journal.list().await.unwrap().found.objects.iter().all(|key| key.number >= all[1] && key.number != all[2]));
    let last = *all.last().unwrap();
    let others = (all[1]..last).filter(|number| *number != all[2]);
    assert_eq!(delete(others.collect()).await, (vec![last], last - all[1]));

    let newest = |covered| journal.shared_files(covered).pop().unwrap();
    let SharedFile { numbers, bytes, covered_bytes, grows } = newest(199);
    assert!(grows && numbers == (last..200) && 0 < covered_bytes && covered_bytes < bytes, "{numbers:?}");
    journal.end_file(numbers.clone(), 10).await.unwrap();
    assert!(newest(200).grows, "that little isn't worth another file");
    journal.end_file(last - 1..last, bytes).await.unwrap();
    assert!(newest(200).grows, "another file");
    journal.end_file(numbers.clone(), bytes).await.unwrap();
    assert!(!newest(200).grows);
    create(&journal, 1, 200..202).await;
    assert_eq!(segments(dir.path()), [last, 200]);
    assert_eq!(delete(numbers.collect()).await, (vec![200], 200 - last));
    drop(journal);
    let journal = try_open(dir.path(), Durability::Fsync, System);
    assert!(journal.err().unwrap().message.contains("missing"), "no snapshot covers what was deleted");
}

#[tokio::test]
async fn drafts_of_snapshots_and_merged_objects_are_not_there() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    // What was not renamed.
    for folder in ["journal/snapshots", "journal/merged"] {
        fs::write(dir.path().join(folder).join(".draft-x"), "a part").unwrap();
    }
    let journal = open(dir.path());
    assert!(!dir.path().join("journal/merged/.draft-x").exists());
    assert_eq!(journal.newest_snapshot().await.unwrap().found, None);
    assert!(journal.list().await.unwrap().found.merged.is_empty());
}
