//! Reads of data that isn't in the cache fetch what they need.

use crate::cache::is_fetch;
use crate::journal::{merge_within, on, open};
use crate::machine::Machine;
use futures_util::future::join_all;
use rawline_batch::Codec;
use rawline_broker::{Broker, ReadAnswer, ReadRequest, Topic};
use rawline_journal::MergeLimits;
use rawline_testkit::batches::{batch, received};
use rawline_testkit::http::{Act, Proxy, Request};
use rawline_testkit::s3_server::{Bucket, bucket, variables};
use rawline_testkit::stores::{Object, RUN, create, create_some, object_of};
use std::fs;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;

const MIB: u64 = 1 << 20;

/// Records of an append, each of 8 KiB.
const RECORDS: u64 = 16;

/// Appends to each topic.
const APPENDS: u64 = 32;

fn record(topic: usize, offset: u64) -> Vec<u8> {
    let mut record = format!("record {offset} of {topic} ").into_bytes();
    record.resize(8 << 10, b'.');
    record
}

/// Topics to each of which so many appends are made, in merged objects of `target_bytes` that all of them share.
async fn fill(bucket: &Bucket, topics_count: usize, appends: u64, target_bytes: u64) {
    let (broker, _) = open(bucket, bucket.address, 1).await;
    let mut topics: Vec<Arc<Topic>> = Vec::new();
    for topic in 0..topics_count {
        topics.push(broker.topic_or_create(&format!("topic-{topic}")).await.unwrap());
    }
    for append in 0..appends {
        join_all(topics.iter().enumerate().map(|(number, topic)| async move {
            let records: Vec<_> = (0..RECORDS).map(|n| record(number, append * RECORDS + n)).collect();
            topic.append(received(&batch(Codec::None, &records))).await.unwrap();
        }))
        .await;
    }
    drop(topics);
    broker.close().await;
    let limits = MergeLimits { target_bytes, keep_bytes: MIB, ..MergeLimits::default() };
    merge_within(bucket, limits).await;
}

/// A broker with an empty cache, and what it requests.
struct Cold {
    broker: Broker,
    proxy: Proxy,
    begun: usize,
}

impl Cold {
    async fn new(bucket: &Bucket, rule: impl Fn(&Request) -> Act + Send + Sync + 'static) -> Cold {
        let proxy = Proxy::start(bucket.address, rule).await;
        let (broker, _) = open(bucket, proxy.address, 2).await;
        let begun = proxy.requests.lock().unwrap().len();
        Cold { broker, proxy, begun }
    }

    /// Sizes of the ranges that were requested for the cache.
    fn fetched(&self) -> Vec<u64> {
        let requests = self.proxy.requests.lock().unwrap();
        let ranges = requests.iter().skip(self.begun).filter(|request| is_fetch(request)).map(|request| {
            let (start, end) =
                request.header("range").unwrap().strip_prefix("bytes=").unwrap().split_once('-').unwrap();
            end.parse::<u64>().unwrap() + 1 - start.parse::<u64>().unwrap()
        });
        ranges.collect()
    }

    fn fetched_bytes(&self) -> u64 {
        self.fetched().iter().sum()
    }
}

async fn read(topic: &Topic, offset: u64, records_max: u64, bytes_max: u64) -> ReadAnswer {
    let request = ReadRequest { offset, records_max, bytes_max, wait: Duration::ZERO, verify: false };
    topic.read(&request).await.unwrap()
}

#[tokio::test]
async fn cold_reads_fetch_what_they_need() {
    let bucket = bucket().await;
    fill(&bucket, 8, APPENDS, 30 * MIB).await;

    // One record in the middle.
    let cold = Cold::new(&bucket, |_| Act::Forward).await;
    let topic = cold.broker.topic("topic-3").await.unwrap();
    let answer = read(&topic, APPENDS * RECORDS / 2 + 3, 1, 0).await;
    assert_eq!(answer.end_offset, APPENDS * RECORDS / 2 + 4);
    let fetched = cold.fetched();
    assert!(fetched.len() <= 3 && fetched.iter().sum::<u64>() <= MIB / 4, "{fetched:?}");
    drop(topic);

    // A scan of one topic of several, in reads of a few batches.
    let cold = Cold::new(&bucket, |_| Act::Forward).await;
    let topic = cold.broker.topic("topic-3").await.unwrap();
    scan(&cold, &topic, APPENDS).await;
    drop(topic);

    // A reader that stops after its second read.
    let cold = Cold::new(&bucket, |_| Act::Forward).await;
    let topic = cold.broker.topic("topic-3").await.unwrap();
    let first = read(&topic, 0, RECORDS, 0).await;
    let alone = cold.fetched_bytes();
    assert!(alone <= MIB / 4, "nothing is fetched ahead of a reader that may not read on: {alone}");
    let second = read(&topic, first.end_offset, RECORDS, 0).await;
    assert_eq!(second.end_offset, 2 * RECORDS);
    // What is fetched ahead continues after the read.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let ahead = cold.fetched_bytes() - alone;
    assert!((MIB / 2..=MIB + MIB / 4).contains(&ahead), "{ahead} bytes, of which the read got 128 KiB");
}

