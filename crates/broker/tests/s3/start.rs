//! Starts of a broker on a bucket that fails requests.

use crate::machine::{CACHE_BYTES, config};
use futures_util::stream::{self, StreamExt};
use rawline_batch::Codec;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::{StoreError, s3};
use rawline_broker::{Broker, Config, SystemClock};
use rawline_testkit::batches::{batch, received};
use rawline_testkit::http::{Act, Proxy, Request};
use rawline_testkit::s3_server::{Bucket, bucket, variables};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Of the requests that are alike, each of the first ones fails in a separate start.
const ALIKE_MAX: usize = 2;

/// Number of starts at the same time.
const STARTS: usize = 4;

/// Everything that a broker does until it listens.
async fn start(bucket: &Bucket, address: SocketAddr, run: u64) -> Result<Broker, StoreError> {
    let mut config = config(bucket, Cache::open(bucket.cache_dir(), CACHE_BYTES).unwrap());
    config.variables = variables(address);
    let storage = s3::open_early(config).await?;
    let broker = Broker::open(storage, Arc::new(SystemClock), Config::new(run)).await?;
    broker.join(|card| card).await?;
    Ok(broker)
}

/// What a request is for: its method and target, without what differs between two starts.
fn kind(request: &Request) -> String {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let mut query: Vec<&str> = query.split('&').filter(|part| !part.starts_with("start-after")).collect();
    query.sort_unstable();
    let path =
        path.split('/').skip(2).map(|part| if part.contains(|sign: char| sign.is_ascii_digit()) { "#" } else { part });
    format!("{} {} {}", request.method, path.collect::<Vec<_>>().join("/"), query.join("&"))
}

#[tokio::test]
async fn no_single_failed_request_ends_a_start() {
    let bucket = bucket().await;
    // Objects and a snapshot.
    for run in 1..3 {
        let broker = start(&bucket, bucket.address, run).await.unwrap();
        let topic = broker.topic_or_create("topic").await.unwrap();
        for number in 0..3_u8 {
            topic.append(received(&batch(Codec::None, &[vec![number; 100]]))).await.unwrap();
        }
        drop(topic);
        broker.close().await;
    }
    let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
    start(&bucket, proxy.address, 100).await.unwrap().close().await;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for request in &*proxy.requests.lock().unwrap() {
        *counts.entry(kind(request)).or_default() += 1;
    }
    let refuse = Act::Refuse("503 Slow Down", "SlowDown");
    let faults: Vec<(String, usize, Act)> = (counts.iter())
        .flat_map(|(kind, count)| (0..(*count).min(ALIKE_MAX)).map(move |number| (kind.clone(), number)))
        .flat_map(|(kind, number)| [refuse.clone(), Act::CutAnswer(0)].map(|act| (kind.clone(), number, act)))
        .collect();
    let (requests, failed) = (faults.len() / 2, Arc::new(Mutex::new(BTreeSet::new())));
    assert!(counts.len() > 8, "{counts:#?}");
    let starts = faults.into_iter().zip(1000..).map(|((fault, number, act), run)| {
        let (bucket, failed) = (&bucket, failed.clone());
        async move {
            let name = format!("{fault}, number {number}: {act:?}");
            let seen = AtomicUsize::new(0);
            let rule = move |request: &Request| {
                if kind(request) != fault || seen.fetch_add(1, Ordering::Relaxed) != number {
                    return Act::Forward;
                }
                failed.lock().unwrap().insert((fault.clone(), number));
                act.clone()
            };
            let proxy = Proxy::start(bucket.address, rule).await;
            let started = start(bucket, proxy.address, run).await;
            let broker = started.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(broker.topic("topic").await.is_ok(), "{name}");
            broker.close().await;
        }
    });
    stream::iter(starts).buffer_unordered(STARTS).collect::<Vec<()>>().await;
    let failed = failed.lock().unwrap();
    println!("{counts:#?}: {} of {requests} requests failed once", failed.len());
    // Which requests a start sends depends on what others do at the same time.
    assert!(failed.len() * 2 > requests, "{failed:#?}");
}
