//! What every store promises, over every store.
// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use bytes::Bytes;
use rawline_broker::journal::JournalStore;
use rawline_journal::{Garbage, PutResult, Source};
use rawline_testkit::stores::{
    Object, RUN, assert_holds, create, create_some, journal, object, object_of, places, places_and_clouds,
};

#[tokio::test]
async fn what_is_created_is_listed_and_read_also_when_opened_again() {
    for place in places_and_clouds().await {
        let mut objects: Vec<Object> = Vec::new();
        for run in 0..3 {
            let store = place.open().await;
            assert_holds(&*store, &objects, place.name).await;
            // Enough for several segments.
            for number in run * 20 + 1..=run * 20 + 20 {
                let object = object(number, 1, 3);
                create(&*store, &object).await;
                objects.push(object);
            }
            assert_holds(&*store, &objects, place.name).await;
        }
    }
}

#[tokio::test]
async fn objects_of_any_size_fit() {
    for place in places().await {
        let store = place.open().await;
        // Of one byte to 60 KB in segments of 4 KiB; the largest in more pieces than one write takes.
        let sizes = [1, 500, 1, 1, 3000, 2, 400, 1].into_iter().zip(1..);
        let objects: Vec<_> = sizes.map(|(records, number)| object(number, 2, records)).collect();
        for object in &objects {
            create(&*store, object).await;
        }
        assert_holds(&*store, &objects, place.name).await;
        drop(store);
        assert_holds(&*place.open().await, &objects, place.name).await;
    }
}

#[tokio::test]
async fn any_range_of_a_piece_is_read() {
    for place in places().await {
        let store = place.open().await;
        create(&*store, &object(1, 2, 3)).await;
        let object = object(2, 3, 4);
        create(&*store, &object).await;
        let (at, batches_at) = (object.at, object.at.index_bytes());
        let index = store.get("t", at, 0..batches_at).await.unwrap();
        for end in (0..=index.len()).step_by(13).skip(1) {
            assert_eq!(store.get("t", at, 0..end as u64).await.unwrap(), index[..end], "{}: 0..{end}", place.name);
        }
        for start in (0..object.batches.len()).step_by(7) {
            for end in (start + 1..=object.batches.len()).step_by(13) {
                let bytes = store.get("t", at, batches_at + start as u64..batches_at + end as u64).await.unwrap();
                assert_eq!(bytes, object.batches[start..end], "{}: {start}..{end}", place.name);
            }
        }
        let times = store.batch_times("t", at).await.unwrap();
        assert_eq!(times.iter().map(|batch| batch.records).collect::<Vec<_>>(), [4, 4, 4], "{}", place.name);
    }
}

#[tokio::test]
async fn an_object_is_never_written_over() {
    for place in places_and_clouds().await {
        let store = place.open().await;
        let objects = create_some(&*store, 5).await;
        for number in [1, 3, 5] {
            let other = object_of(RUN + 1, number, 2, 5, 20);
            let refused = journal(&*store).create(other.source(), other.parts()).await;
            assert_eq!(refused, PutResult::Exists, "{}", place.name);
        }
        assert_holds(&*store, &objects, place.name).await;
    }
}

/// The index of an object, if it is there.
async fn has(store: &dyn JournalStore, source: Source) -> bool {
    store.index(source).await.unwrap().found.is_some()
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    for place in places().await {
        let store = place.open().await;
        let objects = create_some(&*store, 3).await;
        let journal = journal(&*store);
        assert!(has(&*journal, Source::Journal(3)).await, "{}", place.name);
        assert!(!has(&*journal, Source::Journal(4)).await, "{}", place.name);
        assert!(!has(&*journal, Source::Merged(3)).await, "{}", place.name);
        assert_eq!(journal.newest_snapshot().await.unwrap().found, None, "{}", place.name);
        assert_eq!(journal.snapshot(3).await.unwrap(), None, "{}", place.name);
        let missing = object(9, 1, 3).at.place;
        assert!(journal.bytes(missing, missing.batches()).await.is_err(), "{}", place.name);
        assert_holds(&*store, &objects, place.name).await;
    }
}

#[tokio::test]
async fn snapshots_are_found_by_number_and_the_newest_without() {
    for place in places_and_clouds().await {
        let store = place.open().await;
        for number in [2, 10, 3] {
            journal(&*store).create_snapshot(number, format!("snapshot {number}").into()).await.unwrap();
        }
        // Those at one number say the same.
        journal(&*store).create_snapshot(10, "snapshot 10".into()).await.unwrap();
        drop(store);
        let store = place.open().await;
        let journal = journal(&*store);
        let newest = journal.newest_snapshot().await.unwrap().found;
        assert_eq!(newest, Some(Bytes::from("snapshot 10")), "{}", place.name);
        assert_eq!(journal.snapshot(3).await.unwrap(), Some(Bytes::from("snapshot 3")), "{}", place.name);
        assert_eq!(journal.snapshot(4).await.unwrap(), None, "{}", place.name);
        let listed = journal.list().await.unwrap().found.snapshots;
        assert_eq!(listed.iter().map(|key| key.number).collect::<Vec<_>>().len(), 3, "{}", place.name);
    }
}

#[tokio::test]
async fn deleting_takes_only_what_it_names_and_held_bytes_stay() {
    for place in places_and_clouds().await {
        let store = place.open().await;
        let objects = create_some(&*store, 30).await;
        let at = objects[0].at;
        let held = store.get("t", at, at.index_bytes()..at.bytes).await.unwrap();
        journal(&*store).create_snapshot(2, "old".into()).await.unwrap();
        journal(&*store).create_snapshot(31, "new".into()).await.unwrap();
        let garbage = Garbage { objects: (1..=20).collect(), merged: vec![7], snapshots: vec![2] };
        // Twice: those that are gone already don't matter.
        for _ in 0..2 {
            journal(&*store).delete(garbage.clone()).await.unwrap();
        }
        assert_eq!(held, objects[0].batches, "{}: bytes that are held outlive their object", place.name);
        for object in &objects[20..] {
            let bytes = store.get("t", object.at, object.at.index_bytes()..object.at.bytes).await.unwrap();
            assert_eq!(bytes, object.batches, "{}", place.name);
        }
        drop(store);
        let store = place.open().await;
        let listed = journal(&*store).list().await.unwrap().found;
        assert_eq!(listed.snapshots.iter().map(|key| key.number).collect::<Vec<_>>(), [31], "{}", place.name);
        let mut left: Vec<_> = listed.objects.iter().map(|key| key.number).collect();
        left.sort_unstable();
        // A directory deletes whole segments.
        assert!(left.len() < 20 && left.ends_with(&[29, 30]), "{}: {left:?}", place.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_whole_objects_while_others_are_created() {
    for place in places().await {
        let store = place.open().await;
        let creating = {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 1..=200 {
                    create(&*store, &object(number, 1, 3)).await;
                }
            })
        };
        let mut seen = 0;
        while seen < 200 {
            let found = journal(&*store).index(Source::Journal(seen + 1)).await.unwrap().found;
            if found.is_none() {
                tokio::task::yield_now().await;
                continue;
            }
            seen += 1;
            let object = object(seen, 1, 3);
            let bytes = store.get("t", object.at, object.at.index_bytes()..object.at.bytes).await.unwrap();
            assert_eq!(bytes, object.batches, "{}", place.name);
        }
        creating.await.unwrap();
    }
}
