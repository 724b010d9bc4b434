//! What every store promises, over every store; and what a directory survives.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // Helpers of tests may fail the test.

mod stores;

use rawline_broker::Kind;
use rawline_broker::store::disk::{DiskStore, Durability, Options};
use rawline_broker::store::{CommitError, ObjectAt, Store};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use stores::{SEGMENT_BYTES, WRITER_ID, assert_holds, at, bytes_of, commit_some, object, object_of, places};

#[tokio::test]
async fn what_is_committed_is_listed_and_read() {
    for place in places().await {
        let store = place.open().await;
        // Enough for several segments.
        let objects = commit_some(&*store, "t", 100).await;
        assert_holds(&*store, "t", &objects, place.name).await;
        assert_eq!(store.topics().await.unwrap(), ["t"], "{}", place.name);
    }
}

#[tokio::test]
async fn a_location_from_a_commit_is_the_one_in_the_list() {
    for place in places().await {
        let store = place.open().await;
        for number in 0..60 {
            let location = store.commit("t", object(number, 1, 1)).await.unwrap();
            let listed = store.list("t", number).await.unwrap();
            assert_eq!(listed.len(), 1, "{}", place.name);
            assert_eq!(listed[0].location, location, "{}", place.name);
        }
    }
}

#[tokio::test]
async fn any_range_of_an_object_is_read() {
    for place in places().await {
        let store = place.open().await;
        store.commit("t", object(0, 2, 3)).await.unwrap();
        let object = object(6, 3, 4);
        store.commit("t", object.clone()).await.unwrap();
        let listed = store.list("t", 6).await.unwrap();
        let whole = bytes_of(&object);
        for start in (0..=whole.len()).step_by(7) {
            for end in (start..=whole.len()).step_by(13) {
                let bytes = store.get("t", at(&listed[0]), start as u64..end as u64).await.unwrap();
                assert_eq!(bytes, whole[start..end], "{}: {start}..{end}", place.name);
            }
        }
    }
}

#[tokio::test]
async fn a_range_outside_of_an_object_is_an_error() {
    for place in places().await {
        let store = place.open().await;
        commit_some(&*store, "t", 1).await;
        let listed = store.list("t", 0).await.unwrap();
        let bytes = listed[0].bytes;
        assert!(store.get("t", at(&listed[0]), 0..bytes + 1).await.is_err(), "{}", place.name);
        // The object's length as the caller has it may be wrong too.
        let longer = ObjectAt { bytes: bytes + 1, ..at(&listed[0]) };
        assert!(store.get("t", longer, 0..bytes + 1).await.is_err(), "{}", place.name);
    }
}

#[tokio::test]
async fn an_object_is_never_written_over() {
    for place in places().await {
        let store = place.open().await;
        let objects = commit_some(&*store, "t", 5).await;
        for first_offset in [0, 6, 12] {
            let other = object(first_offset, 2, 5);
            let refused = store.commit("t", other).await;
            assert!(matches!(refused, Err(CommitError::Exists)), "{}: {refused:?}", place.name);
        }
        assert_holds(&*store, "t", &objects, place.name).await;
    }
}

#[tokio::test]
async fn a_list_begins_at_any_offset() {
    for place in places().await {
        let store = place.open().await;
        let objects = commit_some(&*store, "t", 50).await;
        for from in 0..=151 {
            let listed = store.list("t", from).await.unwrap();
            let offsets: Vec<_> = listed.iter().map(|listed| listed.first_offset).collect();
            let firsts = objects.iter().map(|object| object.header.first_offset);
            assert_eq!(offsets, firsts.filter(|&first| first >= from).collect::<Vec<_>>(), "{}: {from}", place.name);
        }
    }
}

