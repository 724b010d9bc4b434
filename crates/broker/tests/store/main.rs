//! What every store promises, over every store. Where stores differ, [`Differences`] says how.
// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod faults;

use bytes::Bytes;
use futures_util::future::join_all;
use rawline_broker::Kind;
use rawline_broker::store::{PiecePart, Storage, Store};
use rawline_journal::{Batch, Garbage, Id, Index, Listing, Place, PutResult, SnapshotName, Source, build_merged_index};
use rawline_testkit::stores::{
    Home, Object, RUN, assert_holds, create, create_some, object, object_of, places, places_and_clouds,
};

/// How stores differ in what they promise.
struct Differences {
    /// Whether a file has several objects: it is deleted with the last of them.
    shares_files: bool,
    /// Whether deleting counts what was named, because nothing says what was there.
    counts_named: bool,
}

impl Differences {
    fn of(home: &Home) -> Differences {
        let is_disk = home.name.starts_with("disk");
        Differences { shares_files: is_disk, counts_named: home.is_shared() }
    }
}

/// The numbers of the journal objects that are listed, in order.
async fn listed(store: &dyn Store) -> Vec<u64> {
    let mut numbers: Vec<_> = store.list().await.unwrap().found.objects.iter().map(|key| key.number).collect();
    numbers.sort_unstable();
    numbers
}

/// A merged object of the batches of another.
fn merged(number: u64, of: &Object) -> Vec<Bytes> {
    let index = Index::parse(&of.bytes).unwrap();
    let (section, batches) = index.sections().next().unwrap();
    let batches: Vec<Batch> = batches.iter().map(|(batch, _)| *batch).collect();
    let index = build_merged_index(number, Id { run: RUN, commit: number }, 5, &[(section, &batches)]);
    vec![index.into(), of.batches.clone()]
}

/// The place of the only piece of a stored object.
async fn place_of(store: &dyn Store, source: Source) -> Place {
    let index = store.index(source).await.unwrap().found.unwrap().index;
    index.pieces().next().unwrap().1.place
}

/// The index of an object, if it is there.
async fn has(store: &dyn Store, source: Source) -> bool {
    store.index(source).await.unwrap().found.is_some()
}

#[tokio::test]
async fn what_is_created_is_listed_and_read_also_when_opened_again() {
    for home in places_and_clouds().await {
        let mut objects: Vec<Object> = Vec::new();
        for run in 0..3 {
            let storage = home.open().await;
            storage.journal().ready().await.unwrap();
            assert_holds(&storage, &objects, home.name).await;
            // Enough for several segments.
            for number in run * 20 + 1..=run * 20 + 20 {
                let object = object(number, 1, 3);
                create(&storage, &object).await;
                objects.push(object);
            }
            assert_holds(&storage, &objects, home.name).await;
            let store = &**storage.journal();
            assert!(listed(store).await.into_iter().eq(1..=objects.len() as u64), "{}", home.name);
            for from in [1, 7, objects.len() as u64, objects.len() as u64 + 1] {
                let found = store.list_from(from).await.unwrap().objects;
                let mut found: Vec<_> = found.iter().map(|key| key.number).filter(|number| *number >= from).collect();
                found.sort_unstable();
                assert!(found.into_iter().eq(from..=objects.len() as u64), "{}: from {from}", home.name);
            }
        }
    }
}

#[tokio::test]
async fn objects_of_any_size_fit() {
    for home in places().await {
        let storage = home.open().await;
        // Of one byte to 60 KB in segments of 4 KiB; the largest in more pieces than one write takes.
        let sizes = [1, 500, 1, 1, 3000, 2, 400, 1].into_iter().zip(1..);
        let objects: Vec<_> = sizes.map(|(records, number)| object(number, 2, records)).collect();
        for object in &objects {
            create(&storage, object).await;
        }
        assert_holds(&storage, &objects, home.name).await;
        drop(storage);
        assert_holds(&home.open().await, &objects, home.name).await;
    }
}

