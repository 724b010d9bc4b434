//! A broker's topics over every store: append, group commit, read, wait, recover.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // Helpers of tests may fail the test.

mod damage;
mod supervise;

use bytes::Bytes;
use rawline_batch::{Batches, Builder, Checker, Codec, Limits};
use rawline_broker::store::Store;
use rawline_broker::store::disk::{DiskStore, Durability, Options as DiskOptions};
use rawline_broker::store::memory::MemoryStore;
use rawline_broker::{
    Broker, Clock, Config, Piece, ReadAnswer, ReadError, ReadRequest, Received, Topic, TopicError, check_name,
};
use rawline_testkit::faulty::{Faulty, OnBegin};
use rawline_testkit::stores::places;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A clock that goes on by a second each time it is asked.
#[derive(Default)]
struct Seconds(AtomicU64);

const SECOND_US: u64 = 1_000_000;

impl Clock for Seconds {
    fn now_us(&self) -> u64 {
        (self.0.fetch_add(1, Ordering::SeqCst) + 1) * SECOND_US
    }
}

async fn open(store: Arc<dyn Store>) -> Broker {
    open_with(store, Config::new(1)).await
}

async fn open_with(store: Arc<dyn Store>, config: Config) -> Broker {
    Broker::open(store, Arc::new(Seconds::default()), config).await.unwrap()
}

fn batch(records: &[Vec<u8>], codec: Codec) -> Vec<u8> {
    let mut builder = Builder::new(codec, Limits::default());
    for record in records {
        builder.push(record).unwrap();
    }
    let mut bytes = Vec::new();
    builder.finish_into(5, 0, 0, &mut bytes).unwrap();
    bytes
}

/// Batches as they come from a socket: in pieces whose borders respect nothing.
fn received(batches: &[u8]) -> Received {
    let bytes = Bytes::copy_from_slice(batches);
    let parts: Vec<_> = (0..bytes.len()).step_by(100).map(|at| bytes.slice(at..(at + 100).min(bytes.len()))).collect();
    let mut checker = Checker::new(Limits::default());
    for part in &parts {
        checker.push(part).unwrap();
    }
    Received::new(parts, checker).unwrap()
}

fn record(number: u64) -> Vec<u8> {
    let mut record = format!("{number}:").into_bytes();
    record.resize(record.len() + (number * 7 % 50) as usize, b'x');
    record
}

/// Appends records `from..to`, `batch_records` to a batch, one batch a request; gives the batches.
async fn append_some(topic: &Topic, from: u64, to: u64, batch_records: usize, codec: Codec) -> Vec<Vec<u8>> {
    let numbers: Vec<u64> = (from..to).collect();
    let mut batches = Vec::new();
    for numbers in numbers.chunks(batch_records) {
        let records: Vec<_> = numbers.iter().map(|&number| record(number)).collect();
        let bytes = batch(&records, codec);
        let appended = topic.append(received(&bytes)).await.unwrap();
        assert_eq!(appended.first_offset, numbers[0]);
        assert_eq!(appended.next_offset, numbers[0] + numbers.len() as u64);
        batches.push(bytes);
    }
    batches
}

fn request(offset: u64, records_max: u64, bytes_max: u64) -> ReadRequest {
    ReadRequest { offset, records_max, bytes_max, wait: Duration::ZERO, verify: false }
}

/// The answer's batches as they go to a socket.
fn body(answer: &ReadAnswer) -> Vec<u8> {
    let mut body = Vec::new();
    for piece in &answer.pieces {
        match piece {
            Piece::Whole(bytes) => body.extend_from_slice(bytes),
            Piece::Slice { batch, slice, .. } => {
                body.extend_from_slice(&slice.header);
                body.extend_from_slice(&batch[slice.sizes.clone()]);
                body.extend_from_slice(&batch[slice.data.clone()]);
                body.extend_from_slice(slice.padding);
            }
        }
    }
    body
}