#[tokio::test]
async fn topics_are_apart() {
    for place in places().await {
        let store = place.open().await;
        for topic in ["a", "b.c", "B-_d"] {
            commit_some(&*store, topic, 3).await;
        }
        let mut topics = store.topics().await.unwrap();
        topics.sort();
        assert_eq!(topics, ["B-_d", "a", "b.c"], "{}", place.name);
        assert_eq!(store.list("none", 0).await.unwrap(), [], "{}", place.name);
        assert_eq!(store.delete_before("none", 7).await.unwrap(), 7, "{}", place.name);
        let nowhere = store.list("a", 0).await.unwrap()[0];
        assert!(store.get("none", at(&nowhere), 0..1).await.is_err(), "{}", place.name);
        assert_eq!(store.topics().await.unwrap().len(), 3, "{}: asking creates nothing", place.name);
    }
}

#[tokio::test]
async fn what_is_committed_is_there_when_opened_again() {
    for place in places().await {
        let mut objects = Vec::new();
        for run in 0..5 {
            let store = place.open().await;
            assert_holds(&*store, "t", &objects, place.name).await;
            let next = objects.last().map_or(0, |object: &rawline_broker::object::Object| object.header.next_offset());
            for number in 0..30 {
                // Each run of a broker has its own id.
                let object = object_of(next + number * 3, 1, 3, 20, WRITER_ID + run);
                store.commit("t", object.clone()).await.unwrap();
                objects.push(object);
            }
            assert_holds(&*store, "t", &objects, place.name).await;
        }
        // The topic of this store is first seen by `get`.
        let listed = place.open().await.list("t", 0).await.unwrap();
        let store = place.open().await;
        for (listed, object) in listed.iter().zip(&objects) {
            assert_eq!(store.get("t", at(listed), 0..listed.bytes).await.unwrap(), bytes_of(object), "{}", place.name);
        }
    }
}

#[tokio::test]
async fn objects_of_any_size_fit() {
    for place in places().await {
        let store = place.open().await;
        let mut objects = Vec::new();
        let mut next = 0;
        for records in [1, 500, 1, 1, 3000, 2, 400, 1] {
            // Of one byte to 60 KB in segments of 4 KiB; the largest in more pieces than one write takes.
            let object = object(next, 2, records);
            next = object.header.next_offset();
            store.commit("t", object.clone()).await.unwrap();
            objects.push(object);
        }
        assert_holds(&*store, "t", &objects, place.name).await;
        drop(store);
        assert_holds(&*place.open().await, "t", &objects, place.name).await;
    }
}

#[tokio::test]
async fn deleting_takes_only_what_lies_below() {
    for place in places().await {
        let store = place.open().await;
        let objects = commit_some(&*store, "t", 100).await;
        let held = store.list("t", 0).await.unwrap()[0];
        let bytes = store.get("t", at(&held), 0..held.bytes).await.unwrap();
        let mut left_before = 0;
        for offset in [0, 1, 2, 150, 149, 298] {
            let left = store.delete_before("t", offset).await.unwrap();
            // What was left before may lie behind this offset.
            let bounds = left_before..=left_before.max(offset);
            assert!(bounds.contains(&left), "{}: {left} left before {offset}", place.name);
            left_before = left;
            let kept = objects.iter().position(|object| object.header.first_offset == left).unwrap();
            assert_holds(&*store, "t", &objects[kept..], place.name).await;
        }
        assert!(left_before > 200, "{}: {left_before}", place.name);
        assert_eq!(bytes, bytes_of(&objects[0]), "{}: bytes that are held outlive their file", place.name);
        let gone = store.get("t", at(&held), 0..held.bytes).await.unwrap_err();
        assert_eq!(gone.kind, Kind::TryAgain, "{}: {gone}", place.name);

        drop(store);
        let store = place.open().await;
        let listed = store.list("t", 0).await.unwrap();
        assert_eq!(listed[0].first_offset, left_before, "{}", place.name);
        assert_eq!(listed.last().unwrap().first_offset, 297, "{}", place.name);
    }
}