#[tokio::test]
async fn any_range_of_an_object_is_read() {
    for home in places().await {
        let storage = home.open().await;
        create(&storage, &object(1, 2, 3)).await;
        let object = object(2, 3, 4);
        create(&storage, &object).await;
        let (store, place) = (&**storage.journal(), object.place());
        let end = object.bytes.len();
        for start in (0..end).step_by(7).chain([end]) {
            for end in (start..=end).step_by(13).chain([end]) {
                let bytes = store.bytes(place, start as u64..end as u64).await.unwrap();
                assert_eq!(bytes, object.bytes[start..end], "{}: {start}..{end}", home.name);
            }
        }
        let entries = store.entries(place).await.unwrap();
        assert_eq!(entries, store.bytes(place, place.entries()).await.unwrap(), "{}", home.name);
        let records: Vec<_> = Batch::read_all(&entries).unwrap().iter().map(|batch| batch.records).collect();
        assert_eq!(records, [4, 4, 4], "{}", home.name);
    }
}

/// A store may have nothing at hand. What it returns is right, and of the first pieces.
#[tokio::test]
async fn what_is_in_memory_is_what_was_stored() {
    for home in places().await {
        let storage = home.open().await;
        let objects = create_some(&storage, 30).await;
        let store = &**storage.journal();
        let places: Vec<Place> = objects.iter().map(Object::place).collect();
        for place in &places {
            store.prefetch(*place, place.batches());
        }
        let batches = store.resident(&places, PiecePart::Batches);
        assert!(batches.iter().zip(&objects).all(|(found, object)| *found == object.batches), "{}", home.name);
        let entries = store.resident(&places, PiecePart::Entries);
        for (found, object) in entries.iter().zip(&objects) {
            let range = object.place().entries();
            assert_eq!(*found, object.bytes[range.start as usize..range.end as usize], "{}", home.name);
        }
        // Without the object that is missing, and without those after it.
        let missing = object(99, 1, 3).place();
        let few = store.resident(&[places[0], missing, places[1]], PiecePart::Batches);
        assert!(few.len() <= 1, "{}", home.name);
        assert_holds(&storage, &objects, home.name).await;
    }
}

#[tokio::test]
async fn an_object_is_never_written_over() {
    for home in places_and_clouds().await {
        let storage = home.open().await;
        let objects = create_some(&storage, 5).await;
        for number in [1, 3, 5] {
            let other = object_of(RUN + 1, number, 2, 5, 20);
            let refused = storage.journal().create(other.source(), other.parts()).await;
            assert_eq!(refused, PutResult::Exists, "{}", home.name);
        }
        assert_holds(&storage, &objects, home.name).await;
    }
}

#[tokio::test]
async fn of_eight_writers_of_one_object_one_wins() {
    for home in places_and_clouds().await {
        let mut writers = vec![home.open().await];
        for _ in 1..8 {
            writers.push(other(&home, &writers[0]).await);
        }
        for number in 1..=10 {
            let objects: Vec<_> = (1..=8).map(|run| object_of(run, number, 1, 1, 50)).collect();
            let creates = writers.iter().zip(&objects);
            let created = creates.map(|(writer, object)| writer.journal().create(object.source(), object.parts()));
            let created = join_all(created).await;
            let won = |result: &&PutResult| result.created().is_some();
            assert_eq!(created.iter().filter(won).count(), 1, "{}: {created:?}", home.name);
            let winner = created.iter().position(|result| won(&result)).unwrap();
            let others = created.iter().filter(|result| **result == PutResult::Exists).count();
            assert_eq!(others, 7, "{}: {created:?}", home.name);
            for writer in &writers {
                let read = objects[winner].read(&**writer.journal()).await.unwrap();
                assert_eq!(read, objects[winner].batches, "{}", home.name);
            }
        }
    }
}

