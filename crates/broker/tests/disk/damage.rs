//! Acknowledged objects that the disk lost: everything else is served, and nothing is appended.

use crate::support::{Unclosed, files, put_segment, segment_file, small};
use bytes::Bytes;
use rawline_batch::{Checker, Codec, Limits};
use rawline_broker::object::{Object, Stamp};
use rawline_broker::store::disk::{DiskStore, Durability};
use rawline_broker::store::{CommitError, Store};
use rawline_broker::{Broker, Config, Kind, ReadError, ReadRequest, Received};
use rawline_testkit::stores::{WRITER_ID, assert_holds, at, bytes_of, object_of, stamped};
use std::fs;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A directory whose only segment was never sealed, as a killed broker leaves it.
struct Killed {
    dir: TempDir,
    objects: Vec<Object>,
    /// Where each object lies in the segment.
    ranges: Vec<Range<usize>>,
    segment: Vec<u8>,
}

impl Killed {
    fn new(objects: Vec<Object>) -> Killed {
        let mut segment = Vec::new();
        let mut ranges = Vec::new();
        for object in &objects {
            let start = segment.len();
            segment.extend(bytes_of(object));
            ranges.push(start..segment.len());
        }
        // Preallocated, as long as a segment takes appends.
        segment.resize(segment.len() + 65_536, 0);
        let dir = tempfile::tempdir().unwrap();
        put_segment(dir.path(), 0, &segment);
        Killed { dir, objects, ranges, segment }
    }

    fn of(count: u64) -> Killed {
        Killed::new((0..count).map(|number| object_of(number * 3, 1, 3, 40, WRITER_ID)).collect())
    }

    /// Writes the segment with a change.
    fn damage(&self, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
        let mut segment = self.segment.clone();
        change(&mut segment);
        put_segment(self.dir.path(), 0, &segment);
        segment
    }

    fn open(&self) -> DiskStore {
        small(self.dir.path(), Durability::Fsync)
    }

    fn next_offset(&self) -> u64 {
        self.objects.last().unwrap().header.next_offset()
    }

    /// Checks that all objects but number `damaged` are served, that the topic refuses appends, and that the segment's
    /// file is as it was.
    async fn assert_read_only(&self, damaged: usize, segment: &[u8], what: &str) {
        let store = self.open();
        assert_intact(&store, &self.objects, Some(damaged), what).await;
        assert_refused(&store, self.next_offset(), self.ranges[damaged].start, what).await;
        assert_eq!(store.topics().await.unwrap(), ["t"], "{what}");
        drop(store);
        let found = fs::read(segment_file(self.dir.path(), 0)).unwrap();
        assert!(found == segment, "{what}: the file was changed");
        assert_eq!(files(&self.dir.path().join("topics/t"), "idx").len(), 0, "{what}: nothing vouches for it");
    }
}

/// Checks that the topic lists every record, and that the bytes of all objects but number `damaged` are right.
async fn assert_intact(store: &DiskStore, objects: &[Object], damaged: Option<usize>, what: &str) {
    let listed = store.list("t", 0).await.unwrap();
    let offsets: Vec<_> = listed.iter().map(|listed| listed.first_offset).collect();
    assert_eq!(offsets, objects.iter().map(|object| object.header.first_offset).collect::<Vec<_>>(), "{what}");
    for (number, (listed, object)) in listed.iter().zip(objects).enumerate() {
        assert_eq!(listed.known.unwrap().next_offset, object.header.next_offset(), "{what}");
        let bytes = store.get("t", at(listed), 0..listed.bytes).await.unwrap();
        if damaged == Some(number) {
            assert!(rawline_broker::object::verify(&bytes).is_err(), "{what}: object {number}");
        } else {
            assert!(bytes == bytes_of(object), "{what}: object {number}");
        }
    }
}

async fn assert_refused(store: &DiskStore, next_offset: u64, position: usize, what: &str) {
    for _ in 0..2 {
        let refused = store.commit("t", object_of(next_offset, 1, 1, 20, WRITER_ID + 1)).await;
        let Err(CommitError::Store(error)) = refused else { panic!("{what}: {refused:?}") };
        assert_eq!(error.kind, Kind::TellHuman, "{what}: {error}");
        assert!(error.message.contains(&format!("damaged at byte {position} ")), "{what}: {error}");
        assert!(error.message.contains("Restore the file from a copy"), "{what}: {error}");
    }
}