#[tokio::test]
async fn the_end_of_a_log_outlives_the_deletion_of_all_before_it() {
    for durability in [Durability::Fsync, Durability::PageCache] {
        let dir = tempfile::tempdir().unwrap();
        let store = small(dir.path(), durability);
        commit_some(&store, "t", 40).await;
        store.delete_before("t", 120).await.unwrap();
        drop(store);
        let store = small(dir.path(), durability);
        let listed = store.list("t", 0).await.unwrap();
        assert_eq!(listed.last().unwrap().known.unwrap().next_offset, 120);
        store.commit("t", object(120, 1, 1)).await.unwrap();
        // Only now can the records before it go.
        assert_eq!(store.delete_before("t", 120).await.unwrap(), 120);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_whole_objects_while_commits_go_on() {
    for place in places().await {
        let store = place.open().await;
        commit_some(&*store, "t", 1).await;
        let committing = {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 1..200 {
                    store.commit("t", object(number * 3, 1, 3)).await.unwrap();
                }
            })
        };
        let mut seen = 0;
        while seen < 200 {
            let listed = store.list("t", 0).await.unwrap();
            assert!(listed.len() >= seen, "{}", place.name);
            seen = listed.len();
            for listed in listed.iter().rev().take(5) {
                let bytes = store.get("t", at(listed), 0..listed.bytes).await.unwrap();
                assert_eq!(bytes, bytes_of(&object(listed.first_offset, 1, 3)), "{}", place.name);
            }
        }
        committing.await.unwrap();
    }
}

#[tokio::test]
async fn a_commit_that_leaves_a_gap_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), Durability::Fsync);
    let refused = store.commit("t", object(1, 1, 1)).await;
    assert!(matches!(&refused, Err(CommitError::Store(error)) if error.kind == Kind::TellHuman), "{refused:?}");
    let objects = commit_some(&store, "t", 2).await;
    assert!(matches!(store.commit("t", object(7, 1, 1)).await, Err(CommitError::Store(_))));
    assert_holds(&store, "t", &objects, "after the refusals").await;
}

