//! What exists is never shadowed: objects that are missing stop a start and a running broker, and can be given up.

use crate::journal::{of, open};
use crate::machine::{CACHE_BYTES, Machine, config};
use rawline_broker::journal::{Journal, JournalConfig};
use rawline_broker::store::StoreError;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::{self, S3Config};
use rawline_broker::{Broker, Config, Kind, ReadError, ReadRequest, SystemClock};
use rawline_journal::{Control, PartitionId};
use rawline_testkit::batches::received;
use rawline_testkit::http::{Act, Proxy, Request};
use rawline_testkit::s3_server::{Bucket, bucket, buckets, variables};
use rustix::fs::RenameFlags;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

fn key(bucket: &Bucket, name: &str) -> PathBuf {
    bucket.file(&format!("some/prefix/.journal/0000/{name}"))
}

fn object(bucket: &Bucket, number: u64) -> PathBuf {
    key(bucket, &format!("{number:020}.rwj"))
}

/// A topic with a record for each number; each is in its own object, from 2 on. The broker is closed.
async fn write(bucket: &Bucket, records: usize) {
    let (broker, _) = open(bucket, bucket.address, 1).await;
    let topic = broker.topic_or_create("t").await.unwrap();
    for number in 0..records {
        topic.append(received(&of(0, number))).await.unwrap();
    }
    drop(topic);
    broker.close().await;
}

/// As after a crash: without the snapshot that an orderly end leaves.
fn forget_snapshots(bucket: &Bucket) {
    let folder = key(bucket, "snapshots");
    fs::read_dir(folder).unwrap().for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
}

async fn start(bucket: &Bucket) -> Result<Broker, StoreError> {
    let cache = Cache::open(bucket.cache_dir(), CACHE_BYTES).unwrap();
    let store = s3::open(config(bucket, cache)).await?;
    Broker::open(store, Arc::new(SystemClock), Config::new(7)).await
}

/// Starts a broker, which must refuse, and name these.
async fn refuses(bucket: &Bucket, names: &[&str]) -> String {
    let error = start(bucket).await.err().expect("the broker has started");
    assert_eq!(error.kind, Kind::TellHuman, "{error}");
    for name in names {
        assert!(error.message.contains(name), "{name:?} isn't in: {error}");
    }
    error.message
}

async fn read(broker: &Broker, offset: u64) -> Result<usize, ReadError> {
    let request = ReadRequest { offset, records_max: 1, bytes_max: 0, wait: Duration::ZERO, verify: true };
    broker.topic("t").await.unwrap().read(&request).await.map(|answer| answer.pieces.len())
}

/// Every record is there but the lost ones, which are errors, and the next gets the next offset.
async fn serves_all_but(bucket: &Bucket, lost: &[u64], records: u64) {
    let broker = start(bucket).await.unwrap();
    for offset in 0..records {
        match read(&broker, offset).await {
            Ok(pieces) => assert!(pieces == 1 && !lost.contains(&offset), "{offset}"),
            Err(error) => {
                assert!(lost.contains(&offset) && error.kind() == Kind::TellHuman, "{offset}: {error}");
            }
        }
    }
    let topic = broker.topic("t").await.unwrap();
    assert_eq!(topic.append(received(&of(0, 99))).await.unwrap().first_offset, records, "an offset is given out again");
    drop(topic);
    broker.close().await;
}

#[tokio::test]
async fn an_object_that_is_missing_after_a_crash_stops_the_start_and_can_be_given_up() {
    for bucket in buckets().await {
        write(&bucket, 20).await;
        forget_snapshots(&bucket);
        for number in [7, 8, 15] {
            fs::remove_file(object(&bucket, number)).unwrap();
        }
        let (first, second) = ("00000000000000000007.accept", "00000000000000000015.accept");
        let all = ["07.rwj to ", "08.rwj", "15.rwj", first, second, "aws s3 cp - s3://", "Restore"];
        let message = refuses(&bucket, &all).await;
        assert!(!message.contains("22.rwj"), "{message}");
        // Nothing was stored.
        assert!(!object(&bucket, 7).exists() && !object(&bucket, 22).exists());
        fs::write(key(&bucket, first), b"").unwrap();
        let message = refuses(&bucket, &[second]).await;
        assert!(!message.contains(first), "{message}");
        fs::write(key(&bucket, second), b"").unwrap();
        // Offsets begin at object 2.
        serves_all_but(&bucket, &[5, 6, 13], 20).await;
    }
}