#[tokio::test]
async fn a_zeroed_header_hides_no_object_after_it() {
    let killed = Killed::of(100);
    for number in [1, 50, 98] {
        let start = killed.ranges[number].start;
        let segment = killed.damage(|segment| segment[start..start + 64].fill(0));
        killed.assert_read_only(number, &segment, &format!("object {number}")).await;
    }
    // Nothing is left that says whose the first segment is. No object is served, but no offset is given twice either.
    let segment = killed.damage(|segment| segment[..64].fill(0));
    let store = killed.open();
    assert_eq!(store.list("t", 0).await.unwrap(), []);
    assert_refused(&store, 0, 0, "the first object").await;
    assert_eq!(store.topics().await.unwrap(), ["t"], "the topic is not an empty one");
    drop(store);
    assert!(fs::read(segment_file(killed.dir.path(), 0)).unwrap() == segment, "the file was changed");
}

#[tokio::test]
async fn a_flipped_bit_in_the_newest_segment_costs_its_object_only() {
    let killed = Killed::of(5);
    for number in 0..4 {
        for position in killed.ranges[number].clone() {
            let segment = killed.damage(|segment| segment[position] ^= 1 << (position % 8));
            killed.assert_read_only(number, &segment, &format!("byte {position} of object {number}")).await;
        }
    }
}

#[tokio::test]
async fn a_flipped_bit_in_the_last_object_is_no_interrupted_write() {
    let killed = Killed::of(4);
    let last = killed.ranges[3].clone();
    let index_end = last.start + 64 + 24;
    for position in last.clone() {
        let segment = killed.damage(|segment| segment[position] ^= 1 << (position % 8));
        let what = format!("byte {position}");
        if position >= index_end {
            killed.assert_read_only(3, &segment, &what).await;
            continue;
        }
        // How many records it had is not known for sure.
        let store = killed.open();
        assert_intact(&store, &killed.objects[..3], None, &what).await;
        assert_refused(&store, 9, last.start, &what).await;
        drop(store);
        assert!(fs::read(segment_file(killed.dir.path(), 0)).unwrap() == segment, "{what}: the file was changed");
    }
    // The header's bytes are gone, but what stands next to them in the same sector was written.
    let segment = killed.damage(|segment| segment[last.start..last.start + 64].fill(0));
    let store = killed.open();
    assert_intact(&store, &killed.objects[..3], None, "no header").await;
    assert_refused(&store, 9, last.start, "no header").await;
    drop(store);
    assert!(fs::read(segment_file(killed.dir.path(), 0)).unwrap() == segment, "the file was changed");
}

/// A long object, and one that was written while the long one was synced.
fn two_in_flight(confirmed_next_offset: Option<u64>) -> Killed {
    let stamp = |first_offset| Stamp {
        first_offset,
        appended_us: 1,
        writer_id: WRITER_ID,
        commit: first_offset,
        confirmed_next_offset: confirmed_next_offset.map(|confirmed| confirmed.min(first_offset)),
    };
    let before = object_of(0, 1, 3, 40, WRITER_ID);
    Killed::new(vec![before, stamped(stamp(3), 1, 7, 100_000), stamped(stamp(10), 1, 3, 40)])
}

#[tokio::test]
async fn two_writes_in_flight_at_a_crash_are_not_taken_for_damage() {
    // Both headers say that the records before the long object were confirmed; earlier brokers did not say.
    for confirmed in [Some(3), None] {
        let killed = two_in_flight(confirmed);
        let page = killed.ranges[1].start.next_multiple_of(4096);
        for missing in [page..page + 4096, killed.ranges[1].start..page] {
            let segment = killed.damage(|segment| segment[missing.clone()].fill(0));
            let what = format!("{confirmed:?}: {missing:?} is missing");
            let store = killed.open();
            assert_holds(&store, "t", &killed.objects[..1], &what).await;
            let next = object_of(3, 2, 2, 30, WRITER_ID + 1);
            store.commit("t", next.clone()).await.unwrap();
            let objects = [killed.objects[0].clone(), next];
            assert_holds(&store, "t", &objects, &what).await;
            drop(store);
            let store = killed.open();
            assert_holds(&store, "t", &objects, &what).await;
            drop(store);
            let found = fs::read(segment_file(killed.dir.path(), 0)).unwrap();
            assert!(found == segment, "{what}: a person can still look at it");
            fs::remove_dir_all(killed.dir.path().join("topics/t")).unwrap();
        }
    }
}

#[tokio::test]
async fn a_confirmed_object_that_misses_a_page_is_damage() {
    let killed = two_in_flight(Some(10));
    let page = killed.ranges[1].start.next_multiple_of(4096);
    for missing in [page..page + 4096, killed.ranges[1].start..page] {
        let segment = killed.damage(|segment| segment[missing.clone()].fill(0));
        killed.assert_read_only(1, &segment, &format!("{missing:?} is missing")).await;
    }
}

#[tokio::test]
async fn damage_in_a_page_cache_directory_ends_the_log() {
    // Without a sync before the answer it is what a machine's crash may leave.
    let unclosed = Unclosed::new().await;
    let third = unclosed.last.start - unclosed.objects[2].header.object_bytes as usize;
    for position in [third, third + 20, third + 64, third + 100, unclosed.last.start - 30] {
        let mut segment = unclosed.segment.clone();
        segment[position] ^= 0x10;
        unclosed.check(&segment, 2, Durability::PageCache, &format!("a bit of byte {position}")).await;
    }
}

