//! The cache of an S3 store: single downloads, its bound, damage, a full disk.

use crate::http::{Act, Proxy, Request};
use crate::machine::{CACHE_BYTES, Machine, first, flip_byte};
use futures_util::future::join_all;
use rawline_broker::Kind;
use rawline_broker::object::Object;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::{ObjectAt, Store};
use rawline_testkit::s3_server::{bucket, variables};
use rawline_testkit::stores::{assert_holds, at, bytes_of, commit_some, object, object_of};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[tokio::test]
async fn what_was_just_committed_is_read_without_the_server() {
    let bucket = bucket().await;
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    for number in 0..10 {
        let object = object(number * 3, 1, 3);
        let location = machine.store.commit("t", object.clone()).await.unwrap();
        let bytes = object.header.object_bytes;
        let place = ObjectAt { first_offset: number * 3, location, bytes };
        assert_eq!(machine.store.get("t", place, 0..bytes).await.unwrap(), bytes_of(&object));
    }
    assert_eq!(proxy.count("GET"), 0);
    // A list gives the same names to the same copies.
    let listed = machine.list().await;
    let gets = proxy.count("GET");
    for listed in &listed {
        machine.read(listed).await.unwrap();
    }
    assert_eq!(proxy.count("GET"), gets);
}

#[tokio::test]
async fn one_download_serves_all_who_ask() {
    let bucket = bucket().await;
    let objects = commit_some(&Machine::new(&bucket).await.store, "t", 2).await;
    let rule = first(
        1,
        |request| request.is_for_object("GET") && request.header("range").is_none(),
        Act::Refuse("403 Forbidden", "AccessDenied"),
    );
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let listed = machine.list().await;
    let before = proxy.count("GET");

    let refused = join_all((0..32).map(|_| machine.read(&listed[0]))).await;
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(error.kind == Kind::TellHuman && error.message.contains("access is denied"), "{error}");
    }
    assert_eq!(proxy.count("GET") - before, 1, "all of them failed with the one download");

    let read = join_all((0..32).map(|_| machine.read(&listed[0]))).await;
    assert!(read.into_iter().all(|bytes| bytes.unwrap() == bytes_of(&objects[0])));
    assert_eq!(proxy.count("GET") - before, 2, "the next to ask asked again, once");
}

#[tokio::test]
async fn a_download_goes_on_when_nobody_waits_for_it_any_more() {
    let bucket = bucket().await;
    let objects = commit_some(&Machine::new(&bucket).await.store, "t", 1).await;
    let rule = first(
        1,
        |request| request.is_for_object("GET") && request.header("range").is_none(),
        Act::Delay(Duration::from_millis(50)),
    );
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let listed = machine.list().await;
    let before = proxy.count("GET");
    let impatient = tokio::time::timeout(Duration::from_millis(5), machine.read(&listed[0])).await;
    assert!(impatient.is_err());
    assert_eq!(machine.read(&listed[0]).await.unwrap(), bytes_of(&objects[0]));
    assert_eq!(proxy.count("GET") - before, 1);
}

#[tokio::test]
async fn a_download_that_breaks_goes_on_where_it_was() {
    let bucket = bucket().await;
    let big = object_of(0, 4, 50, 5000, 1);
    Machine::new(&bucket).await.store.commit("t", big.clone()).await.unwrap();
    let is_whole = |request: &Request| {
        request.is_for_object("GET") && !request.header("range").is_some_and(|range| range.starts_with("bytes=0-"))
    };
    let proxy = Proxy::start(bucket.address, first(3, is_whole, Act::CutAnswer(300_000))).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let listed = machine.list().await;
    assert_eq!(machine.read(&listed[0]).await.unwrap(), bytes_of(&big));
    let requests = proxy.requests.lock().unwrap();
    let resumed = requests.iter().filter(|request| is_whole(request) && request.header("range").is_some());
    assert_eq!(resumed.count(), 3);
}

#[tokio::test]
async fn a_header_is_read_without_fetching_its_object() {
    let bucket = bucket().await;
    // The index of 200 batches is longer than the first look at it.
    let objects = [object(0, 1, 3), object(3, 200, 1)];
    let writer = Machine::new(&bucket).await;
    for object in &objects {
        writer.store.commit("t", object.clone()).await.unwrap();
    }
    let machine = Machine::new(&bucket).await;
    for (listed, object) in machine.list().await.iter().zip(&objects) {
        assert_eq!(machine.store.get("t", at(listed), 0..64).await.unwrap(), bytes_of(object)[..64]);
    }
    assert_eq!((machine.cache.bytes(), machine.copies().len()), (0, 0));
}