#[tokio::test]
async fn what_a_snapshot_refers_to_stops_the_start_and_can_be_given_up() {
    for bucket in buckets().await {
        write(&bucket, 10).await;
        // The newest too: only the snapshot knows of it.
        for number in [4, 11] {
            fs::remove_file(object(&bucket, number)).unwrap();
        }
        let (first, second) = ("00000000000000000004.accept", "00000000000000000011.accept");
        refuses(&bucket, &["04.rwj", "11.rwj", first, second]).await;
        fs::write(key(&bucket, first), b"").unwrap();
        fs::write(key(&bucket, second), b"").unwrap();
        serves_all_but(&bucket, &[2, 9], 10).await;
        // What was given up stops no running broker either, nor its snapshots.
        let machine = Machine::with(&bucket, CACHE_BYTES, |_| ()).await;
        let mut config = JournalConfig::new(8);
        (config.limits.batch_wait, config.check_interval) = (Duration::ZERO, Duration::from_millis(5));
        config.snapshot_objects = 2;
        let journal = Journal::open(machine.store.journal().clone(), Arc::new(SystemClock), config);
        let snapshots = || fs::read_dir(key(&bucket, "snapshots")).unwrap().count();
        let before = snapshots();
        for number in 0.. {
            append(&journal, PartitionId { topic: 1, number: 0 }, number).await.unwrap();
            if number > 20 && snapshots() > before + 2 {
                break;
            }
        }
    }
}

#[tokio::test]
async fn without_snapshots_and_first_objects_nothing_is_served() {
    let bucket = bucket().await;
    write(&bucket, 20).await;
    forget_snapshots(&bucket);
    for number in 1..10 {
        fs::remove_file(object(&bucket, number)).unwrap();
    }
    refuses(&bucket, &["00000000000000000001.rwj to ", "00000000000000000009.rwj"]).await;
    // The topic was made in a lost object, so what follows can't be kept without it.
    fs::write(key(&bucket, "00000000000000000001.accept"), b"").unwrap();
    refuses(&bucket, &["object 10 depends on them", "higher numbers"]).await;
}

/// Up to seven objects after the end are what a writer leaves that died with several in flight.
#[tokio::test]
async fn objects_that_were_in_flight_in_a_crash_stop_nothing() {
    for bucket in buckets().await {
        write(&bucket, 3).await;
        forget_snapshots(&bucket);
        // The fifth object never arrived, those after it were put at the same time.
        let template = fs::read(object(&bucket, 4)).unwrap();
        let index = rawline_journal::Index::parse(&template).unwrap();
        for in_flight in 1..7_u8 {
            let id = |commit| rawline_journal::Id { run: 77, commit };
            let number = 5 + u64::from(in_flight);
            let link = rawline_journal::Link { number, id: id(number), prev: id(number - 1), in_flight };
            let empty = rawline_journal::build_index(link, index.header.appended_us, &[], &[]);
            fs::write(object(&bucket, number), empty).unwrap();
        }
        serves_all_but(&bucket, &[], 3).await;
    }
}

/// How often a journal looks whether its storage was changed.
const OFTEN: Duration = Duration::from_millis(50);

/// A journal on a bucket that is reached at `address` and looked at this often.
async fn watching(
    bucket: &Bucket,
    address: SocketAddr,
    check_interval: Duration,
) -> (Journal, PartitionId, JoinHandle<()>) {
    let machine = Machine::through(bucket, address);
    let mut config = JournalConfig::new(1);
    (config.limits.batch_wait, config.check_interval) = (Duration::ZERO, check_interval);
    let store = machine.await.store.journal().clone();
    let (journal, task) = Journal::new(store, Arc::new(SystemClock), config);
    let task = tokio::spawn(task);
    let create = Control::Create { topic: 0, name: "t".into(), partitions: 1, settings: [].into() };
    let topic = journal.change(create).await.unwrap();
    (journal, PartitionId { topic, number: 0 }, task)
}

async fn append(journal: &Journal, partition: PartitionId, number: usize) -> Result<u64, (Kind, String)> {
    let appended = journal.append(partition, None, received(&of(0, number))).await;
    appended.map(|appended| appended.first_offset).map_err(|error| (error.kind(), error.to_string()))
}

/// Appends until the journal stops, and returns why.
async fn stops(journal: &Journal, partition: PartitionId) -> String {
    for number in 0.. {
        match append(journal, partition, number).await {
            Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err((kind, message)) => {
                assert_eq!(kind, Kind::TellHuman, "{message}");
                return message;
            }
        }
    }
    unreachable!()
}

#[tokio::test]
async fn a_running_broker_notices_that_its_newest_objects_are_gone() {
    for bucket in buckets().await {
        let (journal, partition, _task) = watching(&bucket, bucket.address, OFTEN).await;
        for number in 0..10 {
            append(&journal, partition, number).await.unwrap();
        }
        let newest = fs::read_dir(key(&bucket, "")).unwrap().map(|file| file.unwrap().path());
        let mut newest: Vec<PathBuf> =
            newest.filter(|path| path.extension().is_some_and(|ending| ending == "rwj")).collect();
        newest.sort();
        // In this order, a check meanwhile names the same first object.
        for path in newest.iter().skip(newest.len() - 5) {
            fs::remove_file(path).unwrap();
        }
        let why = stops(&journal, partition).await;
        assert!(why.contains("07.rwj") && why.contains("while the broker was running"), "{why}");
    }
}

