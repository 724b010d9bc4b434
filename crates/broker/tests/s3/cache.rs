//! The cache of an S3 store: single downloads, its bound, damage, a full disk.

use crate::journal::open;
use crate::machine::{CACHE_BYTES, Machine, first, flip_byte};
use futures_util::future::join_all;
use rawline_batch::Codec;
use rawline_broker::store::cache::Cache;
use rawline_broker::{Kind, ReadRequest};
use rawline_journal::Index;
use rawline_testkit::batches::{batch, received};
use rawline_testkit::http::{Act, Proxy, Request};
use rawline_testkit::s3_server::{Bucket, bucket, variables};
use rawline_testkit::stores::{Object, RUN, assert_holds, create, create_some, object, object_of};
use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[tokio::test]
async fn what_was_just_committed_is_read_without_the_server() {
    let bucket = bucket().await;
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let before = proxy.count("GET");
    for object in create_some(&machine.store, 10).await {
        assert_eq!(machine.read(&object).await.unwrap(), object.batches);
    }
    assert_eq!(proxy.count("GET"), before);
}

#[tokio::test]
async fn one_download_serves_all_who_ask() {
    let bucket = bucket().await;
    let objects = create_some(&Machine::new(&bucket).await.store, 2).await;
    let rule = first(1, is_fetch, Act::Refuse("403 Forbidden", "AccessDenied"));
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let before = proxy.count("GET");

    let refused = join_all((0..32).map(|_| machine.read(&objects[0]))).await;
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(error.kind == Kind::TellHuman && error.message.contains("access is denied"), "{error}");
    }
    assert_eq!(proxy.count("GET") - before, 1, "all of them failed with the one download");

    let read = join_all((0..32).map(|_| machine.read(&objects[0]))).await;
    assert!(read.into_iter().all(|bytes| bytes.unwrap() == objects[0].batches));
    assert_eq!(proxy.count("GET") - before, 2, "the next to ask asked again, once");
}

#[tokio::test]
async fn a_download_goes_on_when_nobody_waits_for_it_any_more() {
    let bucket = bucket().await;
    let objects = create_some(&Machine::new(&bucket).await.store, 1).await;
    let rule = first(1, is_fetch, Act::Delay(Duration::from_millis(50)));
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let before = proxy.count("GET");
    let impatient = tokio::time::timeout(Duration::from_millis(5), machine.read(&objects[0])).await;
    assert!(impatient.is_err());
    assert_eq!(machine.read(&objects[0]).await.unwrap(), objects[0].batches);
    assert_eq!(proxy.count("GET") - before, 1);
}

#[tokio::test]
async fn a_download_that_breaks_or_stalls_goes_on_where_it_was() {
    let bucket = bucket().await;
    let big = object_of(RUN, 1, 4, 50, 5000);
    create(&Machine::new(&bucket).await.store, &big).await;
    for (count, act) in [(3, Act::CutAnswer(300_000)), (2, Act::StallAnswer(300_000))] {
        let proxy = Proxy::start(bucket.address, first(count, is_fetch, act)).await;
        let machine = Machine::with(&bucket, CACHE_BYTES, |config| {
            config.variables = variables(proxy.address);
            // What stalls isn't waited for.
            config.request_timeout = Duration::from_hours(1);
        });
        let machine = machine.await;
        assert_eq!(machine.read(&big).await.unwrap(), big.batches);
        let requests = proxy.requests.lock().unwrap();
        let is_resumed = |request: &Request| !request.header("range").unwrap().starts_with("bytes=0-");
        let resumed = requests.iter().filter(|request| is_fetch(request) && is_resumed(request));
        assert_eq!(resumed.count(), count);
    }
}

/// The indexes of objects, and a snapshot, which are read whole.
#[tokio::test]
async fn a_whole_object_whose_body_stalls_is_read_again() {
    let bucket = bucket().await;
    let object = object(1, 1, 200);
    create(&Machine::new(&bucket).await.store, &object).await;
    let rule = first(1, |request| request.is_for_object("GET"), Act::StallAnswer(3000));
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::with(&bucket, CACHE_BYTES, |config| {
        config.variables = variables(proxy.address);
        config.request_timeout = Duration::from_hours(1);
    });
    let store = machine.await.store;
    let stalled = store.journal().index(object.source()).await;
    assert!(stalled.is_err_and(|error| error.message.contains("no response in time")));
    assert!(store.journal().index(object.source()).await.unwrap().found.is_some());
}