#[tokio::test]
async fn a_topic_cannot_lead_out_of_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(&dir.path().join("inside"), Durability::Fsync);
    for name in ["..", ".", "", "../../x", "a/b", "/tmp"] {
        let refused = store.commit(name, object(0, 1, 1)).await;
        assert!(matches!(&refused, Err(CommitError::Store(error)) if error.kind == Kind::FixRequest), "{name}");
        assert!(store.list(name, 0).await.is_err(), "{name}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_eq!(store.topics().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_directory_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), Durability::Fsync);
    let refused = DiskStore::open(dir.path(), Durability::Fsync).err().unwrap();
    assert_eq!(refused.kind, Kind::TellHuman);
    assert!(refused.message.contains(&dir.path().display().to_string()), "{refused}");
    drop(store);
    small(dir.path(), Durability::Fsync);
}

/// A topic of four objects in one segment that no broker has closed, and a place to put damaged copies of it.
struct Unclosed {
    segment: Vec<u8>,
    objects: Vec<rawline_broker::object::Object>,
    /// Where the last object begins, and its end.
    last: std::ops::Range<usize>,
}

impl Unclosed {
    async fn new() -> Unclosed {
        let dir = tempfile::tempdir().unwrap();
        let store = small(dir.path(), Durability::Fsync);
        let objects = commit_some(&store, "t", 4).await;
        drop(store);
        let lengths: Vec<_> = objects.iter().map(|object| object.header.object_bytes as usize).collect();
        let end = lengths.iter().sum::<usize>();
        let segment = fs::read(segment_file(dir.path(), 0)).unwrap();
        assert_eq!(segment.len() as u64, SEGMENT_BYTES);
        assert!(!dir.path().join("topics/t").join(format!("{:020}.idx", 0)).exists());
        Unclosed { segment, objects, last: end - lengths[3]..end }
    }

    /// Opens a directory whose segment is `segment`; checks that it holds the first `whole` objects, that a commit
    /// behind them works, and that all is there when opened again.
    async fn check(&self, segment: &[u8], whole: usize, durability: Durability, what: &str) {
        let dir = tempfile::tempdir().unwrap();
        put_segment(dir.path(), 0, segment);
        let mut objects = self.objects[..whole].to_vec();
        let store = small(dir.path(), durability);
        assert_holds(&store, "t", &objects, what).await;
        let next = objects.last().map_or(0, |object| object.header.next_offset());
        // From another run, and of another length than what it replaces.
        let object = object_of(next, 1, 2, 33, WRITER_ID + 1);
        store.commit("t", object.clone()).await.unwrap();
        objects.push(object);
        assert_holds(&store, "t", &objects, what).await;
        drop(store);
        assert_holds(&small(dir.path(), durability), "t", &objects, what).await;
    }
}

#[tokio::test]
async fn an_object_cut_off_at_any_byte_is_left_out() {
    let unclosed = Unclosed::new().await;
    for cut in unclosed.last.clone() {
        let what = format!("cut at byte {cut}");
        unclosed.check(&unclosed.segment[..cut], 3, Durability::PageCache, &what).await;
    }
    unclosed.check(&unclosed.segment[..unclosed.last.end], 4, Durability::PageCache, "not cut").await;
}

#[tokio::test]
async fn an_object_with_zeros_from_any_byte_is_left_out() {
    let unclosed = Unclosed::new().await;
    for from in unclosed.last.clone() {
        let mut segment = unclosed.segment.clone();
        segment[from..].fill(0);
        let whole = if segment == unclosed.segment { 4 } else { 3 };
        unclosed.check(&segment, whole, Durability::PageCache, &format!("zeros from byte {from}")).await;
    }
}

#[tokio::test]
async fn an_object_with_any_bit_flipped_is_left_out() {
    let unclosed = Unclosed::new().await;
    for position in unclosed.last.clone() {
        let mut segment = unclosed.segment.clone();
        segment[position] ^= 1 << (position % 8);
        unclosed.check(&segment, 3, Durability::PageCache, &format!("a bit of byte {position}")).await;
    }
}

#[tokio::test]
async fn an_object_that_misses_any_of_its_sectors_is_left_out() {
    // A machine that goes down writes sectors in any order.
    let unclosed = Unclosed::new().await;
    for from in (unclosed.last.start..unclosed.last.end).step_by(32) {
        let mut segment = unclosed.segment.clone();
        let to = (from + 32).min(unclosed.last.end);
        segment[from..to].fill(0);
        let whole = if segment == unclosed.segment { 4 } else { 3 };
        unclosed.check(&segment, whole, Durability::Fsync, &format!("zeros in {from}..{to}")).await;
    }
}

#[tokio::test]
async fn what_lies_behind_the_last_object_is_never_read() {
    let unclosed = Unclosed::new().await;
    for garbage in [vec![0xff; 1], vec![0x5a; 100], b"RAWO".to_vec(), unclosed.segment[..unclosed.last.end].to_vec()] {
        let mut segment = unclosed.segment[..unclosed.last.end].to_vec();
        segment.extend_from_slice(&garbage);
        unclosed.check(&segment, 4, Durability::Fsync, &format!("{} bytes behind", garbage.len())).await;
        segment.resize(SEGMENT_BYTES as usize * 2, 0);
        unclosed.check(&segment, 4, Durability::Fsync, &format!("{} bytes and zeros behind", garbage.len())).await;
    }
    // A whole object with the right offset from another run: what a producer could put into a record.
    let mut segment = unclosed.segment[..unclosed.last.end].to_vec();
    segment.extend_from_slice(&bytes_of(&object_of(12, 1, 3, 20, WRITER_ID + 5)));
    unclosed.check(&segment, 4, Durability::Fsync, "another writer's object").await;
}

#[tokio::test]
async fn damage_before_a_whole_object_is_no_torn_end() {
    let unclosed = Unclosed::new().await;
    // In the third of four objects: its header, its batch.
    let third = unclosed.last.start - unclosed.objects[2].header.object_bytes as usize;
    for position in [third, third + 20, third + 64, third + 100, unclosed.last.start - 30] {
        let mut segment = unclosed.segment.clone();
        segment[position] ^= 0x10;
        let dir = tempfile::tempdir().unwrap();
        put_segment(dir.path(), 0, &segment);
        let store = small(dir.path(), Durability::Fsync);
        let error = store.list("t", 0).await.unwrap_err();
        assert_eq!(error.kind, Kind::TellHuman, "{error}");
        assert!(error.message.contains(&format!("damaged at byte {third}")), "{error}");
        assert!(store.commit("t", object(6, 1, 1)).await.is_err());
        assert_eq!(store.topics().await.unwrap(), ["t"], "it is there, only not usable");
        drop(store);
        assert_eq!(fs::read(segment_file(dir.path(), 0)).unwrap(), segment, "nothing is touched");
        // Without a sync before the answer it is what a machine's crash may leave.
        unclosed.check(&segment, 2, Durability::PageCache, &format!("a bit of byte {position}")).await;
    }
}

#[tokio::test]
async fn a_torn_first_object_makes_room() {
    let unclosed = Unclosed::new().await;
    for cut in [1, 63, 64, 90, 150] {
        unclosed.check(&unclosed.segment[..cut], 0, Durability::Fsync, &format!("cut at {cut}")).await;
    }
    unclosed.check(&[], 0, Durability::Fsync, "an empty file").await;
    unclosed.check(&[0; 10_000], 0, Durability::Fsync, "nothing but zeros").await;
}

#[tokio::test]
async fn an_index_that_is_damaged_or_gone_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), Durability::Fsync);
    let objects = commit_some(&store, "t", 60).await;
    drop(store);
    // The first start seals the newest segment.
    assert_holds(&small(dir.path(), Durability::Fsync), "t", &objects, "first start").await;
    let indexes = files(&dir.path().join("topics/t"), "idx");
    assert_eq!(indexes.len(), files(&dir.path().join("topics/t"), "seg").len());
    assert!(indexes.len() > 3);
    for path in &indexes {
        let whole = fs::read(path).unwrap();
        for position in (0..whole.len()).step_by(11) {
            let mut damaged = whole.clone();
            damaged[position] ^= 1;
            fs::write(path, damaged).unwrap();
            assert_holds(&small(dir.path(), Durability::Fsync), "t", &objects, "damaged").await;
            assert_eq!(fs::read(path).unwrap(), whole, "byte {position}");
        }
        fs::write(path, &whole[..whole.len() - 32]).unwrap();
        assert_holds(&small(dir.path(), Durability::Fsync), "t", &objects, "cut off").await;
        fs::remove_file(path).unwrap();
        assert_holds(&small(dir.path(), Durability::Fsync), "t", &objects, "gone").await;
        assert_eq!(fs::read(path).unwrap(), whole);
    }
}

