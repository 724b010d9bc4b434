//! Topics in a journal: the layout of a storage, requests for reads, damaged copies and objects.

use crate::machine::{CACHE_BYTES, Machine, flip_byte};
use futures_util::future::join_all;
use rawline_batch::record_batch::{RecordBatchBuilder, RecordCodec};
use rawline_batch::{Codec, Limits};
use rawline_broker::journal::{Journal, JournalConfig, MergeConfig};
use rawline_broker::store::Storage;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::{self, S3Config};
use rawline_broker::{Broker, Clock, Config, Kind, Piece, ReadRequest, SystemClock, Topic};
use rawline_journal::{
    Batch, BatchKind, Control, Header, Id, Link, MergeLimits, PartitionId, Section, Snapshot, Source, build_index,
};
use rawline_testkit::batches::{batch, received, received_record_batches};
use rawline_testkit::http::{Act, Proxy};
use rawline_testkit::s3_server::{Bucket, bucket, variables};
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A broker whose topics are in a journal, and its cache's directory.
pub(crate) async fn open(bucket: &Bucket, address: SocketAddr, run: u64) -> (Broker, PathBuf) {
    let change = |config: &mut S3Config| config.variables = variables(address);
    let Machine { store, dir, .. } = Machine::with(bucket, CACHE_BYTES, change).await;
    (on(store, run).await, dir)
}

pub(crate) async fn on(store: Storage, run: u64) -> Broker {
    with_clock(store, run, Arc::new(SystemClock)).await
}

async fn with_clock(store: Storage, run: u64, clock: Arc<dyn Clock>) -> Broker {
    let config = Config { batch_wait: Duration::from_millis(1), ..Config::new(run) };
    Broker::open(store, clock, config).await.unwrap()
}

/// A clock that advances by a second with each call.
#[derive(Default)]
struct Looks(AtomicU64);

impl Clock for Looks {
    fn now_us(&self) -> u64 {
        self.0.fetch_add(1_000_000, Ordering::Relaxed) + 1_000_000
    }
}

/// A batch of one record that no other has, long enough to have bytes that only the batch has.
pub(crate) fn of(topic: usize, number: usize) -> Vec<u8> {
    batch(Codec::None, &[format!("record {number} of topic {topic} {}", "-".repeat(400)).into_bytes()])
}

/// Appends to topics at once, so that objects have batches of several. Returns their names.
async fn fill(broker: &Broker, topics: usize, appends: usize) -> Vec<String> {
    let names: Vec<String> = (0..topics).map(|topic| format!("topic-{topic}")).collect();
    let opened = join_all(names.iter().map(|name| broker.topic_or_create(name))).await;
    for number in 0..appends {
        let appends = opened.iter().enumerate().map(|(topic, opened)| async move {
            let appended = opened.as_ref().unwrap().append(received(&of(topic, number))).await.unwrap();
            assert_eq!(appended.first_offset, number as u64);
        });
        join_all(appends).await;
    }
    names
}

async fn read(topic: &Topic, offset: u64) -> Result<Vec<u8>, rawline_broker::ReadError> {
    let request = ReadRequest { offset, records_max: 1, bytes_max: 0, wait: Duration::ZERO, verify: false };
    let answer = topic.read(&request).await?;
    let whole = answer.pieces.iter().map(|piece| match piece {
        Piece::Whole(bytes) => &bytes[..],
        Piece::Slice { .. } => panic!("a batch of one record was cut"),
    });
    Ok(whole.collect::<Vec<_>>().concat())
}

async fn assert_all(broker: &Broker, names: &[String], appends: usize) {
    for (number, name) in names.iter().enumerate() {
        let topic = broker.topic(name).await.unwrap();
        for append in 0..appends {
            assert_eq!(read(&topic, append as u64).await.unwrap(), of(number, append), "{name} at {append}");
        }
    }
}