/// The records of an answer, every batch of it checked as a consumer checks it.
fn records(answer: &ReadAnswer) -> Vec<Vec<u8>> {
    let body = body(answer);
    let mut records = Vec::new();
    for batch in Batches::new(&body, Limits::FORMAT) {
        let batch = batch.unwrap();
        let mut scratch = Vec::new();
        records.extend(batch.records(&mut scratch).unwrap().map(<[u8]>::to_vec));
    }
    assert_eq!(answer.end_offset - answer.first_offset, records.len() as u64);
    records
}

#[tokio::test]
async fn what_was_appended_is_read_back_verbatim() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let mut sent = append_some(&topic, 0, 100, 7, Codec::None).await;
        sent.extend(append_some(&topic, 100, 150, 25, Codec::Zstd).await);
        sent.extend(append_some(&topic, 150, 200, 10, Codec::Lz4).await);
        let answer = topic.read(&request(0, 0, 0)).await.unwrap();
        assert_eq!(body(&answer), sent.concat(), "{}", place.name);
        assert_eq!((answer.first_offset, answer.end_offset, answer.next_offset), (0, 200, 200));
    }
}

#[tokio::test]
async fn every_range_can_be_read() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        append_some(&topic, 0, 40, 6, Codec::None).await;
        for offset in 0..=40 {
            for records_max in 1..=41 {
                let answer = topic.read(&request(offset, records_max, 0)).await.unwrap();
                let expected: Vec<_> = (offset..(offset + records_max).min(40)).map(record).collect();
                assert_eq!(records(&answer), expected, "{}: {records_max} from {offset}", place.name);
                assert_eq!(answer.first_offset, offset);
            }
        }
    }
}

#[tokio::test]
async fn bytes_are_limited_softly() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        // Ten bytes a record, four records a batch.
        for _ in 0..5 {
            let ten = vec![vec![b'r'; 10]; 4];
            topic.append(received(&batch(&ten, Codec::None))).await.unwrap();
        }
        for (bytes_max, expected) in [(1, 1), (10, 1), (19, 1), (20, 2), (39, 3), (45, 4), (65, 6), (1000, 20)] {
            let answer = topic.read(&request(0, 0, bytes_max)).await.unwrap();
            assert_eq!(records(&answer).len(), expected, "{}: {bytes_max}", place.name);
        }
    }
}

#[tokio::test]
async fn a_compressed_batch_comes_whole() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let sent = append_some(&topic, 0, 60, 20, Codec::Zstd).await;
        let answer = topic.read(&request(25, 1, 1)).await.unwrap();
        assert_eq!((answer.first_offset, answer.end_offset), (20, 40), "{}", place.name);
        assert_eq!(body(&answer), sent[1]);
        // Softly: the second does not come when the first has used the bytes up.
        let one = (sent[0].len() - 64 - 20 * 4) as u64;
        assert_eq!(topic.read(&request(0, 0, one)).await.unwrap().end_offset, 20);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_appends_are_dense_and_share_commits() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let tasks: Vec<_> = (0..200u64)
            .map(|task| {
                let topic = topic.clone();
                tokio::spawn(async move {
                    let bytes = batch(&[record(task), record(task + 1000)], Codec::None);
                    (topic.append(received(&bytes)).await.unwrap(), task)
                })
            })
            .collect();
        let mut appended = Vec::new();
        for task in tasks {
            appended.push(task.await.unwrap());
        }
        appended.sort_by_key(|(appended, _)| appended.first_offset);
        let all = records(&topic.read(&request(0, 0, 0)).await.unwrap());
        let mut expected = Vec::new();
        for (number, (appended, task)) in appended.iter().enumerate() {
            assert_eq!(appended.first_offset, number as u64 * 2, "{}", place.name);
            assert_eq!(appended.next_offset, number as u64 * 2 + 2);
            expected.extend([record(*task), record(*task + 1000)]);
        }
        assert_eq!(all, expected, "{}", place.name);
        assert!(topic.status().objects <= 200);
    }
}