/// Merged objects are numbered apart from journal objects, and come in any order.
#[tokio::test]
async fn merged_objects_are_created_once_and_listed_for_themselves() {
    for home in places_and_clouds().await {
        let storage = home.open().await;
        let objects = create_some(&storage, 5).await;
        for number in [3, 1] {
            let (source, store) = (Source::Merged(number), storage.journal());
            let created = store.create(source, merged(number, &objects[1])).await;
            assert!(created.created().is_some(), "{}: {created:?}", home.name);
            let again = store.create(source, merged(number, &objects[2])).await;
            assert_eq!(again, PutResult::Exists, "{}", home.name);
        }
        drop(storage);
        let storage = home.open().await;
        let store = &**storage.journal();
        for number in [1, 3] {
            let place = place_of(store, Source::Merged(number)).await;
            assert_eq!(store.bytes(place, place.batches()).await.unwrap(), objects[1].batches, "{}", home.name);
        }
        let listed = store.list().await.unwrap().found;
        let mut numbers: Vec<_> = listed.merged.iter().map(|key| key.number).collect();
        numbers.sort_unstable();
        assert_eq!((numbers, listed.objects.len()), (vec![1, 3], 5), "{}", home.name);
        store.delete(Garbage { merged: vec![3], ..Garbage::default() }).await.unwrap();
        assert!(!has(store, Source::Merged(3)).await && has(store, Source::Merged(1)).await, "{}", home.name);
        assert_holds(&storage, &objects, home.name).await;
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    for home in places().await {
        let storage = home.open().await;
        let objects = create_some(&storage, 3).await;
        let store = &**storage.journal();
        assert!(has(store, Source::Journal(3)).await, "{}", home.name);
        assert!(!has(store, Source::Journal(4)).await, "{}", home.name);
        assert!(!has(store, Source::Merged(3)).await, "{}", home.name);
        assert_eq!(store.newest_snapshot().await.unwrap().found, None, "{}", home.name);
        assert_eq!(store.snapshot(SnapshotName::root(3)).await.unwrap(), None, "{}", home.name);
        let missing = object(9, 1, 3);
        let errors = [
            missing.read(store).await.unwrap_err(),
            store.entries(missing.place()).await.unwrap_err(),
            store.bytes(missing.place(), missing.place().entries()).await.unwrap_err(),
        ];
        assert!(errors.iter().all(|error| error.is_gone && !error.is_damaged), "{}: {errors:?}", home.name);
        assert!(store.changed().await.unwrap().is_none(), "{}", home.name);
        assert!(store.refusal().is_none() && store.failure().is_none(), "{}", home.name);
        assert_holds(&storage, &objects, home.name).await;
    }
}

#[tokio::test]
async fn snapshots_are_found_by_number_and_the_newest_without() {
    for home in places_and_clouds().await {
        let storage = home.open().await;
        for number in [2, 10, 3] {
            let part = SnapshotName::part(number, 1, 7);
            storage.journal().create_snapshot(part, format!("part of {number}").into()).await.unwrap();
            let root = SnapshotName::root(number);
            storage.journal().create_snapshot(root, format!("snapshot {number}").into()).await.unwrap();
        }
        // Those at one number say the same.
        storage.journal().create_snapshot(SnapshotName::root(10), "snapshot 10".into()).await.unwrap();
        // Without a root it isn't a snapshot.
        storage.journal().create_snapshot(SnapshotName::part(11, 0, 0xab), "part of 11".into()).await.unwrap();
        drop(storage);
        let storage = home.open().await;
        let store = storage.journal();
        let newest = store.newest_snapshot().await.unwrap().found;
        assert_eq!(newest, Some(Bytes::from("snapshot 10")), "{}", home.name);
        let read = async |name| store.snapshot(name).await.unwrap();
        let (root, part) = (SnapshotName::root, SnapshotName::part);
        assert_eq!(read(root(3)).await, Some(Bytes::from("snapshot 3")), "{}", home.name);
        assert_eq!(read(part(3, 1, 7)).await, Some(Bytes::from("part of 3")), "{}", home.name);
        for missing in [root(4), root(11), part(3, 0, 7), part(3, 1, 8), part(4, 1, 7)] {
            assert_eq!(read(missing).await, None, "{}: {missing}", home.name);
        }
        let Listing { snapshots, mut parts, .. } = store.list().await.unwrap().found;
        let mut numbers: Vec<_> = snapshots.iter().map(|key| key.number).collect();
        numbers.sort_unstable();
        parts.sort_unstable();
        assert_eq!(numbers, [2, 3, 10], "{}", home.name);
        assert_eq!(parts, [part(2, 1, 7), part(3, 1, 7), part(10, 1, 7), part(11, 0, 0xab)], "{}", home.name);
        let garbage = Garbage { snapshots: vec![root(2), part(2, 1, 7), part(3, 1, 7)], ..Garbage::default() };
        store.delete(garbage).await.unwrap();
        let Listing { snapshots, parts, .. } = store.list().await.unwrap().found;
        assert_eq!((snapshots.len(), parts.len()), (2, 2), "{}", home.name);
    }
}

#[tokio::test]
async fn deleting_takes_only_what_it_names_and_held_bytes_stay() {
    for home in places_and_clouds().await {
        let differences = Differences::of(&home);
        let storage = home.open().await;
        let objects = create_some(&storage, 30).await;
        let store = &**storage.journal();
        let held = objects[0].read(store).await.unwrap();
        store.create_snapshot(SnapshotName::root(2), "old".into()).await.unwrap();
        store.create_snapshot(SnapshotName::root(31), "new".into()).await.unwrap();
        let garbage = Garbage { objects: (1..=20).collect(), merged: vec![7], snapshots: vec![SnapshotName::root(2)] };
        let freed = store.delete(garbage.clone()).await.unwrap();
        let named = 20 + u64::from(differences.counts_named);
        assert!(freed == named || differences.shares_files && (1..named).contains(&freed), "{}: {freed}", home.name);
        // Those that are gone already don't matter.
        let again = store.delete(garbage).await.unwrap();
        assert_eq!(again, if differences.counts_named { named } else { 0 }, "{}", home.name);
        assert_eq!(held, objects[0].batches, "{}: bytes that are held outlive their object", home.name);
        for object in &objects[20..] {
            assert_eq!(object.read(store).await.unwrap(), object.batches, "{}", home.name);
        }
        drop(storage);
        let storage = home.open().await;
        let store = &**storage.journal();
        let snapshots = store.list().await.unwrap().found.snapshots;
        assert_eq!(snapshots.iter().map(|key| key.number).collect::<Vec<_>>(), [31], "{}", home.name);
        let left = listed(store).await;
        let first = if differences.shares_files { left[0] } else { 21 };
        assert!((2..=21).contains(&first) && left.into_iter().eq(first..=30), "{}: from {first}", home.name);
        let error = objects[0].read(store).await.unwrap_err();
        assert!(error.is_gone, "{}: {error}", home.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_whole_objects_while_others_are_created() {
    for home in places().await {
        let storage = home.open().await;
        let creating = {
            let storage = storage.clone();
            tokio::spawn(async move {
                for number in 1..=200 {
                    create(&storage, &object(number, 1, 3)).await;
                }
            })
        };
        let mut seen = 0;
        while seen < 200 {
            if !has(&**storage.journal(), Source::Journal(seen + 1)).await {
                tokio::task::yield_now().await;
                continue;
            }
            seen += 1;
            let object = object(seen, 1, 3);
            assert_eq!(object.read(&**storage.journal()).await.unwrap(), object.batches, "{}", home.name);
        }
        creating.await.unwrap();
    }
}

/// Another broker's, with a new cache, where several brokers may have the storage open; else the same again.
async fn other(home: &Home, storage: &Storage) -> Storage {
    if home.is_shared() { home.open().await } else { storage.clone() }
}

#[tokio::test]
async fn a_bit_that_flips_is_noticed_by_the_store_or_left_to_its_readers() {
    for home in places().await {
        let storage = home.open().await;
        let objects = create_some(&storage, 3).await;
        let flipped = home.flip(b"record 2001 of");
        if !flipped {
            // No other process can reach memory.
            assert_eq!(home.name, "memory");
            continue;
        }
        let other = other(&home, &storage).await;
        let store = &**other.journal();
        let damaged = objects[1].read(store).await;
        match &damaged {
            // Then readers notice it.
            Ok(bytes) => {
                let is_verified = store.is_verified(objects[1].place(), bytes, 0) && !store.verifies_once();
                assert!(!is_verified && *bytes != objects[1].batches, "{}", home.name);
            }
            Err(error) => assert!(error.is_damaged && error.kind == Kind::TellHuman, "{}: {error}", home.name),
        }
        for intact in [&objects[0], &objects[2]] {
            assert_eq!(intact.read(store).await.unwrap(), intact.batches, "{}: the others are intact", home.name);
        }
        // In the index, which every store checks.
        assert!(home.flip(&objects[2].bytes[..60]), "{}", home.name);
        let error = store.index(Source::Journal(3)).await.unwrap_err();
        assert!(error.kind == Kind::TellHuman && error.message.contains("damaged"), "{}: {error}", home.name);
    }
}

#[tokio::test]
async fn a_storage_that_was_changed_meanwhile_says_so() {
    for home in places().await {
        let storage = home.open().await;
        let objects = create_some(&storage, 3).await;
        let store = &**storage.journal();
        assert!(store.changed().await.unwrap().is_none(), "{}", home.name);
        let Some(dir) = home.dir() else { continue };
        let path = dir.join("storage.json");
        let says = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let changed = store.changed().await.unwrap().unwrap();
        assert!(changed.kind == Kind::TellHuman && changed.message.contains("is gone"), "{}: {changed}", home.name);
        std::fs::write(&path, says).unwrap();
        assert!(store.changed().await.unwrap().is_none(), "{}", home.name);
        assert_holds(&storage, &objects, home.name).await;
    }
}