#[tokio::test]
async fn the_cache_keeps_to_its_bound_and_to_what_was_used_last() {
    let bucket = bucket().await;
    let objects: Vec<Object> = (0..8).map(|number| object_of(number * 10, 1, 10, 1000, 1)).collect();
    let object_bytes = objects[0].header.object_bytes;
    let writer = Machine::new(&bucket).await;
    for object in &objects {
        writer.store.commit("t", object.clone()).await.unwrap();
    }
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let machine =
        Machine::with(&bucket, object_bytes * 3 + 100, |config| config.variables = variables(proxy.address)).await;
    let listed = machine.list().await;
    let mut held = Vec::new();
    for (listed, object) in listed.iter().zip(&objects) {
        held.push(machine.store.get("t", at(listed), 0..listed.bytes).await.unwrap());
        // The first is used again and again, so it is never the one that goes.
        machine.read(&machine.list().await[0]).await.unwrap();
        assert!(machine.cache.bytes() <= object_bytes * 3 + 100);
        assert!(machine.copies().len() <= 3);
        assert_eq!(held.last().unwrap(), &bytes_of(object));
    }
    let gets = || {
        proxy
            .requests
            .lock()
            .unwrap()
            .iter()
            .filter(|request| request.is_for_object("GET") && request.header("range").is_none())
            .count()
    };
    assert_eq!(gets(), 8);
    machine.read(&listed[0]).await.unwrap();
    machine.read(&listed[7]).await.unwrap();
    assert_eq!(gets(), 8, "these are cached");
    machine.read(&listed[3]).await.unwrap();
    assert_eq!(gets(), 9, "this was evicted");
    // Bytes of evicted copies stay valid for whoever holds them.
    assert!(held.iter().zip(&objects).all(|(bytes, object)| bytes == &bytes_of(object)));
}

#[tokio::test]
async fn an_object_larger_than_the_cache_is_read_all_the_same() {
    let bucket = bucket().await;
    let objects = [object_of(0, 1, 10, 1000, 1), object_of(10, 1, 1, 10, 1)];
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let machine = Machine::with(&bucket, 1000, |config| config.variables = variables(proxy.address)).await;
    for object in &objects {
        machine.store.commit("t", object.clone()).await.unwrap();
    }
    let listed = machine.list().await;
    let before = proxy.count("GET");
    for _ in 0..3 {
        assert_eq!(machine.read(&listed[0]).await.unwrap(), bytes_of(&objects[0]));
        assert_eq!(machine.read(&listed[1]).await.unwrap(), bytes_of(&objects[1]));
    }
    assert_eq!(proxy.count("GET") - before, 1, "the last such object is held");
    assert!(machine.cache.bytes() <= 1000);
    assert_eq!(machine.copies().len(), 1, "its file has no name");
}

#[tokio::test]
async fn copies_outlive_a_restart_and_damaged_ones_are_fetched_again() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let objects = commit_some(&machine.store, "t", 4).await;
    assert_holds(&machine.store, "t", &objects, "s3").await;
    let mut copies = machine.copies();
    copies.sort();
    assert_eq!(copies.len(), 4);
    flip_byte(&copies[0], 120);
    fs::OpenOptions::new().write(true).open(&copies[1]).unwrap().set_len(100).unwrap();
    fs::write(copies[2].with_extension("0.tmp"), b"given up").unwrap();
    fs::write(copies[2].with_extension("txt"), b"not ours").unwrap();

    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let machine = machine.again(&bucket, proxy.address).await;
    let listed = machine.list().await;
    let before = proxy.count("GET");
    for (listed, object) in listed.iter().zip(&objects) {
        assert_eq!(machine.read(listed).await.unwrap(), bytes_of(object));
    }
    assert_eq!(proxy.count("GET") - before, 2, "two copies were good");
    assert_eq!(fs::read(&copies[0]).unwrap(), bytes_of(&objects[0]), "the damaged copy is mended");
    assert!(!copies[2].with_extension("0.tmp").exists() && copies[2].with_extension("txt").exists());
}

#[tokio::test]
async fn a_cache_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), CACHE_BYTES).unwrap();
    let Err(error) = Cache::open(dir.path(), CACHE_BYTES) else { panic!() };
    assert!(error.kind == Kind::TellHuman && error.message.contains("in use by another process"), "{error}");
    drop(cache);
    Cache::open(dir.path(), CACHE_BYTES).unwrap();
}