#[tokio::test]
async fn a_commit_waits_for_more_appends_if_configured_to() {
    for place in places().await {
        let config = Config { batch_wait: Duration::from_millis(300), ..Config::new(1) };
        let broker = open_with(place.open().await, config).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let append = |number| {
            let topic = topic.clone();
            tokio::spawn(async move { topic.append(received(&batch(&[record(number)], Codec::None))).await.unwrap() })
        };
        let tasks: Vec<_> = (0..10).map(append).collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(topic.status().objects, 1, "{}", place.name);
        assert_eq!(topic.status().next_offset, 10);
    }
}

/// The paused clock goes on only when every task sleeps: a task that spins instead would hold it forever.
#[test]
fn a_group_that_waits_for_a_confirmation_sleeps() {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let config = Config { batch_wait: Duration::from_secs(1), ..Config::new(1) };
            // A store whose every commit takes an hour to be confirmed.
            let mut store = Faulty::new(Arc::new(MemoryStore::new()));
            store.on_begin = Box::new(|_, _| OnBegin::ConfirmAfter(Duration::from_secs(3600)));
            let broker = open_with(Arc::new(store), config).await;
            let topic = broker.topic_or_create("t").await.unwrap();
            let append = |number| {
                let (topic, bytes) = (topic.clone(), batch(&[record(number)], Codec::None));
                tokio::spawn(async move { topic.append(received(&bytes)).await.unwrap() })
            };
            let first = append(0);
            // The second comes while the first is being confirmed, and is due long before that has ended.
            tokio::time::sleep(Duration::from_secs(10)).await;
            let second = append(1);
            assert_eq!(first.await.unwrap().first_offset, 0);
            assert_eq!(second.await.unwrap().first_offset, 1);
        });
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(60)).expect("the topic's task spins");
}

#[tokio::test]
async fn a_full_commit_does_not_wait() {
    for place in places().await {
        let config = Config { batch_wait: Duration::from_secs(3600), commit_bytes: 100, ..Config::new(1) };
        let broker = open_with(place.open().await, config).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let bytes = batch(&[vec![b'r'; 200]], Codec::None);
        topic.append(received(&bytes)).await.unwrap();
        assert_eq!(topic.status().next_offset, 1, "{}", place.name);
    }
}

#[tokio::test]
async fn a_read_waits_for_its_record() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        let short = ReadRequest { wait: Duration::from_millis(20), ..request(0, 0, 0) };
        let answer = topic.read(&short).await.unwrap();
        assert!(answer.pieces.is_empty() && answer.next_offset == 0, "{}", place.name);

        let long = ReadRequest { wait: Duration::from_secs(60), ..request(1, 0, 0) };
        let reader = tokio::spawn({
            let topic = topic.clone();
            async move { topic.read(&long).await.unwrap() }
        });
        append_some(&topic, 0, 1, 1, Codec::None).await;
        tokio::task::yield_now().await;
        assert!(!reader.is_finished(), "offset 0 is not offset 1");
        append_some(&topic, 1, 2, 1, Codec::None).await;
        assert_eq!(records(&reader.await.unwrap()), [record(1)], "{}", place.name);
    }
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    for place in places().await {
        let mut sent = Vec::new();
        for run in 0..4u64 {
            let broker = open(place.open().await).await;
            let topic = broker.topic_or_create("t").await.unwrap();
            assert_eq!(topic.status().next_offset, run * 30, "{}", place.name);
            sent.extend(append_some(&topic, run * 30, run * 30 + 30, 4, Codec::None).await);
            let answer = topic.read(&request(0, 0, 0)).await.unwrap();
            assert_eq!(body(&answer), sent.concat(), "{}: run {run}", place.name);
            drop((topic, answer));
            broker.close().await;
        }
        let broker = open(place.open().await).await;
        let statuses = broker.statuses();
        assert_eq!(statuses.len(), 1, "{}", place.name);
        assert_eq!((statuses[0].name.as_str(), statuses[0].next_offset), ("t", 120));
    }
}