#[tokio::test]
async fn a_segment_is_cut_to_its_objects_when_it_is_sealed() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), Durability::PageCache);
    let objects = commit_some(&store, "t", 4).await;
    drop(store);
    small(dir.path(), Durability::PageCache).list("t", 0).await.unwrap();
    let bytes: u64 = objects.iter().map(|object| object.header.object_bytes).sum();
    assert_eq!(fs::metadata(segment_file(dir.path(), 0)).unwrap().len(), bytes);
}

#[tokio::test(start_paused = true)]
async fn full_segments_are_sealed_while_commits_go_on() {
    for durability in [Durability::Fsync, Durability::PageCache] {
        let dir = tempfile::tempdir().unwrap();
        let store = small(dir.path(), durability);
        let objects = commit_some(&store, "t", 100).await;
        let topic = dir.path().join("topics/t");
        assert!(files(&topic, "seg").len() > 4);
        // Virtual time passes at once; the threads that seal need some real time.
        let began = std::time::Instant::now();
        while files(&topic, "idx").len() + 1 < files(&topic, "seg").len() {
            assert!(began.elapsed().as_secs() < 60, "only {:?} are sealed", files(&topic, "idx"));
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
        assert_holds(&store, "t", &objects, "sealed").await;
    }
}

#[tokio::test]
async fn a_missing_segment_stops_its_topic_only() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), Durability::Fsync);
    let objects = commit_some(&store, "t", 60).await;
    let whole = commit_some(&store, "whole", 3).await;
    drop(store);
    let segments = files(&dir.path().join("topics/t"), "seg");
    let moved = dir.path().join("moved");
    fs::rename(&segments[1], &moved).unwrap();
    let store = small(dir.path(), Durability::Fsync);
    let error = store.list("t", 0).await.unwrap_err();
    assert_eq!(error.kind, Kind::TellHuman);
    assert!(error.message.contains(segments[2].file_name().unwrap().to_str().unwrap()), "{error}");
    assert_holds(&store, "whole", &whole, "the other topic").await;
    // What the message says helps, without a restart.
    fs::rename(&moved, &segments[1]).unwrap();
    assert_holds(&store, "t", &objects, "put back").await;
}