#[tokio::test]
async fn a_cache_that_cannot_be_written_stops_neither_commits_nor_reads() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    // A file where the topic's folder should be stands for a disk that is full.
    let blocker = machine.dir.join("objects/t");
    fs::write(&blocker, b"").unwrap();
    let objects = commit_some(&machine.store, "t", 2).await;
    let listed = machine.list().await;
    // Reads go through memory.
    for _ in 0..2 {
        assert_holds(&machine.store, "t", &objects, "s3").await;
    }
    assert_eq!(machine.read(&listed[0]).await.unwrap(), bytes_of(&objects[0]));
    assert!(machine.copies_or_none().is_empty());
    assert_eq!(machine.cache.bytes(), 0, "room that is not used is given back");
    fs::remove_file(&blocker).unwrap();
    assert_holds(&machine.store, "t", &objects, "s3").await;
}

#[tokio::test]
async fn a_copy_that_is_truncated_while_it_is_mapped_is_fetched_again() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let big = object_of(0, 4, 50, 5000, 1);
    machine.store.commit("t", big.clone()).await.unwrap();
    let listed = machine.list().await;
    for length in [0, 5000, 300_000] {
        assert_eq!(machine.read(&listed[0]).await.unwrap(), bytes_of(&big));
        let copies = machine.copies();
        assert_eq!(copies.len(), 1);
        fs::OpenOptions::new().write(true).open(&copies[0]).unwrap().set_len(length).unwrap();
        assert_eq!(machine.read(&listed[0]).await.unwrap(), bytes_of(&big), "{length}");
    }
}

#[tokio::test]
async fn a_bit_that_flips_in_a_copy_that_is_in_use_is_noticed_and_the_object_fetched_again() {
    use rawline_broker::{Broker, Config, ReadRequest, SystemClock};
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    machine.store.commit("t", object(0, 2, 10)).await.unwrap();
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let Machine { store, dir, cache } = Machine::through(&bucket, proxy.address).await;
    let broker = Broker::open(Arc::new(store), Arc::new(SystemClock), Config::new(1)).await.unwrap();
    let topic = broker.topic("t").await.unwrap();
    let part = ReadRequest { offset: 3, records_max: 4, bytes_max: 0, wait: Duration::ZERO, verify: false };
    topic.read(&part).await.unwrap();
    let gets = proxy.count("GET");
    topic.read(&part).await.unwrap();
    assert_eq!(proxy.count("GET"), gets, "it is cached");
    let copy = fs::read_dir(dir.join("objects/t")).unwrap().next().unwrap().unwrap().path();
    // In the header of the first batch, in its data, and in the object's index.
    for position in [64 + 2 * 24 + 20, 64 + 2 * 24 + 64 + 10 * 4 + 5, 64 + 8] {
        let file = fs::OpenOptions::new().read(true).write(true).open(&copy).unwrap();
        let mut byte = [0];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut byte, position).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[byte[0] ^ 1], position).unwrap();
        let before = proxy.count("GET");
        let answer = topic.read(&part).await.unwrap();
        assert_eq!((answer.first_offset, answer.end_offset), (3, 7), "{position}");
        assert_eq!(proxy.count("GET"), before + 1, "{position}: fetched again, once");
    }
    drop(cache);
}

#[tokio::test]
async fn a_cold_cache_is_filled_by_many_downloads_at_once() {
    use rawline_broker::{Broker, Config, ReadRequest, SystemClock};
    let bucket = bucket().await;
    commit_some(&Machine::new(&bucket).await.store, "t", 40).await;
    let in_flight = Arc::new(AtomicUsize::new(0));
    let seen = in_flight.clone();
    // No download ends before eight have begun: one after the other, they would never end.
    let rule = move |request: &Request| {
        let is_whole = request.is_for_object("GET") && request.header("range").is_none();
        if !is_whole {
            return Act::Forward;
        }
        seen.fetch_add(1, Ordering::SeqCst);
        Act::After(seen.clone(), 8)
    };
    let proxy = Proxy::start(bucket.address, rule).await;
    let Machine { store, .. } = Machine::through(&bucket, proxy.address).await;
    let broker = Broker::open(Arc::new(store), Arc::new(SystemClock), Config::new(1)).await.unwrap();
    let topic = broker.topic("t").await.unwrap();
    let mut offset = 0;
    while offset < 120 {
        let request = ReadRequest { offset, records_max: 0, bytes_max: 0, wait: Duration::ZERO, verify: false };
        let answer = topic.read(&request).await.unwrap();
        assert!(answer.end_offset > offset);
        offset = answer.end_offset;
    }
    assert_eq!(in_flight.load(Ordering::SeqCst), 40, "each object is downloaded once");
}
