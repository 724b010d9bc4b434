//! What the S3 store promises beyond every store's promises: races, lost answers, bad servers, and its cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // Helpers may fail a test.

mod cache;
mod fake;
mod http;

use fake::Fault;
use futures_util::future::join_all;
use http::{Act, Proxy, Request};
use rawline_broker::Kind;
use rawline_broker::object::Object;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::{S3Config, S3Store, parse_url};
use rawline_broker::store::{CommitError, Listed, ObjectAt, Store, StoreError};
use rawline_testkit::s3_server::{Bucket, bucket, variables};
use rawline_testkit::stores::{assert_holds, at, bytes_of, commit_some, object, object_of};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const CACHE_BYTES: u64 = 64 << 20;

/// A store on a bucket, with a cache of its own that is empty at first.
struct Machine {
    store: S3Store,
    cache: Cache,
    dir: PathBuf,
}

impl Machine {
    async fn new(bucket: &Bucket) -> Machine {
        Machine::through(bucket, bucket.address).await
    }

    /// One that takes what listens at `address` for the server.
    async fn through(bucket: &Bucket, address: SocketAddr) -> Machine {
        Machine::with(bucket, CACHE_BYTES, |config| config.variables = variables(address)).await
    }

    async fn with(bucket: &Bucket, cache_bytes: u64, change: impl FnOnce(&mut S3Config)) -> Machine {
        let dir = bucket.cache_dir();
        let cache = Cache::open(&dir, cache_bytes).unwrap();
        let mut config = config(bucket, cache.clone());
        change(&mut config);
        Machine { store: S3Store::open(config).await.unwrap(), cache, dir }
    }

    /// The same after a restart, with the cache that there was.
    async fn again(self, bucket: &Bucket, address: SocketAddr) -> Machine {
        let Machine { store, cache, dir } = self;
        drop((store, cache));
        let cache = Cache::open(&dir, CACHE_BYTES).unwrap();
        let mut config = config(bucket, cache.clone());
        config.variables = variables(address);
        Machine { store: S3Store::open(config).await.unwrap(), cache, dir }
    }

    async fn read(&self, listed: &Listed) -> Result<Vec<u8>, StoreError> {
        self.store.get("t", at(listed), 0..listed.bytes).await.map(|bytes| bytes.to_vec())
    }

    async fn list(&self) -> Vec<Listed> {
        self.store.list("t", 0).await.unwrap()
    }

    /// The files of the cache, if it is usable.
    fn copies_or_none(&self) -> Vec<PathBuf> {
        if self.dir.join("objects/t").is_dir() { self.copies() } else { Vec::new() }
    }

