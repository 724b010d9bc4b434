//! The files of a directory: segments, their indexes, the lock, and files of others.

use crate::support::{files, segment_file, segments, small};
use rawline_broker::Kind;
use rawline_broker::store::disk::{DiskStore, Durability, Options};
use rawline_broker::store::{CommitError, Store};
use rawline_testkit::stores::{WRITER_ID, assert_holds, commit_some, object, object_of};
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

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

/// Otherwise a topic that keeps little would take up two segments of full length.
#[tokio::test]
async fn a_segment_of_which_half_is_deleted_takes_no_more_commits() {
    for durability in [Durability::Fsync, Durability::PageCache] {
        let dir = tempfile::tempdir().unwrap();
        let open = |bytes| DiskStore::open_with(dir.path(), Options { durability, ..segments(bytes) }).unwrap();
        let store = open(1 << 20);
        commit_some(&store, "t", 200).await;
        let segments = || files(&dir.path().join("topics/t"), "seg").len();
        // Less than half, and less than a 64th of a segment.
        for offset in [270, 30] {
            assert_eq!(store.delete_before("t", offset).await.unwrap(), 0);
        }
        store.commit("t", object(600, 1, 3)).await.unwrap();
        assert_eq!(segments(), 1);
        assert_eq!(store.delete_before("t", 303).await.unwrap(), 0);
        store.commit("t", object(603, 1, 3)).await.unwrap();
        assert_eq!(segments(), 2);
        assert_eq!(store.delete_before("t", 603).await.unwrap(), 603);
        assert_eq!(segments(), 1);
        drop(store);
        assert_holds(&open(1 << 20), "t", &[object(603, 1, 3)], "after a restart").await;
    }
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
async fn a_topic_that_cannot_be_recovered_is_not_walked_for_every_request() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), Durability::Fsync);
    let objects = commit_some(&store, "t", 60).await;
    drop(store);
    let topic = dir.path().join("topics/t");
    let changed_at = |time| File::open(&topic).unwrap().set_modified(time).unwrap();
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let segments = files(&topic, "seg");
    let moved = dir.path().join("moved");
    fs::rename(&segments[1], &moved).unwrap();
    changed_at(long_ago);
    let store = small(dir.path(), Durability::Fsync);
    let error = store.list("t", 0).await.unwrap_err().to_string();
    // With the segment back and the directory's time unchanged, only a walk would notice.
    fs::rename(&moved, &segments[1]).unwrap();
    changed_at(long_ago);
    for _ in 0..3 {
        assert_eq!(store.list("t", 0).await.unwrap_err().to_string(), error);
    }
    changed_at(long_ago + std::time::Duration::from_secs(1));
    assert_holds(&store, "t", &objects, "after a change").await;
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
async fn cold_bytes_are_read_from_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let store = DiskStore::open_with(dir.path(), segments(1 << 20)).unwrap();
    let mut objects = Vec::new();
    for number in 0..10 {
        let object = object_of(number * 200, 1, 200, 1000, WRITER_ID);
        store.commit("t", object.clone()).await.unwrap();
        objects.push(object);
    }
    for path in files(&dir.path().join("topics/t"), "seg") {
        // The page cache drops what is on the disk and not mapped.
        let file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
    assert_holds(&store, "t", &objects, "cold").await;
    assert_holds(&store, "t", &objects, "warm").await;
}

#[tokio::test(start_paused = true)]
async fn a_segment_of_a_deleted_topic_that_was_to_be_sealed_leaves_the_new_topics_files_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), Durability::PageCache);
    commit_some(&store, "t", 100).await;
    assert_eq!(files(&dir.path().join("topics/t"), "idx"), [""; 0].map(PathBuf::from), "they are sealed later");
    store.mark_deleted("t").await.unwrap();
    store.delete_topic("t").await.unwrap();
    let new: Vec<_> = (0..100).map(|number| object_of(number * 2, 1, 2, 33, WRITER_ID)).collect();
    for object in &new {
        store.commit("t", object.clone()).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_holds(&store, "t", &new, "after the time of sealing").await;
    drop(store);
    assert_holds(&small(dir.path(), Durability::PageCache), "t", &new, "after a restart").await;
}

#[tokio::test]
async fn the_next_start_removes_what_is_left_of_a_deleted_topic() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), Durability::Fsync);
    commit_some(&store, "t", 20).await;
    // Killed before the files are removed.
    store.mark_deleted("t").await.unwrap();
    drop(store);
    let left = dir.path().join("topics/.deleted.t.0");
    assert!(left.is_dir());
    let store = small(dir.path(), Durability::Fsync);
    assert_eq!(store.topics().await.unwrap(), [""; 0]);
    while left.exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    commit_some(&store, "t", 3).await;
}

#[tokio::test]
async fn a_topic_that_can_not_be_recovered_is_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path(), Durability::Fsync);
    commit_some(&store, "t", 100).await;
    drop(store);
    fs::remove_file(&files(&dir.path().join("topics/t"), "seg")[1]).unwrap();
    let store = small(dir.path(), Durability::Fsync);
    assert!(store.list("t", 0).await.is_err());
    store.mark_deleted("t").await.unwrap();
    store.delete_topic("t").await.unwrap();
    assert_eq!(store.topics().await.unwrap(), [""; 0]);
    let objects = commit_some(&store, "t", 3).await;
    assert_holds(&store, "t", &objects, "a new topic").await;
}