fn journal_objects(bucket: &Bucket) -> Vec<PathBuf> {
    let files = fs::read_dir(bucket.file("some/prefix/.journal/0000")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rwj")).collect()
}

#[tokio::test]
async fn what_was_written_needs_no_request_and_what_is_cold_needs_one_for_each_object() {
    let bucket = bucket().await;
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let (broker, _) = open(&bucket, proxy.address, 1).await;
    let names = fill(&broker, 10, 5).await;
    let gets = proxy.count("GET");
    assert_all(&broker, &names, 5).await;
    assert_eq!(proxy.count("GET"), gets);
    broker.close().await;

    let (broker, _) = open(&bucket, proxy.address, 2).await;
    let gets = proxy.count("GET");
    let broker = &broker;
    join_all(names.iter().map(|name| assert_all(broker, std::slice::from_ref(name), 0))).await;
    assert_eq!(proxy.count("GET"), gets, "topics are known without a request");
    let readers = (0..4).map(|_| assert_all(broker, &names, 5));
    join_all(readers).await;
    let objects = journal_objects(&bucket).len();
    let cold = proxy.count("GET") - gets;
    assert!((1..=objects).contains(&cold), "{cold} GETs for {objects} objects");
}

/// Merges what a bucket has, and deletes what was merged, as if the deletion delay had passed.
async fn merge_all(bucket: &Bucket) {
    let limits = MergeLimits { target_bytes: 8_000, keep_bytes: 2_000, objects_max: 10, ..MergeLimits::default() };
    merge_within(bucket, limits).await;
}

/// The same within limits.
pub(crate) async fn merge_within(bucket: &Bucket, limits: MergeLimits) {
    let mut config = JournalConfig::new(7);
    config.merge = Some(MergeConfig { limits, look_objects: 1, ..MergeConfig::default() });
    config.snapshot_objects = 1;
    let store = Machine::new(bucket).await.store.journal().clone();
    let journal = Journal::open(store.clone(), Arc::new(SystemClock), config);
    let objects = journal_objects(bucket);
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    let needed = loop {
        let control = Control::Create { topic: 0, name: "other".into(), partitions: 1, settings: [].into() };
        if let Ok(topic) = journal.change(control).await {
            journal.change(Control::Delete { topic }).await.unwrap();
        }
        let needed =
            store.newest_snapshot().await.unwrap().found.map(|bytes| Snapshot::parse(&bytes).unwrap().sources());
        let needed = needed.unwrap_or_default();
        if needed.len() > 1 && needed.len() < objects.len() / 2 {
            break needed;
        }
        assert!(tokio::time::Instant::now() < give_up, "{needed:?}");
        tokio::time::sleep(Duration::from_millis(300)).await;
    };
    for object in objects {
        let source = Header::parse(&fs::read(&object).unwrap()).unwrap().source();
        if !needed.contains(&source) {
            fs::remove_file(object).unwrap();
        }
    }
}

#[tokio::test]
async fn a_broker_finds_what_another_has_merged_and_deleted() {
    let bucket = bucket().await;
    let (writer, _) = open(&bucket, bucket.address, 1).await;
    let names = fill(&writer, 3, 30).await;
    writer.close().await;
    let (stale, _) = open(&bucket, bucket.address, 2).await;
    merge_all(&bucket).await;
    assert_all(&stale, &names, 30).await;
    let (fresh, _) = open(&bucket, bucket.address, 3).await;
    assert_all(&fresh, &names, 30).await;
}

#[tokio::test]
async fn a_search_by_time_is_exact_in_merged_objects() {
    let bucket = bucket().await;
    let change = |config: &mut S3Config| config.has_clock = false;
    let machine = Machine::with(&bucket, CACHE_BYTES, change).await;
    let writer = with_clock(machine.store, 1, Arc::new(Looks::default())).await;
    let names = fill(&writer, 3, 30).await;
    let topic = writer.topic(&names[0]).await.unwrap();
    let mut expected = Vec::new();
    for seconds in 0..200 {
        expected.push(topic.offset_at(seconds * 1_000_000).await.unwrap());
    }
    assert!(expected.is_sorted() && expected.first() == Some(&0) && expected.last() == Some(&30), "{expected:?}");
    drop(topic);
    writer.close().await;
    merge_all(&bucket).await;
    let (broker, _) = open(&bucket, bucket.address, 2).await;
    let topic = broker.topic(&names[0]).await.unwrap();
    assert!(topic.status().objects < 20, "{:?}", topic.status());
    for (seconds, expected) in (0..).zip(expected) {
        assert_eq!(topic.offset_at(seconds * 1_000_000).await.unwrap(), expected, "{seconds} s");
    }
}

/// One of Kafka's batches with a record of each of these times.
fn of_times(times: &[i64]) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
    times.iter().for_each(|time| builder.push(*time, None, Some(&[b'x'; 300][..]), []).unwrap());
    builder.finish(None).unwrap().to_vec()
}