#[tokio::test]
async fn settings_outlive_the_broker() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        assert_eq!(topic.settings(), None, "{}", place.name);
        for settings in ["one", "two"] {
            topic.set_settings(Bytes::from_static(settings.as_bytes())).await.unwrap();
            assert_eq!(topic.settings().unwrap(), settings);
        }
        append_some(&topic, 0, 10, 5, Codec::None).await;
        drop(topic);
        broker.close().await;
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        assert_eq!(topic.settings().unwrap(), "two", "{}", place.name);
        assert_eq!(topic.status().next_offset, 10);
        assert_eq!(broker.topic_or_create("other").await.unwrap().settings(), None);
    }
}

#[tokio::test]
async fn a_time_finds_its_offset() {
    for place in places().await {
        {
            let broker = open(place.open().await).await;
            // One object a request, at the seconds 1, 2, 3, …
            append_some(&broker.topic_or_create("t").await.unwrap(), 0, 50, 5, Codec::None).await;
            broker.close().await;
        }
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        for (time_us, offset) in [
            (0, 0),
            (SECOND_US, 0),
            (SECOND_US + 1, 5),
            (2 * SECOND_US, 5),
            (10 * SECOND_US, 45),
            (10 * SECOND_US + 1, 50),
            (u64::MAX, 50),
        ] {
            assert_eq!(topic.offset_at(time_us).await.unwrap(), offset, "{}: {time_us}", place.name);
        }
    }
}

#[tokio::test]
async fn a_clock_that_goes_back_does_not_reorder_times() {
    struct Back(AtomicU64);
    impl Clock for Back {
        fn now_us(&self) -> u64 {
            self.0.fetch_sub(SECOND_US, Ordering::SeqCst)
        }
    }
    for place in places().await {
        let clock = Arc::new(Back(AtomicU64::new(100 * SECOND_US)));
        let broker = Broker::open(place.open().await, clock, Config::new(1)).await.unwrap();
        let topic = broker.topic_or_create("t").await.unwrap();
        append_some(&topic, 0, 10, 1, Codec::None).await;
        assert_eq!(topic.status().latest_commit_us, Some(100 * SECOND_US), "{}", place.name);
        assert_eq!(topic.offset_at(100 * SECOND_US).await.unwrap(), 0);
        assert_eq!(topic.offset_at(100 * SECOND_US + 1).await.unwrap(), 10);
    }
}

#[tokio::test]
async fn what_is_deleted_says_so() {
    for place in places().await {
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        // Several of the test's short segments.
        append_some(&topic, 0, 600, 10, Codec::None).await;
        let first_offset = topic.delete_before(400).await.unwrap();
        assert!(first_offset > 0 && first_offset <= 400, "{}: {first_offset}", place.name);
        assert_eq!(topic.status().first_offset, first_offset);
        let below = topic.read(&request(first_offset - 1, 1, 0)).await;
        assert!(matches!(below, Err(ReadError::Deleted { .. })), "{}: {below:?}", place.name);
        let answer = topic.read(&request(first_offset, 0, 0)).await.unwrap();
        assert_eq!(records(&answer), (first_offset..600).map(record).collect::<Vec<_>>(), "{}", place.name);
    }
}

#[tokio::test]
async fn topics_are_created_by_appends_unless_configured_otherwise() {
    for place in places().await {
        let config = Config { create_topics: false, ..Config::new(1) };
        let broker = open_with(place.open().await, config).await;
        let missing = broker.topic_or_create("t").await.err();
        assert!(matches!(missing, Some(TopicError::NotFound { .. })), "{}", place.name);
    }
}

#[tokio::test]
async fn looking_for_a_topic_does_not_create_it() {
    for place in places().await {
        let broker = open(place.open().await).await;
        for number in 0..3 {
            let missing = broker.topic(&format!("t{number}")).await.err();
            assert!(matches!(missing, Some(TopicError::NotFound { .. })), "{}: {missing:?}", place.name);
        }
        assert_eq!(broker.statuses(), [], "{}", place.name);
        append_some(&broker.topic_or_create("t1").await.unwrap(), 0, 1, 1, Codec::None).await;
        assert_eq!(broker.topic("t1").await.unwrap().status().next_offset, 1, "{}", place.name);
        // With settings only, it exists too.
        let settings = Bytes::from_static(b"{}");
        broker.topic_or_create("t2").await.unwrap().set_settings(settings.clone()).await.unwrap();
        broker.close().await;
        let broker = open(place.open().await).await;
        assert_eq!(broker.topic("t2").await.unwrap().settings(), Some(settings), "{}", place.name);
        assert!(broker.topic("t0").await.is_err(), "{}", place.name);
    }
}