/// Reads a topic of so many appends, a few batches at a time. What others have is not fetched.
async fn scan(cold: &Cold, topic: &Topic, appends: u64) {
    let (mut offset, end) = (0, topic.status().next_offset);
    let mut reads = 0;
    while offset < end {
        offset = read(topic, offset, 0, 300 << 10).await.end_offset;
        reads += 1;
    }
    let (fetched, stored) = (cold.fetched_bytes(), topic.status().bytes);
    assert!(reads > 1 && end == appends * RECORDS, "{reads} reads to {end}");
    assert!(fetched >= stored && fetched * 100 <= stored * 105, "{fetched} bytes of {stored}");
}

/// A merged object has more of each, if there is as much to merge.
#[tokio::test]
async fn a_scan_of_one_of_a_hundred_topics_that_share_an_object_fetches_little_of_the_others() {
    const APPENDS: u64 = 5;
    let bucket = bucket().await;
    fill(&bucket, 100, APPENDS, 60 * MIB).await;
    let cold = Cold::new(&bucket, |_| Act::Forward).await;
    let topic = cold.broker.topic("topic-50").await.unwrap();
    scan(&cold, &topic, APPENDS).await;
    drop(topic);
}

#[tokio::test]
async fn what_a_read_needs_is_fetched_by_several_gets_at_once() {
    let bucket = bucket().await;
    let big = object_of(RUN, 1, 8, 600, 5000);
    create(&Machine::new(&bucket).await.store, &big).await;
    let begun = Arc::new(AtomicUsize::new(0));
    let counter = begun.clone();
    // None ends before three have begun.
    let rule = move |request: &Request| {
        if !is_fetch(request) {
            return Act::Forward;
        }
        counter.fetch_add(1, Ordering::SeqCst);
        Act::After(counter.clone(), 3)
    };
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    assert!(machine.read(&big).await.unwrap() == big.batches);
    assert_eq!(begun.load(Ordering::SeqCst), 3, "24 MB in GETs of 8 MiB");
}

/// A piece of a response that is handed from thread to thread takes as long as its bytes.
#[tokio::test]
async fn fetches_and_their_connections_are_no_tasks_of_the_readers_runtime() {
    let bucket = bucket().await;
    let big = object_of(RUN, 1, 8, 600, 5000);
    create(&Machine::new(&bucket).await.store, &big).await;
    let machine = Machine::new(&bucket).await;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let (before, mut seen) = (tasks(), 0);
    let mut reading = pin!(machine.read(&big));
    let read = poll_fn(|context| {
        let polled = reading.as_mut().poll(context);
        seen = seen.max(tasks());
        polled
    });
    assert!(read.await.unwrap() == big.batches);
    assert!(seen <= before, "{seen} tasks while 24 MB were fetched, {before} before");
}

#[tokio::test]
async fn one_get_serves_all_who_ask_for_a_block() {
    let bucket = bucket().await;
    let big = object_of(RUN, 1, 4, 150, 5000);
    create(&Machine::new(&bucket).await.store, &big).await;
    let proxy = Proxy::start(bucket.address, |_| Act::Delay(Duration::from_millis(20))).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let store = machine.store.journal();
    let fetches = || proxy.requests.lock().unwrap().iter().filter(|request| is_fetch(request)).count();
    let before = fetches();
    // Ranges that overlap, within two blocks far from the front.
    let ranges = (0..64).map(|n| 2_000_000 + n * 100..2_010_000 + n * 100);
    let read = join_all(ranges.clone().map(|range| store.bytes(big.place(), range))).await;
    for (range, read) in ranges.zip(read) {
        assert_eq!(read.unwrap(), big.bytes[range.start as usize..range.end as usize], "{range:?}");
    }
    let gets = fetches() - before;
    assert!(gets <= 3, "{gets} GETs of the front and two blocks");
}