#[tokio::test]
async fn a_search_by_the_times_of_records_is_exact_in_merged_objects() {
    let bucket = bucket().await;
    let change = |config: &mut S3Config| config.has_clock = false;
    let machine = Machine::with(&bucket, CACHE_BYTES, change).await;
    let writer = with_clock(machine.store, 1, Arc::new(Looks::default())).await;
    let topic = writer.topic_or_create("t").await.unwrap();
    let mut random = fastrand::Rng::with_seed(11);
    let mut newest_of_all = Vec::new();
    for number in 0..60 {
        let first_offset = topic.status().next_offset;
        if number % 5 == 4 {
            topic.append(received(&of(0, number))).await.unwrap();
            continue;
        }
        let times: Vec<i64> = (0..random.usize(1..4)).map(|_| random.i64(0..3_000_000)).collect();
        topic.append(received_record_batches(&of_times(&times))).await.unwrap();
        newest_of_all.push((first_offset, *times.iter().max().unwrap() as u64 * 1000));
    }
    let mut expected = Vec::new();
    for time_us in (0..3_100_000_000).step_by(50_000_000) {
        let found = topic.batch_since(time_us, 0).await.unwrap();
        let of_kafka = newest_of_all.iter().find(|(_, newest_us)| *newest_us >= time_us);
        match found {
            Some(found) if found.kind == BatchKind::Kafka => {
                assert_eq!((found.first_offset, found.newest_us), *of_kafka.unwrap());
            }
            // By the time of its append.
            Some(found) => {
                assert!(found.newest_us >= time_us && of_kafka.is_none_or(|(offset, _)| found.first_offset < *offset));
            }
            None => assert_eq!(of_kafka, None),
        }
        expected.push((time_us, found));
    }
    let newest = topic.newest_batch(0).await.unwrap();
    let greatest = newest_of_all.iter().map(|(_, newest_us)| *newest_us).max();
    assert_eq!(newest.map(|newest| newest.newest_us), greatest);
    drop(topic);
    writer.close().await;
    merge_all(&bucket).await;
    let (broker, _) = open(&bucket, bucket.address, 2).await;
    let topic = broker.topic("t").await.unwrap();
    assert!(topic.status().objects < 40, "{:?}", topic.status());
    for (time_us, expected) in expected {
        let found = topic.batch_since(time_us, 0).await.unwrap();
        assert_eq!(found, expected, "{time_us}");
    }
    assert_eq!(topic.newest_batch(0).await.unwrap(), newest);
    // The front of a merged object is deleted, and with it its newest record.
    let newest = newest.unwrap();
    topic.trim(newest.end_offset).await.unwrap();
    let left = newest_of_all.iter().filter(|(first_offset, _)| *first_offset >= newest.end_offset);
    let expected = left.clone().map(|(_, newest_us)| *newest_us).max();
    let found = topic.newest_batch(newest.end_offset).await.unwrap();
    let is_ours = found.is_some_and(|found| found.kind == BatchKind::Rawline);
    assert!(is_ours || found.map(|found| found.newest_us) == expected, "{found:?} of {left:?}");
}

