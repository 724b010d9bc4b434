//! Servers that fail for a while, servers that reject the settings, and servers that break the condition of a PUT.

use crate::fake::{self, Fault};
use crate::machine::{CACHE_BYTES, Machine, config, first};
use futures_util::future::join_all;
use rawline_batch::Codec;
use rawline_broker::store::StoreError;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::{self, S3Config};
use rawline_broker::{Broker, Config, Kind, ReadRequest, SystemClock};
use rawline_journal::{PutResult, SnapshotName, Source};
use rawline_testkit::batches::{batch, received};
use rawline_testkit::http::{Act, Proxy, Request, answer, forward, serve};
use rawline_testkit::s3_server::{Bucket, bucket, directory_bucket, variables};
use rawline_testkit::stores::create_some;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Why a store can't be opened with settings that `change` has made wrong.
async fn open_error(bucket: &Bucket, change: impl FnOnce(&mut S3Config)) -> StoreError {
    let mut config = config(bucket, Cache::open(bucket.cache_dir(), CACHE_BYTES).unwrap());
    config.retry_budget = Duration::from_millis(200);
    change(&mut config);
    match s3::open(config).await {
        Ok(_) => panic!("this store must not open"),
        Err(error) => error,
    }
}

/// Sets a variable.
fn set(config: &mut S3Config, name: &str, value: &str) {
    config.variables.retain(|(other, _)| other != name);
    config.variables.push((name.to_owned(), value.to_owned()));
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
        let open = async |run| {
            let Machine { store, .. } = Machine::with(&bucket, CACHE_BYTES, tweak).await;
            Broker::open(store, Arc::new(SystemClock), Config::new(run)).await.unwrap()
        };
        let broker = open(1).await;
        let topic = broker.topic_or_create("t").await.unwrap();
        for offset in 0..2 {
            let appended = topic.append(received(&batch(Codec::None, &[b"record".to_vec()]))).await.unwrap();
            assert_eq!(appended.first_offset, offset, "{act:?}");
        }
        drop(topic);
        broker.close().await;
        let broker = open(2).await;
        let topic = broker.topic("t").await.unwrap();
        // A read ends before an object that takes long.
        let mut offset = 0;
        while offset < 2 {
            let request = ReadRequest { offset, records_max: 0, bytes_max: 0, wait: Duration::ZERO, verify: true };
            let end_offset = topic.read(&request).await.unwrap().end_offset;
            assert!((offset + 1..=2).contains(&end_offset), "{act:?}: {offset} to {end_offset}");
            offset = end_offset;
        }
        assert_eq!(topic.trim(1).await.unwrap().first_offset, 1, "{act:?}");
    }))
    .await;
}

#[tokio::test]
async fn a_server_that_stays_down_is_a_matter_of_waiting() {
    let bucket = bucket().await;
    let objects = create_some(&Machine::new(&bucket).await.store, 1).await;
    let down = |request: &Request| {
        if request.is_for_object("GET") { Act::Refuse("503 Slow Down", "SlowDown") } else { Act::Forward }
    };
    let proxy = Proxy::start(bucket.address, down).await;
    let machine = Machine::with(&bucket, CACHE_BYTES, |config| {
        config.variables = variables(proxy.address);
        config.retry_budget = Duration::from_millis(300);
    })
    .await;
    let error = machine.read(&objects[0]).await.unwrap_err();
    assert_eq!(error.kind, Kind::Wait);
    assert!(error.message.contains("SlowDown"), "{error}");
    assert!(proxy.count("GET") > 1);
}

#[tokio::test]
async fn a_bucket_that_cannot_be_used_says_why() {
    let bucket = bucket().await;
    let error = open_error(&bucket, |config| set(config, "AWS_SECRET_ACCESS_KEY", "wrong")).await;
    assert!(error.kind == Kind::TellHuman && error.message.contains("correct AWS_SECRET_ACCESS_KEY"), "{error}");

    let error = open_error(&bucket, |config| set(config, "AWS_ACCESS_KEY_ID", "unknown")).await;
    assert!(error.kind == Kind::TellHuman && error.message.contains("correct AWS_ACCESS_KEY_ID"), "{error}");

    let error = open_error(&bucket, |config| config.address.bucket = "nowhere".to_owned()).await;
    assert!(error.kind == Kind::TellHuman && error.message.contains("bucket \"nowhere\" does not exist"), "{error}");

    let error = open_error(&bucket, |config| set(config, "AWS_SECRET_ACCESS_KEY", "")).await;
    assert!(error.kind == Kind::TellHuman && error.message.contains("AWS_SECRET_ACCESS_KEY"), "{error}");

    // A closed port stands for a machine without a role.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = open_error(&bucket, |config| {
        config.variables.retain(|(name, _)| name == "AWS_ENDPOINT_URL");
        set(config, "AWS_METADATA_ENDPOINT", &format!("http://{closed}"));
    })
    .await;
    assert!(error.kind == Kind::TellHuman && error.message.contains("set AWS_ACCESS_KEY_ID"), "{error}");

    let error = open_error(&bucket, |config| config.variables = variables(closed)).await;
    assert!(error.kind == Kind::Wait && error.message.contains(&closed.to_string()), "{error}");
}

#[tokio::test]
async fn a_directory_bucket_without_a_session_says_what_the_key_needs() {
    let bucket = directory_bucket().await;
    let error = open_error(&bucket, |config| set(config, "AWS_ACCESS_KEY_ID", "unknown")).await;
    assert!(error.kind == Kind::TellHuman && error.message.contains("s3express:CreateSession"), "{error}");
}

#[tokio::test]
async fn a_listing_that_never_ends_is_an_error() {
    let bucket = bucket().await;
    let server = bucket.address;
    let proxy = serve(move |request| async move {
        if !request.target.contains("list-type=2") {
            return forward(server, &request).await;
        }
        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
        let page = "<ListBucketResult><NextContinuationToken>same</NextContinuationToken></ListBucketResult>";
        answer("200 OK", &format!("Date: {date}\r\n"), page.as_bytes())
    })
    .await;
    let machine = Machine::through(&bucket, proxy).await;
    let error = machine.store.journal().list().await.unwrap_err();
    assert!(error.kind == Kind::TellHuman && error.message.contains("the same page"), "{error}");
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
async fn nothing_is_stored_in_a_journal_before_the_condition_is_known_to_be_kept() {
    let bucket = bucket().await;
    for fault in [Fault::Ignores, Fault::Races, Fault::Lies] {
        let proxy = Proxy::start(fake::start(fault).await, |_| Act::Forward).await;
        let storage = format!("/{}/some/prefix/storage.json", bucket.name);
        fake::put(proxy.address, &storage, br#"{"format":1,"journals":1,"id":"000102030405060708090a0b0c0d0e0f"}"#)
            .await;
        let mut config = config(&bucket, Cache::open(bucket.cache_dir(), CACHE_BYTES).unwrap());
        config.variables = variables(proxy.address);
        let store = s3::open_early(config).await.unwrap();
        let journal = store.journal().clone();
        assert_eq!(journal.create(Source::Journal(1), Vec::new()).await, PutResult::Unknown);
        journal.create_snapshot(SnapshotName::root(1), "snapshot".into()).await.unwrap_err();
        let refused = store.journal().ready().await.unwrap_err();
        let error = Broker::open(store, Arc::new(SystemClock), Config::new(1)).await.err().unwrap();
        assert_eq!((error.kind, error.message), (Kind::TellHuman, refused.message));
        assert_eq!(proxy.count("PUT"), 0);
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