#[tokio::test]
async fn blocks_outlive_a_restart_and_damaged_ones_are_fetched_again() {
    let bucket = bucket().await;
    let big = object_of(RUN, 1, 4, 150, 5000);
    create(&Machine::new(&bucket).await.store, &big).await;
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let part = 1_000_000..1_100_000;
    let expected = &big.bytes[part.start as usize..part.end as usize];
    assert_eq!(machine.store.journal().bytes(big.place(), part.clone()).await.unwrap(), expected);
    let fetches = || proxy.requests.lock().unwrap().iter().filter(|request| is_fetch(request)).count();
    let before = fetches();
    let held = machine.cache.bytes();
    assert!((100_000..200_000).contains(&held), "{held} bytes of the part and the front");
    let machine = machine.again(&bucket, proxy.address).await;
    assert_eq!(machine.store.journal().bytes(big.place(), part.clone()).await.unwrap(), expected);
    assert_eq!((fetches(), machine.cache.bytes()), (before, held), "the part is there, and no more");
    assert_eq!(machine.read(&big).await.unwrap(), big.batches);
    assert_eq!(machine.cache.bytes(), big.bytes.len() as u64, "each block once");
}

#[tokio::test]
async fn a_cache_that_is_deleted_while_it_is_used_costs_requests_only() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let objects = create_some(&machine.store, 3).await;
    assert_eq!(machine.read(&objects[0]).await.unwrap(), objects[0].batches);
    fs::remove_dir_all(machine.dir.join("objects")).unwrap();
    for _ in 0..2 {
        for object in &objects {
            assert_eq!(machine.read(object).await.unwrap(), object.batches);
        }
    }
    let later = object_of(RUN, 4, 1, 3, 20);
    create(&machine.store, &later).await;
    assert_eq!(machine.read(&later).await.unwrap(), later.batches);
}

#[tokio::test]
async fn a_scan_of_cold_objects_does_not_evict_what_this_broker_has_written() {
    let bucket = bucket().await;
    let cold: Vec<Object> = (1..=30).map(|number| object_of(RUN, number, 1, 30, 5000)).collect();
    let other = Machine::new(&bucket).await;
    for object in &cold {
        create(&other.store, object).await;
    }
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let own_variables = variables(proxy.address);
    let machine = Machine::with(&bucket, 2 * MIB, |config| config.variables = own_variables).await;
    let tail: Vec<Object> = (31..=38).map(|number| object_of(RUN, number, 1, 30, 5000)).collect();
    for object in &tail {
        create(&machine.store, object).await;
    }
    for object in &cold {
        assert_eq!(machine.read(object).await.unwrap(), object.batches);
        assert!(machine.cache.bytes() <= 2 * MIB);
    }
    let before = proxy.count("GET");
    for object in &tail {
        assert_eq!(machine.read(object).await.unwrap(), object.batches);
    }
    assert_eq!(proxy.count("GET"), before, "the tail is cached");
}

#[tokio::test]
async fn a_scan_evicts_nothing_that_a_reader_polls_without_reading_on() {
    let bucket = bucket().await;
    let (broker, _) = open(&bucket, bucket.address, 1).await;
    for (name, appends) in [("cold", 24), ("polled", 1)] {
        let topic = broker.topic_or_create(name).await.unwrap();
        for append in 0..appends {
            let records: Vec<_> = (0..RECORDS).map(|n| record(0, append * RECORDS + n)).collect();
            topic.append(received(&batch(Codec::None, &records))).await.unwrap();
        }
    }
    broker.close().await;
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let own_variables = variables(proxy.address);
    let machine = Machine::with(&bucket, MIB, |config| config.variables = own_variables).await;
    let broker = on(machine.store, 2).await;
    let (cold, polled) = (broker.topic("cold").await.unwrap(), broker.topic("polled").await.unwrap());
    for _ in 0..2 {
        assert_eq!(read(&polled, 0, 0, 0).await.end_offset, RECORDS);
    }
    // In parts of its batches, each once.
    for offset in (0..24 * RECORDS).step_by(4) {
        assert_eq!(read(&cold, offset, 4, 0).await.end_offset, offset + 4);
    }
    let before = proxy.count("GET");
    read(&polled, 0, 0, 0).await;
    assert_eq!(proxy.count("GET"), before, "what is polled is cached");
    read(&cold, 0, 1, 0).await;
    assert!(proxy.count("GET") > before, "what was scanned was evicted");
    drop((cold, polled));
    broker.close().await;
}