#[tokio::test]
async fn files_of_others_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), Durability::Fsync);
    let objects = commit_some(&store, "t", 20).await;
    drop(store);
    let topic = dir.path().join("topics/t");
    let names = [
        "notes.txt",
        "1.seg",
        "0000000000000000000x.seg",
        "99999999999999999999.seg",
        "00000000000000000000.seg~",
        "x",
    ];
    for name in names {
        fs::write(topic.join(name), b"not yours").unwrap();
    }
    fs::write(dir.path().join("topics/a file"), b"not a topic").unwrap();
    fs::create_dir(dir.path().join("topics/empty")).unwrap();
    let store = small(dir.path(), Durability::Fsync);
    assert_eq!(store.topics().await.unwrap(), ["t"]);
    assert_holds(&store, "t", &objects, "among others' files").await;
    store.delete_before("t", 50).await.unwrap();
    for name in names {
        assert_eq!(fs::read(topic.join(name)).unwrap(), b"not yours");
    }
}

#[tokio::test]
async fn a_kill_loses_nothing_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for commits in [1, 7, 40, 100, 13] {
        let mut child = child("child_commits_until_killed", dir.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let next_of = |line: String| line.strip_prefix("acknowledged ")?.parse::<u64>().ok();
        for _ in 0..commits {
            acknowledged = lines.by_ref().find_map(next_of).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it had answered before it died counts too.
        acknowledged = lines.filter_map(next_of).last().unwrap_or(acknowledged);

        let store = small(dir.path(), Durability::Fsync);
        let listed = store.list("t", 0).await.unwrap();
        let mut next = 0;
        for listed in &listed {
            assert_eq!(listed.first_offset, next);
            let bytes = store.get("t", at(listed), 0..listed.bytes).await.unwrap();
            let header = rawline_broker::object::verify(&bytes).unwrap();
            next = header.next_offset();
            assert_eq!(bytes, bytes_of(&object_of(listed.first_offset, 1, 3, 100, header.writer_id)));
        }
        assert!(next >= acknowledged, "{next} recovered, {acknowledged} acknowledged");
    }
    assert!(files(&dir.path().join("topics/t"), "seg").len() > 5);
}

#[tokio::test]
#[ignore = "runs as a process of its own, started by another test"]
async fn child_commits_until_killed() {
    let Some(dir) = child_dir() else { return };
    let store = small(&dir, Durability::Fsync);
    let mut next = store.list("t", 0).await.unwrap().last().map_or(0, |listed| listed.known.unwrap().next_offset);
    let writer_id = u64::from(std::process::id());
    loop {
        let object = object_of(next, 1, 3, 100, writer_id);
        store.commit("t", object.clone()).await.unwrap();
        next = object.header.next_offset();
        // One write a line, straight to the pipe.
        std::io::stdout().write_all(format!("acknowledged {next}\n").as_bytes()).unwrap();
    }
}

#[tokio::test]
async fn a_full_disk_passes() {
    let dir = tempfile::tempdir().unwrap();
    // A file system of its own, so small that it is soon full; needs user namespaces, which not every machine allows.
    let mount = r#"mount -t tmpfs -o size=1m tmpfs "$RAWLINE_TEST_CHILD_DIR" || exit 77; exec "$0" "$@""#;
    let child = child("child_fills_its_disk", dir.path());
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount]);
    command.arg(child.get_program()).args(child.get_args());
    command.env("RAWLINE_TEST_CHILD_DIR", dir.path());
    let Ok(output) = command.output() else { return eprintln!("skipped: no unshare") };
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) || stderr.contains("unshare:") {
        return eprintln!("skipped: no file system of its own: {stderr}");
    }
    assert!(output.status.success() && stdout.contains("the disk was full"), "{stdout}{stderr}");
}

