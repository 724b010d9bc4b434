//! What every store promises, over every store.
// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use bytes::Bytes;
use rawline_broker::Kind;
use rawline_broker::store::{CommitError, ObjectAt};
use rawline_testkit::stores::{
    WRITER_ID, assert_holds, at, bytes_of, commit_some, object, object_of, places_of_objects,
};

#[tokio::test]
async fn what_is_committed_is_listed_and_read() {
    for place in places_of_objects().await {
        let store = place.open().await;
        // Enough for several segments.
        let objects = commit_some(&*store, "t", 100).await;
        assert_holds(&*store, "t", &objects, place.name).await;
        assert_eq!(store.topics().await.unwrap(), ["t"], "{}", place.name);
    }
}

#[tokio::test]
async fn a_location_from_a_commit_is_the_one_in_the_list() {
    for place in places_of_objects().await {
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
    for place in places_of_objects().await {
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
    for place in places_of_objects().await {
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
    for place in places_of_objects().await {
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
    for place in places_of_objects().await {
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
    for place in places_of_objects().await {
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
    for place in places_of_objects().await {
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
    for place in places_of_objects().await {
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
    for place in places_of_objects().await {
        let store = place.open().await;
        let objects = commit_some(&*store, "t", 100).await;
        let held = store.list("t", 0).await.unwrap()[0];
        let bytes = store.get("t", at(&held), 0..held.bytes).await.unwrap();
        let mut left_before = 0;
        for offset in [0, 1, 2, 150, 149, 298] {
            let left = store.delete_before("t", offset).await.unwrap();
            // What was left before may lie after this offset.
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
async fn deleting_everything_keeps_the_newest_object() {
    for place in places_of_objects().await {
        let store = place.open().await;
        let objects = commit_some(&*store, "t", 20).await;
        let before = place.allocated_bytes();
        store.delete_before("t", 60).await.unwrap();
        drop(store);
        let store = place.open().await;
        assert_eq!(store.list("t", 0).await.unwrap().last().unwrap().known.unwrap().next_offset, 60, "{}", place.name);
        assert_holds(&*store, "t", &objects[19..], place.name).await;
        store.commit("t", object_of(60, 1, 3, 20, WRITER_ID + 1)).await.unwrap();
        assert_eq!(store.delete_before("t", 60).await.unwrap(), 60, "{}", place.name);
        assert!(place.allocated_bytes() < before || before == 0, "{}", place.name);
    }
}

#[tokio::test]
async fn a_deleted_topic_leaves_nothing_and_its_name_can_be_used_again() {
    for place in places_of_objects().await {
        let store = place.open().await;
        let empty_bytes = place.allocated_bytes();
        let objects = commit_some(&*store, "t", 40).await;
        store.put_settings("t", Bytes::from_static(b"{}")).await.unwrap();
        let held = store.list("t", 0).await.unwrap()[3];
        let bytes = store.get("t", at(&held), 0..held.bytes).await.unwrap();
        store.mark_deleted("t").await.unwrap();
        // Twice: an earlier run may have done all of it.
        for _ in 0..2 {
            store.delete_topic("t").await.unwrap();
            assert_eq!(store.topics().await.unwrap(), [""; 0], "{}", place.name);
            assert_eq!(store.list("t", 0).await.unwrap(), [], "{}", place.name);
            assert_eq!(store.settings("t").await.unwrap(), None, "{}", place.name);
            assert!(store.get("t", at(&held), 0..held.bytes).await.is_err(), "{}", place.name);
        }
        assert_eq!(bytes, bytes_of(&objects[3]), "{}: bytes that are held outlive their topic", place.name);
        // A directory's own entries may take another block.
        assert!(place.allocated_bytes() <= empty_bytes + 8192, "{}", place.name);

        let new: Vec<_> = (0..30).map(|number| object_of(number * 2, 1, 2, 33, WRITER_ID)).collect();
        for object in &new {
            store.commit("t", object.clone()).await.unwrap();
        }
        assert_holds(&*store, "t", &new, place.name).await;
        drop(store);
        let store = place.open().await;
        assert_holds(&*store, "t", &new, place.name).await;
        assert_eq!(store.settings("t").await.unwrap(), None, "{}", place.name);
    }
}

#[tokio::test]
async fn a_topic_that_is_marked_as_deleted_says_so_or_is_gone_after_a_restart() {
    for place in places_of_objects().await {
        let store = place.open().await;
        commit_some(&*store, "t", 20).await;
        let other = commit_some(&*store, "t.0", 3).await;
        store.put_settings("t", Bytes::from_static(br#"{"payload":"value"}"#)).await.unwrap();
        store.mark_deleted("t").await.unwrap();
        drop(store);
        let store = place.open().await;
        match store.settings("t").await.unwrap() {
            Some(settings) => assert!(settings.starts_with(br#"{"deleted":"#), "{}: {settings:?}", place.name),
            None => assert_eq!(store.list("t", 0).await.unwrap(), [], "{}", place.name),
        }
        store.delete_topic("t").await.unwrap();
        assert_eq!(store.topics().await.unwrap(), ["t.0"], "{}", place.name);
        assert_eq!(store.list("t", 0).await.unwrap(), [], "{}", place.name);
        assert_holds(&*store, "t.0", &other, place.name).await;
    }
}

#[tokio::test]
async fn a_topic_that_does_not_exist_is_deleted_without_an_error() {
    for place in places_of_objects().await {
        let store = place.open().await;
        store.mark_deleted("t").await.unwrap();
        store.delete_topic("t").await.unwrap();
        store.delete_topic("t").await.unwrap();
        assert_eq!(store.topics().await.unwrap(), [""; 0], "{}", place.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_whole_objects_while_commits_go_on() {
    for place in places_of_objects().await {
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