/// Has a snapshot stored of all the records of the topic "t".
async fn take_snapshot(bucket: &Bucket, records: u64) {
    let config = JournalConfig { snapshot_objects: 1, merge: None, ..JournalConfig::new(7) };
    let store = Machine::new(bucket).await.store.journal().clone();
    let journal = Journal::open(store.clone(), Arc::new(SystemClock), config);
    loop {
        // One is taken after some objects.
        let create = Control::Create { topic: 0, name: "other".into(), partitions: 1, settings: [].into() };
        let topic = journal.change(create).await.unwrap();
        journal.change(Control::Delete { topic }).await.unwrap();
        let found = store.newest_snapshot().await.unwrap().found;
        let state = found.map(|bytes| Snapshot::parse(&bytes).unwrap().state);
        let end =
            state.and_then(|state| Some(state.next_offset(PartitionId { topic: state.topic_id("t")?, number: 0 })));
        if end == Some(records) {
            return;
        }
    }
}

/// A broker that begins at a snapshot, with an empty cache.
#[tokio::test]
async fn a_search_by_the_times_of_records_reads_one_object_of_many() {
    const OBJECTS: u64 = 600;
    let bucket = bucket().await;
    let (writer, _) = open(&bucket, bucket.address, 1).await;
    let topic = writer.topic_or_create("t").await.unwrap();
    // In the hour before their append, and not in order.
    let begin_ms = (SystemClock.now_us() / 1000) as i64 - 1_800_000;
    let time_ms = |number: u64| begin_ms + (number * 1000 + number * 7919 % 5000) as i64;
    for number in 0..OBJECTS {
        topic.append(received_record_batches(&of_times(&[time_ms(number)]))).await.unwrap();
    }
    drop(topic);
    writer.close().await;
    take_snapshot(&bucket, OBJECTS).await;

    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    let (broker, _) = open(&bucket, proxy.address, 2).await;
    let topic = broker.topic("t").await.unwrap();
    let greatest = (0..OBJECTS).map(time_ms).max().unwrap();
    for wanted in [time_ms(0), time_ms(300), time_ms(550), greatest, greatest + 1] {
        let gets = proxy.count("GET");
        let found = topic.batch_since(wanted as u64 * 1000, 0).await.unwrap().map(|batch| batch.first_offset);
        assert_eq!(found, (0..OBJECTS).find(|number| time_ms(*number) >= wanted), "{wanted}");
        let before = proxy.count("GET");
        assert!(before - gets <= 1, "{} requests for {wanted}", before - gets);
        let again = topic.batch_since(wanted as u64 * 1000, 0).await.unwrap().map(|batch| batch.first_offset);
        assert_eq!((again, proxy.count("GET")), (found, before), "the entries are kept");
    }
    let gets = proxy.count("GET");
    let newest = topic.newest_batch(0).await.unwrap().unwrap();
    assert_eq!(newest.newest_us, greatest as u64 * 1000);
    assert!(proxy.count("GET") - gets <= 1);
    // By the times of appends, none.
    assert_eq!((topic.offset_at(u64::MAX).await.unwrap(), topic.offset_at(0).await.unwrap()), (OBJECTS, 0));
    assert!(proxy.count("GET") - gets <= 1);
}

#[tokio::test]
async fn damaged_copies_are_fetched_again() {
    let bucket = bucket().await;
    let (broker, dir) = open(&bucket, bucket.address, 1).await;
    let names = fill(&broker, 3, 4).await;
    broker.close().await;
    let copies = || -> Vec<PathBuf> {
        let files = fs::read_dir(dir.join("objects/.journal")).unwrap();
        files.map(|file| file.unwrap().path()).collect()
    };
    // Copies are written after an append has its response. Their writer holds the cache.
    while Cache::open(&dir, CACHE_BYTES).is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let copies = copies();
    assert!(copies.len() >= 4, "{copies:?}");
    // In the header, in a section, in an entry, in a batch.
    for (copy, position) in copies.iter().zip([40, 85, 130, 400].into_iter().cycle()) {
        flip_byte(copy, position);
    }
    let cache = Cache::open(&dir, CACHE_BYTES).unwrap();
    let config = crate::machine::config(&bucket, cache);
    let broker = on(s3::open(config).await.unwrap(), 2).await;
    assert_all(&broker, &names, 4).await;
}