#[tokio::test]
async fn a_running_broker_notices_that_its_prefix_is_gone() {
    for bucket in buckets().await {
        let (journal, partition, _task) = watching(&bucket, bucket.address, OFTEN).await;
        append(&journal, partition, 0).await.unwrap();
        // At once: a check between two deletions would name the first object that is missing.
        fs::rename(bucket.file("some/prefix"), bucket.file("some/other")).unwrap();
        let why = stops(&journal, partition).await;
        assert!(why.contains("storage.json is gone"), "{why}");
    }
}

/// Copies a folder's files.
fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(file.file_name());
        if file.path().is_dir() {
            copy_all(&file.path(), &to);
        } else {
            fs::copy(file.path(), to).unwrap();
        }
    }
}

#[tokio::test]
async fn a_running_broker_notices_that_an_older_copy_was_restored() {
    let bucket = bucket().await;
    let (journal, partition, _task) = watching(&bucket, bucket.address, OFTEN).await;
    append(&journal, partition, 0).await.unwrap();
    copy_all(&bucket.file("some/prefix"), &bucket.file("some/older"));
    for number in 1..9 {
        append(&journal, partition, number).await.unwrap();
    }
    // At once: the broker may look at any moment.
    let (present, older) = (bucket.file("some/prefix"), bucket.file("some/older"));
    rustix::fs::renameat_with(rustix::fs::CWD, &present, rustix::fs::CWD, &older, RenameFlags::EXCHANGE).unwrap();
    let why = stops(&journal, partition).await;
    assert!(why.contains("03.rwj to ") && why.contains(".accept"), "{why}");
}

/// The server confirms the `nth` PUT of a journal object and forgets it.
fn lies(nth: usize) -> impl Fn(&Request) -> Act + Send + Sync + 'static {
    let puts = AtomicUsize::new(0);
    move |request| {
        let is_object = request.method == "PUT" && request.target.contains(".rwj");
        if is_object && puts.fetch_add(1, Ordering::SeqCst) == nth { Act::Forget } else { Act::Forward }
    }
}

#[tokio::test]
async fn an_object_that_the_store_has_confirmed_and_not_kept_stops_the_start() {
    let bucket = bucket().await;
    let proxy = Proxy::start(bucket.address, lies(4)).await;
    // The broker ends before it looks: it would notice.
    let (journal, partition, task) = watching(&bucket, proxy.address, Duration::from_secs(3600)).await;
    for number in 0..10 {
        append(&journal, partition, number).await.unwrap();
    }
    drop(journal);
    task.await.unwrap();
    refuses(&bucket, &["05.rwj", "00000000000000000005.accept"]).await;
    fs::write(key(&bucket, "00000000000000000005.accept"), b"").unwrap();
    serves_all_but(&bucket, &[3], 10).await;
}

/// Whether a request is of a kind that a start sends.
type Is = fn(&Request) -> bool;

/// A broker that starts joins the others, whatever request fails the first times.
#[tokio::test]
async fn a_start_survives_passing_failures_of_each_kind_of_request() {
    let kinds: [(&str, Is); 8] = [
        ("storage.json", |request| request.target.contains("storage.json")),
        ("the probe", |request| request.target.contains(".rawline-probe")),
        ("topics", |request| {
            request.method == "GET" && request.target.contains("list-type") && !request.target.contains(".journal")
        }),
        ("the journal's listings", |request| {
            request.target.contains("list-type") && request.target.contains(".journal")
        }),
        ("snapshots", |request| request.method == "GET" && request.target.contains(".rws")),
        ("objects", |request| request.method == "GET" && request.target.contains(".rwj")),
        ("the cards' listing", |request| request.target.contains("list-type") && request.target.contains(".brokers")),
        ("the card", |request| request.method == "PUT" && request.target.contains(".brokers")),
    ];
    for is_new in [true, false] {
        for (kind, is) in kinds {
            let bucket = bucket().await;
            if !is_new {
                write(&bucket, 3).await;
            }
            let failed = Arc::new(AtomicUsize::new(0));
            let failures = failed.clone();
            let proxy = Proxy::start(bucket.address, move |request| {
                if !is(request) {
                    return Act::Forward;
                }
                match failures.fetch_add(1, Ordering::SeqCst) {
                    0 | 2 => Act::Refuse("503 Slow Down", "SlowDown"),
                    1 => Act::CutAnswer(0),
                    _ => Act::Forward,
                }
            })
            .await;
            let cache = Cache::open(bucket.cache_dir(), CACHE_BYTES).unwrap();
            let mut config = S3Config { ..config(&bucket, cache) };
            config.variables = variables(proxy.address);
            let store = s3::open(config).await.unwrap_or_else(|error| panic!("{kind}: {error}"));
            let broker = Broker::open(store, Arc::new(SystemClock), Config::new(7)).await;
            let broker = broker.unwrap_or_else(|error| panic!("{kind}: {error}"));
            broker.join(|card| card).await.unwrap_or_else(|error| panic!("{kind}: {error}"));
            let is_sent = failed.load(Ordering::SeqCst) > 0;
            assert!(is_sent || is_new || kind == "topics", "no start sends a request of this kind: {kind}");
            broker.close().await;
        }
    }
}