    /// The files of the cache.
    fn copies(&self) -> Vec<PathBuf> {
        let topics = fs::read_dir(self.dir.join("objects")).unwrap();
        let files = topics.flat_map(|topic| fs::read_dir(topic.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect()
    }
}

fn config(bucket: &Bucket, cache: Cache) -> S3Config {
    let mut config = S3Config::new(&format!("s3://{}/some/prefix", bucket.name), cache).unwrap();
    config.variables = bucket.variables();
    config
}

fn key(first_offset: u64) -> String {
    format!("some/prefix/t/{first_offset:020}.rwl")
}

async fn open_error(bucket: &Bucket, change: impl FnOnce(&mut S3Config)) -> StoreError {
    let mut config = config(bucket, Cache::open(bucket.cache_dir(), CACHE_BYTES).unwrap());
    config.retry_budget = Duration::from_millis(200);
    change(&mut config);
    match S3Store::open(config).await {
        Ok(_) => panic!("this store must not open"),
        Err(error) => error,
    }
}

fn set(config: &mut S3Config, name: &str, value: &str) {
    config.variables.retain(|(other, _)| other != name);
    config.variables.push((name.to_owned(), value.to_owned()));
}

/// A rule that does `act` with the first `count` requests that it is about, and passes on the others.
fn first(
    count: usize,
    about: impl Fn(&Request) -> bool + Send + Sync,
    act: Act,
) -> impl Fn(&Request) -> Act + Send + Sync {
    let seen = AtomicUsize::new(0);
    move |request| {
        if about(request) && seen.fetch_add(1, Ordering::Relaxed) < count { act.clone() } else { Act::Forward }
    }
}

fn flip_byte(file: &Path, position: u64) {
    let mut bytes = fs::read(file).unwrap();
    bytes[position as usize] ^= 1;
    fs::write(file, bytes).unwrap();
}

#[tokio::test]
async fn a_bucket_is_enough() {
    let bucket = bucket().await;
    let objects = commit_some(&Machine::new(&bucket).await.store, "t", 5).await;
    assert_eq!(fs::read(bucket.file(&key(3))).unwrap(), bytes_of(&objects[1]));

    let other = Machine::new(&bucket).await;
    assert_eq!(other.store.topics().await.unwrap(), ["t"]);
    assert_holds(&other.store, "t", &objects, "s3").await;
    let listed = other.list().await;
    assert!(listed[..4].iter().all(|listed| listed.known.is_none()), "only the newest object's header is read");
    assert_eq!(listed[4].known.unwrap().next_offset, 15);
    assert_eq!(other.store.list("t", 4).await.unwrap(), listed[2..]);
    assert_eq!(other.store.list("t", 13).await.unwrap(), []);
    assert_eq!(other.store.list("none", 0).await.unwrap(), []);
    assert_eq!(other.store.get("t", at(&listed[2]), 70..90).await.unwrap(), bytes_of(&objects[2])[70..90]);
    // The probe leaves nothing in the bucket.
    let probes = fs::read_dir(bucket.file("some/prefix/.rawline-probe"));
    assert!(probes.map_or(true, |mut files| files.next().is_none()));
}

#[tokio::test]
async fn a_bucket_without_prefix_holds_topics_at_its_root() {
    let bucket = bucket().await;
    let machine = Machine::with(&bucket, CACHE_BYTES, |config| config.prefix.clear()).await;
    let objects = commit_some(&machine.store, "t", 2).await;
    assert!(bucket.file("t/00000000000000000003.rwl").is_file());
    assert_eq!(machine.store.topics().await.unwrap(), ["t"]);
    assert_holds(&machine.store, "t", &objects, "s3").await;
}

#[tokio::test]
async fn lists_of_several_pages_are_whole() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let newest = object(5000, 1, 3);
    machine.store.commit("t", newest).await.unwrap();
    for first_offset in 0..2100 {
        fs::write(bucket.file(&key(first_offset)), b"not read, only listed").unwrap();
    }
    let expected: Vec<u64> = (0..2100).chain([5000]).collect();
    let offsets = |listed: Vec<Listed>| listed.iter().map(|listed| listed.first_offset).collect::<Vec<_>>();
    assert_eq!(offsets(machine.list().await), expected);
    assert_eq!(offsets(machine.store.list("t", 1999).await.unwrap()), expected[1999..]);
}

#[tokio::test]
async fn keys_that_are_not_ours_are_left_alone() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let objects = commit_some(&machine.store, "t", 3).await;
    let strange =
        ["3.rwl", "00000000000000000003.rwl.bak", "+0000000000000000007.rwl", "99999999999999999999.rwl", "x/y", "zz"];
    for name in strange {
        let file = bucket.file("some/prefix/t").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, b"?").unwrap();
    }
    assert_holds(&machine.store, "t", &objects, "s3").await;
    machine.store.delete_before("t", 9).await.unwrap();
    assert!(strange.iter().all(|name| bucket.file("some/prefix/t").join(name).is_file()));
}