#[tokio::test]
#[ignore = "runs as a process of its own, started by another test"]
async fn child_fills_its_disk() {
    let Some(dir) = child_dir() else { return };
    let options = Options { durability: Durability::Fsync, segment_bytes: 64 << 10 };
    let store = DiskStore::open_with(&dir, options).unwrap();
    let mut objects = Vec::new();
    let mut next = 0;
    let error = loop {
        let object = object_of(next, 1, 3, 3000, WRITER_ID);
        match store.commit("t", object.clone()).await {
            Ok(_) => {}
            Err(CommitError::Store(error)) => break error,
            Err(error) => panic!("{error}"),
        }
        next = object.header.next_offset();
        objects.push(object);
        assert!(objects.len() < 1000, "the disk does not fill");
    };
    assert_eq!(error.kind, Kind::Wait, "{error}");
    assert!(error.message.contains("free disk space"), "{error}");
    assert!(objects.len() > 20);
    assert_holds(&store, "t", &objects, "when full").await;
    assert!(store.commit("t", object_of(next, 1, 3, 3000, WRITER_ID)).await.is_err(), "still full");

    // A start with a full disk works, and so does reading.
    drop(store);
    let store = DiskStore::open_with(&dir, options).unwrap();
    assert_holds(&store, "t", &objects, "opened when full").await;

    let left = store.delete_before("t", next / 2).await.unwrap();
    assert!(left > 0);
    objects.retain(|object| object.header.first_offset >= left);
    let object = object_of(next, 2, 2, 2000, WRITER_ID + 1);
    store.commit("t", object.clone()).await.unwrap();
    objects.push(object);
    assert_holds(&store, "t", &objects, "after space was freed").await;
    drop(store);
    assert_holds(&DiskStore::open_with(&dir, options).unwrap(), "t", &objects, "opened again").await;
    println!("the disk was full");
}

#[tokio::test]
async fn cold_bytes_are_read_from_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Fsync, segment_bytes: 1 << 20 };
    let store = DiskStore::open_with(dir.path(), options).unwrap();
    let mut objects = Vec::new();
    for number in 0..10 {
        let object = object_of(number * 200, 1, 200, 1000, WRITER_ID);
        store.commit("t", object.clone()).await.unwrap();
        objects.push(object);
    }
    for path in files(&dir.path().join("topics/t"), "seg") {
        // The page cache lets go of what is on the disk and not mapped.
        let file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
    assert_holds(&store, "t", &objects, "cold").await;
    assert_holds(&store, "t", &objects, "warm").await;
}

/// A directory with short segments, so that a few objects fill several.
fn small(dir: &Path, durability: Durability) -> DiskStore {
    DiskStore::open_with(dir, Options { durability, segment_bytes: SEGMENT_BYTES }).unwrap()
}

fn segment_file(dir: &Path, first_offset: u64) -> PathBuf {
    dir.join(format!("topics/t/{first_offset:020}.seg"))
}

fn put_segment(dir: &Path, first_offset: u64, bytes: &[u8]) {
    fs::create_dir_all(dir.join("topics/t")).unwrap();
    let file = File::create(segment_file(dir, first_offset)).unwrap();
    file.write_all_at(bytes, 0).unwrap();
}

/// The files with this ending, in order.
fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    paths
}

/// This test program again, running one of its ignored tests over `dir`.
fn child(test: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command.env("RAWLINE_TEST_CHILD_DIR", dir);
    command
}

fn child_dir() -> Option<PathBuf> {
    std::env::var_os("RAWLINE_TEST_CHILD_DIR").map(PathBuf::from)
}