#[tokio::test]
async fn damaged_records_can_be_given_up() {
    let killed = Killed::of(10);
    let start = killed.ranges[4].start;
    let segment = killed.damage(|segment| segment[start..start + 64].fill(0));
    killed.assert_read_only(4, &segment, "before").await;

    let accept = segment_file(killed.dir.path(), 0).with_extension("accept");
    let store = killed.open();
    let error = store.commit("t", object_of(30, 1, 3, 40, WRITER_ID + 1)).await.unwrap_err().to_string();
    assert!(error.contains(accept.file_name().unwrap().to_str().unwrap()), "{error}");
    drop(store);
    fs::write(&accept, "").unwrap();

    let mut objects = killed.objects.clone();
    for run in 1..3 {
        let store = killed.open();
        let next = objects.last().unwrap().header.next_offset();
        let object = object_of(next, 1, 3, 40, WRITER_ID + run);
        store.commit("t", object.clone()).await.unwrap();
        objects.push(object);
        assert_intact(&store, &objects, Some(4), "given up").await;
    }
}

#[tokio::test]
async fn damage_is_gone_when_the_file_is_restored() {
    let killed = Killed::of(10);
    let start = killed.ranges[4].start;
    let segment = killed.damage(|segment| segment[start] ^= 4);
    killed.assert_read_only(4, &segment, "damaged").await;
    killed.damage(|_| ());
    let store = killed.open();
    assert_holds(&store, "t", &killed.objects, "restored").await;
    store.commit("t", object_of(30, 1, 3, 40, WRITER_ID + 1)).await.unwrap();
}

#[tokio::test]
async fn damage_in_an_older_segment_without_an_index_costs_its_object_only() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), Durability::Fsync);
    let objects = rawline_testkit::stores::commit_some(&store, "t", 60).await;
    drop(store);
    drop(small(dir.path(), Durability::Fsync).list("t", 0).await.unwrap());
    let topic = dir.path().join("topics/t");
    let segments = files(&topic, "seg");
    assert!(segments.len() > 3);
    let whole = fs::read(&segments[1]).unwrap();
    let first: u64 = segments[1].file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let first = (first / 3) as usize;
    let starts: Vec<_> = objects[first..]
        .iter()
        .scan(0, |end, object| {
            let start = *end;
            *end += object.header.object_bytes as usize;
            Some(start)
        })
        .take_while(|&start| start < whole.len())
        .collect();
    for (number, &start) in starts.iter().enumerate() {
        for position in [start, start + 9, start + 70, start + 100] {
            let _ = fs::remove_file(segments[1].with_extension("idx"));
            let mut damaged = whole.clone();
            damaged[position] ^= 1;
            fs::write(&segments[1], &damaged).unwrap();
            let store = small(dir.path(), Durability::Fsync);
            let what = format!("byte {position} of object {number} of {}", starts.len());
            assert_intact(&store, &objects, Some(first + number), &what).await;
            assert_refused(&store, 180, start, &what).await;
        }
    }
}

struct Stopped;

impl rawline_broker::Clock for Stopped {
    fn now_us(&self) -> u64 {
        3_000_000
    }
}

#[tokio::test]
async fn a_broker_serves_a_damaged_topic_and_says_why_it_takes_no_appends() {
    let killed = Killed::of(10);
    let start = killed.ranges[4].start;
    killed.damage(|segment| segment[start..start + 64].fill(0));
    let broker = Broker::open(Arc::new(killed.open()), Arc::new(Stopped), Config::new(9)).await.unwrap();
    let topic = broker.topic("t").await.unwrap();
    assert_eq!((topic.status().first_offset, topic.status().next_offset), (0, 30));

    let read = |offset| ReadRequest { offset, records_max: 0, bytes_max: 0, wait: Duration::ZERO, verify: false };
    let before = topic.read(&read(0)).await.unwrap();
    assert_eq!((before.first_offset, before.end_offset), (0, 12));
    let damaged = topic.read(&read(12)).await.unwrap_err();
    assert!(matches!(damaged, ReadError::Damaged { first_offset: 12, .. }), "{damaged}");
    let after = topic.read(&read(15)).await.unwrap();
    assert_eq!((after.first_offset, after.end_offset), (15, 30));

    let batch = Bytes::from(rawline_testkit::batches::batch(Codec::None, &[b"one more".to_vec()]));
    let mut checker = Checker::new(Limits::default());
    checker.push(&batch).unwrap();
    let received = Received::new(vec![batch], checker).unwrap();
    let refused = topic.append(received).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::TellHuman);
    assert!(refused.to_string().contains("Restore the file from a copy"), "{refused}");
}