#[tokio::test]
async fn of_two_writers_at_one_offset_one_wins() {
    let bucket = bucket().await;
    let machines = [Machine::new(&bucket).await, Machine::new(&bucket).await];
    for round in 0..30 {
        let objects = [object_of(round, 1, 1, 50, 1), object_of(round, 1, 1, 60, 2)];
        let commits = machines.iter().zip(&objects).map(|(machine, object)| machine.store.commit("t", object.clone()));
        let ended = join_all(commits).await;
        let winner = ended.iter().position(Result::is_ok).expect("one wins");
        assert!(matches!(ended[1 - winner], Err(CommitError::Exists)), "{ended:?}");
        for machine in &machines {
            let listed = machine.store.list("t", round).await.unwrap();
            assert_eq!(listed.len(), 1);
            assert_eq!(machine.read(&listed[0]).await.unwrap(), bytes_of(&objects[winner]));
        }
    }
}

#[tokio::test]
async fn a_put_whose_answer_was_lost_counts_once() {
    let bucket = bucket().await;
    let rule = first(1, |request| request.is_for_object("PUT"), Act::LoseAnswer);
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let objects = commit_some(&machine.store, "t", 2).await;
    assert_eq!(proxy.count("PUT"), 3, "the first was retried");
    assert_holds(&machine.store, "t", &objects, "s3").await;
}

#[tokio::test]
async fn an_object_of_another_is_not_taken_for_one_whose_answer_was_lost() {
    let bucket = bucket().await;
    let rule = first(1, |request| request.is_for_object("PUT"), Act::Hang);
    let proxy = Proxy::start(bucket.address, rule).await;
    let other = Machine::new(&bucket).await;
    let machine = Machine::with(&bucket, CACHE_BYTES, |config| {
        config.variables = variables(proxy.address);
        config.request_timeout = Duration::from_millis(500);
    })
    .await;
    // Equal in all but the writer.
    let objects = [object_of(0, 1, 3, 20, 1), object_of(0, 1, 3, 20, 2)];
    let (mine, theirs) =
        tokio::join!(machine.store.commit("t", objects[0].clone()), other.store.commit("t", objects[1].clone()),);
    theirs.unwrap();
    assert!(matches!(mine, Err(CommitError::Exists)), "{mine:?}");
    assert_holds(&machine.store, "t", &objects[1..], "s3").await;
}

#[tokio::test]
async fn failures_that_pass_are_tried_again() {
    let acts = [
        Act::Refuse("503 Slow Down", "SlowDown"),
        Act::Refuse("500 Internal Server Error", "InternalError"),
        Act::Refuse("409 Conflict", "ConditionalRequestConflict"),
        Act::Refuse("429 Too Many Requests", "TooManyRequests"),
        Act::LoseAnswer,
        Act::Hang,
    ];
    join_all(acts.map(async |act| {
        let bucket = bucket().await;
        let puts = first(2, |request| request.is_for_object("PUT"), act.clone());
        // A conflict is a PUT's only.
        let others = if matches!(act, Act::Refuse("409 Conflict", _)) { 0 } else { 2 };
        let gets = first(others, |request| request.is_for_object("GET"), act.clone());
        let lists = first(others, |request| request.target.contains("list-type"), act.clone());
        let deletes = first(others, |request| request.method == "POST", act.clone());
        let rule = move |request: &Request| {
            let acts = [puts(request), gets(request), lists(request), deletes(request)];
            acts.into_iter().find(|act| !matches!(act, Act::Forward)).unwrap_or(Act::Forward)
        };
        let proxy = Proxy::start(bucket.address, rule).await;
        let tweak = |config: &mut S3Config| {
            config.variables = variables(proxy.address);
            config.request_timeout = Duration::from_millis(300);
        };
        let objects = commit_some(&Machine::with(&bucket, CACHE_BYTES, tweak).await.store, "t", 2).await;
        let machine = Machine::with(&bucket, CACHE_BYTES, tweak).await;
        assert_holds(&machine.store, "t", &objects, &format!("{act:?}")).await;
        assert_eq!(machine.store.delete_before("t", 3).await.unwrap(), 3);
    }))
    .await;
}