#[tokio::test]
async fn the_cache_keeps_to_its_bound_and_to_what_was_used_last() {
    let bucket = bucket().await;
    let objects: Vec<Object> = (1..=8).map(|number| object_of(RUN, number, 1, 10, 1000)).collect();
    let object_bytes = objects[0].bytes.len() as u64;
    let writer = Machine::new(&bucket).await;
    for object in &objects {
        create(&writer.store, object).await;
    }
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let machine =
        Machine::with(&bucket, object_bytes * 3 + 100, |config| config.variables = variables(proxy.address)).await;
    let mut held = Vec::new();
    for object in &objects {
        held.push(object.read(&**machine.store.journal()).await.unwrap());
        // The first is used again and again, so it is never the one that goes.
        machine.read(&objects[0]).await.unwrap();
        assert!(machine.cache.bytes() <= object_bytes * 3 + 100);
        assert!(machine.copies().len() <= 3);
        assert_eq!(held.last().unwrap(), &object.batches);
    }
    let gets = || proxy.requests.lock().unwrap().iter().filter(|request| is_fetch(request)).count();
    assert_eq!(gets(), 8);
    machine.read(&objects[0]).await.unwrap();
    machine.read(&objects[7]).await.unwrap();
    assert_eq!(gets(), 8, "these are cached");
    machine.read(&objects[3]).await.unwrap();
    assert_eq!(gets(), 9, "this was evicted");
    // Bytes of evicted copies stay valid for their holders.
    assert!(held.iter().zip(&objects).all(|(bytes, object)| *bytes == object.batches));
}

#[tokio::test]
async fn an_object_larger_than_the_cache_is_read_all_the_same() {
    const CACHE: u64 = 300 << 10;
    let bucket = bucket().await;
    let big = object_of(RUN, 1, 4, 150, 5000);
    let machine = Machine::with(&bucket, CACHE, |_| {}).await;
    create(&machine.store, &big).await;
    let store = &**machine.store.journal();
    // All of it at once, in memory; and a part after the other.
    assert_eq!(machine.read(&big).await.unwrap(), big.batches);
    let end = big.bytes.len() as u64;
    for start in (0..end).step_by(100_000) {
        let range = start..end.min(start + 100_000);
        let read = store.bytes(big.place(), range.clone()).await.unwrap();
        assert_eq!(read, big.bytes[start as usize..range.end as usize], "{range:?}");
        assert!(machine.cache.bytes() <= CACHE, "{range:?}: {} bytes", machine.cache.bytes());
    }
    assert!(machine.copies().len() <= 1);
}

#[tokio::test]
async fn copies_outlive_a_restart_and_damaged_ones_are_fetched_again() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let objects = create_some(&machine.store, 4).await;
    assert_holds(&machine.store, &objects, "s3").await;
    let mut copies = machine.copies();
    copies.sort();
    assert_eq!(copies.len(), 4);
    flip_byte(&copies[0], 120);
    fs::OpenOptions::new().write(true).open(&copies[1]).unwrap().set_len(100).unwrap();
    fs::write(copies[2].with_extension("0.tmp"), b"given up").unwrap();
    fs::write(copies[2].with_extension("txt"), b"not ours").unwrap();

    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let machine = machine.again(&bucket, proxy.address).await;
    let before = proxy.count("GET");
    for object in &objects {
        assert_eq!(machine.read(object).await.unwrap(), object.batches);
    }
    assert_eq!(proxy.count("GET") - before, 2, "two copies were good");
    assert_eq!(fs::read(&copies[0]).unwrap(), objects[0].bytes, "the damaged copy is mended");
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
    // A file where the journal's folder should be stands for a disk that is full.
    let blocker = machine.dir.join("objects/.journal");
    fs::write(&blocker, b"").unwrap();
    let objects = create_some(&machine.store, 2).await;
    // Reads go through memory.
    for _ in 0..2 {
        assert_holds(&machine.store, &objects, "s3").await;
    }
    assert_eq!(machine.read(&objects[0]).await.unwrap(), objects[0].batches);
    assert_eq!(machine.cache.bytes(), 0, "room that is not used is given back");
    fs::remove_file(&blocker).unwrap();
    assert_holds(&machine.store, &objects, "s3").await;
}