#[tokio::test]
async fn a_topic_that_another_broker_created_is_found() {
    for place in places().await.into_iter().filter(|place| place.is_shared()) {
        let broker = open(place.open().await).await;
        let other = open_with(place.open().await, Config::new(2)).await;
        append_some(&other.topic_or_create("t").await.unwrap(), 0, 5, 5, Codec::None).await;
        assert_eq!(broker.topic("t").await.unwrap().status().next_offset, 5, "{}", place.name);
    }
}

#[test]
fn names_are_plain() {
    for name in ["a", "A-b_c.d", "0", &"x".repeat(200)] {
        assert!(check_name(name).is_ok(), "{name}");
    }
    for name in ["", ".", "..", ".a", "a/b", "a b", "ä", "a\0", "a\\b", &"x".repeat(201)] {
        assert!(check_name(name).is_err(), "{name}");
    }
}

/// One topic whose file is damaged in the middle does not take the others down.
#[tokio::test]
async fn a_topic_that_cannot_be_recovered_does_not_keep_others_from_being_served() {
    let dir = tempfile::tempdir().unwrap();
    let open_dir = || {
        let options = DiskOptions { durability: Durability::Fsync, segment_bytes: 4096 };
        Arc::new(DiskStore::open_with(dir.path(), options).unwrap())
    };
    let broker = open(open_dir()).await;
    for name in ["good", "bad"] {
        append_some(&broker.topic_or_create(name).await.unwrap(), 0, 300, 10, Codec::None).await;
    }
    broker.close().await;
    let mut segments: Vec<_> =
        std::fs::read_dir(dir.path().join("topics/bad")).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.sort();
    let second = segments.iter().filter(|path| path.extension().is_some_and(|ending| ending == "seg")).nth(1).unwrap();
    let aside = dir.path().join("aside");
    std::fs::rename(second, &aside).unwrap();

    let broker = open(open_dir()).await;
    assert_eq!(broker.topic_or_create("good").await.unwrap().status().next_offset, 300);
    let refused = broker.topic_or_create("bad").await.err().unwrap();
    assert!(refused.to_string().contains("missing"), "{refused}");
    std::fs::rename(&aside, second).unwrap();
    assert_eq!(broker.topic_or_create("bad").await.unwrap().status().next_offset, 300);
}

/// On a store that several brokers may use at once, the one that loses a race continues after the other's object.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_brokers_on_one_store_lose_nothing() {
    for place in places().await.into_iter().filter(|place| place.is_shared()) {
        let mut tasks = Vec::new();
        for writer in 0..2u64 {
            let broker = Arc::new(open_with(place.open().await, Config::new(writer + 1)).await);
            tasks.push(tokio::spawn(async move {
                let topic = broker.topic_or_create("t").await.unwrap();
                let mut mine = Vec::new();
                for number in 0..15 {
                    let record = record(writer * 1000 + number);
                    let appended =
                        topic.append(received(&batch(std::slice::from_ref(&record), Codec::None))).await.unwrap();
                    mine.push((appended.first_offset, record));
                }
                mine
            }));
        }
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await.unwrap());
        }
        all.sort();
        let broker = open(place.open().await).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        assert_eq!(topic.status().next_offset, 30, "{}", place.name);
        let found = records(&topic.read(&request(0, 0, 0)).await.unwrap());
        assert_eq!(all.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
        assert_eq!(found, all.into_iter().map(|(_, record)| record).collect::<Vec<_>>(), "{}", place.name);
    }
}