#[tokio::test]
async fn a_server_that_stays_down_is_a_matter_of_waiting() {
    let bucket = bucket().await;
    let down = |request: &Request| {
        if request.is_for_object("PUT") { Act::Refuse("503 Slow Down", "SlowDown") } else { Act::Forward }
    };
    let proxy = Proxy::start(bucket.address, down).await;
    let machine = Machine::with(&bucket, CACHE_BYTES, |config| {
        config.variables = variables(proxy.address);
        config.retry_budget = Duration::from_millis(300);
    })
    .await;
    let Err(CommitError::Store(error)) = machine.store.commit("t", object(0, 1, 3)).await else { panic!() };
    assert_eq!(error.kind, Kind::Wait);
    assert!(error.message.contains("SlowDown"), "{error}");
    assert!(proxy.count("PUT") > 1);
}

#[tokio::test]
async fn a_bucket_that_cannot_be_used_says_why() {
    let bucket = bucket().await;
    let error = open_error(&bucket, |config| set(config, "AWS_SECRET_ACCESS_KEY", "wrong")).await;
    assert!(error.kind == Kind::TellHuman && error.message.contains("correct AWS_SECRET_ACCESS_KEY"), "{error}");

    let error = open_error(&bucket, |config| set(config, "AWS_ACCESS_KEY_ID", "nobody")).await;
    assert!(error.kind == Kind::TellHuman && error.message.contains("correct AWS_ACCESS_KEY_ID"), "{error}");

    let error = open_error(&bucket, |config| config.bucket = "nowhere".to_owned()).await;
    assert!(error.kind == Kind::TellHuman && error.message.contains("bucket \"nowhere\" does not exist"), "{error}");

    let error = open_error(&bucket, |config| set(config, "AWS_SECRET_ACCESS_KEY", "")).await;
    assert!(error.kind == Kind::TellHuman && error.message.contains("AWS_SECRET_ACCESS_KEY"), "{error}");

    // A port that nobody listens on stands for a machine without a role.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = open_error(&bucket, |config| {
        config.variables.retain(|(name, _)| name == "AWS_ENDPOINT_URL");
        set(config, "AWS_METADATA_ENDPOINT", &format!("http://{nobody}"));
    })
    .await;
    assert!(error.kind == Kind::TellHuman && error.message.contains("set AWS_ACCESS_KEY_ID"), "{error}");

    let error = open_error(&bucket, |config| config.variables = variables(nobody)).await;
    assert!(error.kind == Kind::Wait && error.message.contains(&nobody.to_string()), "{error}");
}

#[tokio::test]
async fn a_store_that_does_not_keep_the_condition_is_refused() {
    let bucket = bucket().await;
    let expected = [
        (Fault::Ignores, "overwrote an existing object"),
        (Fault::Races, "8 of 8 writers"),
        (Fault::Lies, "overwrote it nevertheless"),
        (Fault::Refuses, "has no conditional writes"),
    ];
    for (fault, says) in expected {
        let address = fake::start(fault).await;
        let error = open_error(&bucket, |config| config.variables = variables(address)).await;
        assert_eq!(error.kind, Kind::TellHuman, "{error}");
        assert!(error.message.contains(says) && error.message.contains(&address.to_string()), "{error}");
    }
}

#[tokio::test]
async fn the_probe_outlives_lost_answers() {
    let bucket = bucket().await;
    let rule = first(3, |request| request.method == "PUT", Act::LoseAnswer);
    let proxy = Proxy::start(bucket.address, rule).await;
    Machine::through(&bucket, proxy.address).await;
    let racing = AtomicUsize::new(0);
    let rule = move |request: &Request| {
        let is_lost = request.method == "PUT" && racing.fetch_add(1, Ordering::Relaxed) % 3 == 2;
        if is_lost { Act::LoseAnswer } else { Act::Forward }
    };
    let proxy = Proxy::start(bucket.address, rule).await;
    Machine::through(&bucket, proxy.address).await;
}