#[tokio::test]
async fn a_copy_that_is_truncated_while_it_is_mapped_is_fetched_again() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let big = object_of(RUN, 1, 4, 50, 5000);
    create(&machine.store, &big).await;
    for length in [0, 5000, 300_000] {
        assert_eq!(machine.read(&big).await.unwrap(), big.batches);
        let copies = machine.copies();
        assert_eq!(copies.len(), 1);
        fs::OpenOptions::new().write(true).open(&copies[0]).unwrap().set_len(length).unwrap();
        assert_eq!(machine.read(&big).await.unwrap(), big.batches, "{length}");
    }
}

/// Appends to topic "t", in so many requests of so many records. The broker that did it has closed.
async fn write(bucket: &Bucket, requests: usize, records: usize) {
    let (broker, _) = open(bucket, bucket.address, 1).await;
    let topic = broker.topic_or_create("t").await.unwrap();
    for request in 0..requests {
        let records: Vec<_> = (0..records).map(|n| format!("record {n} of {request}").into_bytes()).collect();
        topic.append(received(&batch(Codec::None, &records))).await.unwrap();
    }
    drop(topic);
    broker.close().await;
}

/// Whether this is a GET for the cache, and not for an index.
pub(crate) fn is_fetch(request: &Request) -> bool {
    let is_index = request.header("range") == Some("bytes=0-4095");
    request.is_for_object("GET") && request.target.contains(".rwj") && !is_index
}

#[tokio::test]
async fn a_bit_that_flips_in_a_copy_that_is_in_use_is_noticed_and_the_object_fetched_again() {
    let bucket = bucket().await;
    write(&bucket, 1, 20).await;
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let (broker, dir) = open(&bucket, proxy.address, 2).await;
    let topic = broker.topic("t").await.unwrap();
    let part = ReadRequest { offset: 3, records_max: 4, bytes_max: 0, wait: Duration::ZERO, verify: false };
    let gets = || proxy.requests.lock().unwrap().iter().filter(|request| is_fetch(request)).count();
    topic.read(&part).await.unwrap();
    let first = gets();
    topic.read(&part).await.unwrap();
    assert_eq!(gets(), first, "it is cached");
    let copy = fs::read_dir(dir.join("objects/.journal")).unwrap().next().unwrap().unwrap().path();
    let (_, piece, _) = Index::parse(&fs::read(&copy).unwrap()).unwrap().pieces().next().unwrap();
    let (entries, batches) = (piece.place.entries().start, piece.place.batches().start);
    // In the header of the first batch, in its data, and in the object's index.
    for (number, position) in [batches + 20, batches + 64 + 20 * 4 + 5, entries + 8].into_iter().enumerate() {
        let file = fs::OpenOptions::new().read(true).write(true).open(&copy).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, position).unwrap();
        file.write_all_at(&[byte[0] ^ 1], position).unwrap();
        let answer = topic.read(&part).await.unwrap();
        assert_eq!((answer.first_offset, answer.end_offset), (3, 7), "{position}");
        assert_eq!(gets(), first + 1 + number, "{position}: fetched again, once");
    }
}

#[tokio::test]
async fn a_cold_cache_is_filled_by_many_downloads_at_once() {
    let bucket = bucket().await;
    write(&bucket, 40, 3).await;
    let (in_flight, is_open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (seen, counts) = (in_flight.clone(), is_open.clone());
    // No download ends before eight have begun: one after the other, they would never end.
    let rule = move |request: &Request| {
        if !is_fetch(request) || !counts.load(Ordering::SeqCst) {
            return Act::Forward;
        }
        seen.fetch_add(1, Ordering::SeqCst);
        Act::After(seen.clone(), 8)
    };
    let proxy = Proxy::start(bucket.address, rule).await;
    let (broker, _) = open(&bucket, proxy.address, 2).await;
    let topic = broker.topic("t").await.unwrap();
    is_open.store(true, Ordering::SeqCst);
    let mut offset = 0;
    while offset < 120 {
        let request = ReadRequest { offset, records_max: 0, bytes_max: 0, wait: Duration::ZERO, verify: false };
        let answer = topic.read(&request).await.unwrap();
        assert!(answer.end_offset > offset);
        offset = answer.end_offset;
    }
    assert_eq!(in_flight.load(Ordering::SeqCst), 40, "each object is downloaded once");
}