#[tokio::test]
async fn a_damaged_object_fails_its_own_reads_only() {
    let bucket = bucket().await;
    let (broker, _) = open(&bucket, bucket.address, 1).await;
    let names = fill(&broker, 1, 4).await;
    broker.close().await;
    let mut objects = journal_objects(&bucket);
    objects.sort();
    // The last append's, in its batch: the index is intact.
    let newest = objects.last().unwrap();
    flip_byte(newest, newest.metadata().unwrap().len() - 100);
    let (broker, _) = open(&bucket, bucket.address, 2).await;
    let topic = broker.topic(&names[0]).await.unwrap();
    assert_eq!(read(&topic, 2).await.unwrap(), of(0, 2));
    let error = read(&topic, 3).await.unwrap_err();
    assert!(error.kind() == Kind::TellHuman && error.to_string().contains(".rwj"), "{error}");
    assert_eq!(topic.append(received(&of(0, 4))).await.unwrap().first_offset, 4);
    assert_eq!(read(&topic, 4).await.unwrap(), of(0, 4));
}

/// Stores the next object of the journal, with records of the first topic at a wrong offset.
async fn contradict(bucket: &Bucket) {
    let mut objects = journal_objects(bucket);
    objects.sort();
    let last = Header::parse(&fs::read(objects.last().unwrap()).unwrap()).unwrap().link;
    let link = Link { number: last.number + 1, id: Id { run: 9, commit: 1 }, prev: last.id, in_flight: 0 };
    let batch = of(0, 0);
    let header = *rawline_batch::Batch::parse(&batch, &Limits::FORMAT).unwrap().header();
    let entry = Batch {
        kind: BatchKind::Rawline,
        records: header.records,
        bytes: batch.len() as u32,
        crc32c: header.crc32c,
        continues: false,
        producer: None,
        max_timestamp_us: 0,
        transaction: None,
    };
    let section = Section { partition: PartitionId { topic: 1, number: 0 }, first_offset: 1000 };
    let index = build_index(link, 0, &[], &[(section, &[entry])]);
    let store = Machine::new(bucket).await.store.journal().clone();
    let put = store.create(Source::Journal(link.number), vec![index.into(), batch.into()]).await;
    assert!(put.created().is_some(), "{put:?}");
}

#[tokio::test]
async fn an_object_that_contradicts_the_others_stops_appends_and_not_reads() {
    let bucket = bucket().await;
    let (broker, _) = open(&bucket, bucket.address, 1).await;
    let names = fill(&broker, 1, 3).await;
    assert_eq!(broker.failed_topics(), []);
    contradict(&bucket).await;
    let topic = broker.topic(&names[0]).await.unwrap();
    for _ in 0..2 {
        let error = topic.append(received(&of(0, 3))).await.unwrap_err();
        assert!(error.kind() == Kind::TellHuman && error.to_string().contains("contradicts"), "{error}");
    }
    let failed = broker.failed_topics();
    assert!(failed.len() == 1 && failed[0].reason.contains("restore the object from a copy"), "{failed:?}");
    assert_all(&broker, &names, 3).await;
    drop(topic);
    broker.close().await;
    // A broker that starts doesn't serve half of a journal.
    let cache = Cache::open(bucket.cache_dir(), CACHE_BYTES).unwrap();
    let store = s3::open(crate::machine::config(&bucket, cache)).await.unwrap();
    let error = Broker::open(store, Arc::new(SystemClock), Config::new(2)).await.err().unwrap();
    assert!(error.kind == Kind::TellHuman && error.message.contains("contradicts"), "{error}");
}

async fn open_store(bucket: &Bucket) -> Result<(), String> {
    let cache = Cache::open(bucket.cache_dir(), CACHE_BYTES).unwrap();
    s3::open(crate::machine::config(bucket, cache)).await.map(drop).map_err(|error| error.message)
}