#[tokio::test]
async fn a_topic_that_is_deleted_in_the_bucket_under_a_broker_is_not_continued_at_its_old_end() {
    let bucket = bucket().await;
    let machine = Machine::with(&bucket, CACHE_BYTES, |config| config.newest_check = Duration::ZERO).await;
    let objects = commit_some(&machine.store, "t", 3).await;
    fs::rename(bucket.file("some/prefix/t"), bucket.file("some/aside")).unwrap();
    let Err(CommitError::Store(error)) = machine.store.commit("t", object(9, 1, 3)).await else { panic!() };
    assert!(error.kind == Kind::TellHuman && error.message.contains("deleted the topic in the bucket"), "{error}");
    assert!(!bucket.file(&key(9)).exists());
    fs::rename(bucket.file("some/aside"), bucket.file("some/prefix/t")).unwrap();
    machine.store.commit("t", object(9, 1, 3)).await.unwrap();
    // Another broker writes more and deletes the front: this one is late, and nothing was deleted under it.
    let other = Machine::new(&bucket).await;
    other.store.commit("t", object(12, 1, 3)).await.unwrap();
    other.store.commit("t", object(15, 1, 3)).await.unwrap();
    other.store.delete_before("t", 15).await.unwrap();
    let late = machine.store.commit("t", object(12, 1, 3)).await;
    assert!(matches!(late, Err(CommitError::Exists)), "{late:?}");
    drop(objects);
}

#[tokio::test]
async fn a_truncated_listing_does_not_make_a_topic_shorter() {
    let bucket = bucket().await;
    let objects = commit_some(&Machine::new(&bucket).await.store, "t", 6).await;
    // One listing ends early, and one has nothing at all.
    for dropped in [2, 6] {
        let rule = first(1, |request| request.target.contains("list-type"), Act::DropKeys(dropped));
        let proxy = Proxy::start(bucket.address, rule).await;
        let machine = Machine::through(&bucket, proxy.address).await;
        assert_holds(&machine.store, "t", &objects, &format!("{dropped} dropped")).await;
    }
}

#[tokio::test]
async fn a_damaged_object_is_never_served() {
    let bucket = bucket().await;
    let objects = commit_some(&Machine::new(&bucket).await.store, "t", 3).await;
    let machine = Machine::new(&bucket).await;
    let listed = machine.list().await;
    let last = objects[0].header.object_bytes - 9;
    for position in [0, 20, 70, 130, last] {
        flip_byte(&bucket.file(&key(0)), position);
        let error = machine.read(&listed[0]).await.unwrap_err();
        assert_eq!(error.kind, Kind::TellHuman, "{error}");
        assert!(error.message.contains(&key(0)) && error.message.contains("restore it"), "{error}");
        let header = machine.store.get("t", at(&listed[0]), 0..64).await;
        assert_eq!(header.is_err(), position < 88, "a header is served only with the index that vouches for it");
        assert_eq!(machine.copies().len(), 0);
        flip_byte(&bucket.file(&key(0)), position);
    }
    // Another object under its name, sound in itself.
    fs::write(bucket.file(&key(0)), bytes_of(&objects[1])).unwrap();
    assert!(machine.read(&listed[0]).await.is_err());
    fs::write(bucket.file(&key(0)), &bytes_of(&objects[0])[..100]).unwrap();
    assert!(machine.read(&listed[0]).await.unwrap_err().message.contains("it has 100 bytes"));
    fs::remove_file(bucket.file(&key(0))).unwrap();
    assert!(machine.read(&listed[0]).await.unwrap_err().message.contains("is gone"));
    fs::write(bucket.file(&key(0)), bytes_of(&objects[0])).unwrap();
    assert_eq!(machine.read(&listed[0]).await.unwrap(), bytes_of(&objects[0]));
}

#[tokio::test]
async fn a_topic_whose_newest_object_is_damaged_does_not_open() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    commit_some(&machine.store, "t", 3).await;
    let whole = fs::read(bucket.file(&key(6))).unwrap();
    for damage in [b"".as_slice(), b"?", &whole[..100], &[whole.as_slice(), b"more"].concat()] {
        fs::write(bucket.file(&key(6)), damage).unwrap();
        let error = machine.store.list("t", 0).await.unwrap_err();
        assert!(error.kind == Kind::TellHuman && error.message.contains(&key(6)), "{error}");
    }
    fs::write(bucket.file(&key(6)), whole).unwrap();
    assert_eq!(machine.list().await.len(), 3);
}

#[tokio::test]
async fn a_bucket_that_was_emptied_and_filled_again_is_not_read_from_old_copies() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let old = object_of(0, 1, 3, 20, 1);
    machine.store.commit("t", old.clone()).await.unwrap();
    assert_eq!(machine.read(&machine.list().await[0]).await.unwrap(), bytes_of(&old));
    fs::remove_dir_all(bucket.file("some")).unwrap();
    let new = object_of(0, 1, 3, 20, 2);
    Machine::new(&bucket).await.store.commit("t", new.clone()).await.unwrap();
    let machine = machine.again(&bucket, bucket.address).await;
    assert_eq!(machine.read(&machine.list().await[0]).await.unwrap(), bytes_of(&new));
}

#[tokio::test]
async fn deleting_the_front_deletes_objects_and_copies_and_keeps_the_newest() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let objects = commit_some(&machine.store, "t", 4).await;
    assert_holds(&machine.store, "t", &objects, "s3").await;
    assert_eq!(machine.store.delete_before("t", 5).await.unwrap(), 3);
    assert!(!bucket.file(&key(0)).exists() && bucket.file(&key(3)).exists());
    assert_eq!(machine.copies().len(), 3);
    assert_eq!(machine.store.delete_before("t", 100).await.unwrap(), 9);
    assert_holds(&machine.store, "t", &objects[3..], "s3").await;
    assert_eq!(machine.copies().len(), 1);
    assert_eq!(machine.store.delete_before("none", 7).await.unwrap(), 7);
}

#[tokio::test]
async fn a_writer_whose_offset_was_deleted_meanwhile_learns_that_it_is_old() {
    let bucket = bucket().await;
    // The 412 comes from here, so that the object can be gone by then.
    let rule =
        first(1, |request| request.is_for_object("PUT"), Act::Refuse("412 Precondition Failed", "PreconditionFailed"));
    let proxy = Proxy::start(bucket.address, rule).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    let ended = machine.store.commit("t", object(0, 1, 3)).await;
    assert!(matches!(ended, Err(CommitError::Exists)), "{ended:?}");
    assert!(!bucket.file(&key(0)).exists());
}

#[test]
fn places_in_s3_are_read_from_urls() {
    let parsed = |url: &str| parse_url(url).unwrap();
    assert_eq!(parsed("s3://bucket"), ("bucket".to_owned(), String::new()));
    assert_eq!(parsed("s3://bucket/"), ("bucket".to_owned(), String::new()));
    assert_eq!(parsed("s3://my-bucket.x/a/b/"), ("my-bucket.x".to_owned(), "a/b".to_owned()));
    for wrong in [
        "",
        "s3:",
        "s3://",
        "s3:///prefix",
        "bucket/prefix",
        "http://bucket",
        "s3://b/a//b",
        "s3://b/../a",
        "s3://b u/c",
    ] {
        let error = parse_url(wrong).unwrap_err();
        assert!(error.kind == Kind::TellHuman && error.message.contains("s3://BUCKET/PREFIX"), "{wrong}: {error}");
    }
}

#[tokio::test]
async fn topics_are_told_apart_by_whole_names() {
    let bucket = bucket().await;
    let store = Arc::new(Machine::new(&bucket).await);
    for topic in ["t", "t2", "t.x", "T"] {
        store.store.commit(topic, object(0, 1, 3)).await.unwrap();
    }
    let mut topics = store.store.topics().await.unwrap();
    topics.sort();
    assert_eq!(topics, ["T", "t", "t.x", "t2"]);
    assert_eq!(store.list().await.len(), 1);
}