#[tokio::test]
async fn a_storage_says_what_it_is() {
    let new = bucket().await;
    for foreign in ["notes/readme.txt", "t/0.rwl", "roll-ups/a/00000000000000000000.rwl"] {
        let path = new.file(&format!("some/prefix/{foreign}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"foreign").unwrap();
    }
    assert_eq!(join_all((0..4).map(|_| open_store(&new))).await, [Ok(()), Ok(()), Ok(()), Ok(())]);
    let content = fs::read_to_string(new.file("some/prefix/storage.json")).unwrap();
    assert!(content.starts_with(r#"{"format":1,"journals":1,"deletion_delay_s":3600,"id":""#), "{content}");
    for unknown in [r#"{"format":2,"journals":1}"#, r#"{"format":1,"journals":1,"merges":true}"#] {
        fs::write(new.file("some/prefix/storage.json"), unknown).unwrap();
        let error = open_store(&new).await.unwrap_err();
        assert!(error.contains("storage.json") && error.contains("newer"), "{error}");
    }
    fs::write(new.file("some/prefix/storage.json"), "{").unwrap();
    let error = open_store(&new).await.unwrap_err();
    assert!(error.contains("restore it from a copy"), "{error}");
}

/// Opens a store that asks for a deletion delay. Returns that of its journal.
async fn delay_of(bucket: &Bucket, seconds: u64) -> Result<u64, String> {
    let cache = Cache::open(bucket.cache_dir(), CACHE_BYTES).unwrap();
    let mut config = crate::machine::config(bucket, cache);
    config.deletion_delay = (seconds > 0).then_some(Duration::from_secs(seconds));
    let store = s3::open(config).await.map_err(|error| error.message)?;
    Ok(store.journal().deletion_delay().as_secs())
}

#[tokio::test]
async fn a_deletion_delay_is_decided_once() {
    let new = bucket().await;
    let error = delay_of(&new, 3).await.unwrap_err();
    assert!(error.contains("at least 4"), "{error}");
    assert_eq!(delay_of(&new, 60).await, Ok(60));
    assert_eq!(delay_of(&new, 60).await, Ok(60));
    assert_eq!(delay_of(&new, 0).await, Ok(60), "the storage's");
    let error = delay_of(&new, 61).await.unwrap_err();
    assert!(error.contains("created with a deletion delay of 60s"), "{error}");
}

/// Waits until the folder of journal objects is as `is_so` wants it.
async fn until(bucket: &Bucket, is_so: impl Fn(usize, u64) -> bool) -> (usize, u64) {
    let began = Instant::now();
    loop {
        // Files may be deleted while they are looked at.
        let sizes: Vec<u64> =
            journal_objects(bucket).iter().filter_map(|path| Some(fs::metadata(path).ok()?.len())).collect();
        let (objects, bytes) = (sizes.len(), sizes.iter().sum());
        if is_so(objects, bytes) {
            return (objects, bytes);
        }
        assert!(began.elapsed() < Duration::from_secs(120), "the bucket has {objects} objects of {bytes} bytes");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn a_bucket_shrinks_after_trims_and_deletions() {
    let bucket = bucket().await;
    assert_eq!(delay_of(&bucket, 4).await, Ok(4));
    let (broker, _) = open(&bucket, bucket.address, 1).await;
    let names = fill(&broker, 3, 20).await;
    let (objects, bytes) = until(&bucket, |objects, _| objects >= 20).await;

    for name in &names[..2] {
        broker.topic(name).await.unwrap().trim(20).await.unwrap();
    }
    broker.delete_topic(&names[2]).await.unwrap();
    // Nothing is appended meanwhile: an idle broker deletes too.
    let (left, bytes_left) = until(&bucket, |objects, _| objects <= 4).await;
    assert!(bytes_left < bytes / 4, "{objects} objects of {bytes} bytes, then {left} of {bytes_left}");

    let topic = broker.topic(&names[0]).await.unwrap();
    assert_eq!(topic.append(received(&of(0, 20))).await.unwrap().first_offset, 20);
    drop(topic);
    broker.close().await;
    let (broker, _) = open(&bucket, bucket.address, 2).await;
    assert_eq!(read(&broker.topic(&names[0]).await.unwrap(), 20).await.unwrap(), of(0, 20));
    assert!(broker.topic(&names[2]).await.is_err(), "it was deleted");
}
