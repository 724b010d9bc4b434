//! What a broker keeps of the objects that it stores: those that merges or readers may soon need.

use crate::cache::is_fetch;
use crate::journal::on;
use crate::machine::{CACHE_BYTES, Machine};
use rawline_batch::Codec;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::s3::S3Config;
use rawline_broker::subscriptions::{Slow, Subscribe, Watch};
use rawline_broker::{Broker, Piece, ReadRequest, Topic};
use rawline_testkit::batches::{batch, received};
use rawline_testkit::http::{Act, Proxy};
use rawline_testkit::s3_server::{Bucket, bucket, variables};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

const WAIT: Duration = Duration::from_secs(60);

/// A broker with a topic, what it has in its cache, and its requests.
struct Writer {
    broker: Broker,
    topic: Arc<Topic>,
    cache: Cache,
    proxy: Proxy,
    _bucket: Bucket,
}

/// A batch that fills an object which no merge copies.
fn large(number: u8) -> Vec<u8> {
    batch(Codec::None, &vec![vec![number; 1 << 20]; 9])
}

impl Writer {
    async fn new() -> Writer {
        let bucket = bucket().await;
        let proxy = Proxy::start(bucket.address, |_| Act::Forward).await;
        let change = |config: &mut S3Config| config.variables = variables(proxy.address);
        let Machine { store, cache, .. } = Machine::with(&bucket, CACHE_BYTES, change).await;
        let broker = on(store, 1).await;
        let topic = broker.topic_or_create("topic").await.unwrap();
        Writer { broker, topic, cache, proxy, _bucket: bucket }
    }

    async fn append(&self, batch: &[u8]) -> u64 {
        self.topic.append(received(batch)).await.unwrap().first_offset
    }

    /// Reads the batch at an offset. Returns the number of ranges that were fetched for it.
    async fn fetched_for(&self, offset: u64, expected: &[u8]) -> usize {
        let fetched = || self.proxy.requests.lock().unwrap().iter().filter(|request| is_fetch(request)).count();
        let before = fetched();
        let request = ReadRequest { offset, records_max: 9, bytes_max: 0, wait: Duration::ZERO, verify: true };
        let answer = self.topic.read(&request).await.unwrap();
        let [Piece::Whole(bytes)] = &answer.pieces[..] else { panic!("{} pieces", answer.pieces.len()) };
        assert!(bytes[..] == *expected, "the batch at {offset}");
        fetched() - before
    }
}

#[tokio::test]
async fn large_objects_are_copied_only_for_readers_and_small_ones_for_merges() {
    let writer = Writer::new().await;
    let unread = writer.append(&large(1)).await;
    let small = batch(Codec::None, &[b"small".to_vec()]);
    let merged = writer.append(&small).await;
    assert_eq!(writer.fetched_for(merged, &small).await, 0);
    assert!(writer.cache.bytes() < 1 << 20, "the other one is not read, and no merge copies it");
    assert!(writer.fetched_for(unread, &large(1)).await > 0);
    let read = writer.append(&large(2)).await;
    assert_eq!(writer.fetched_for(read, &large(2)).await, 0, "it has a reader now");
}

#[tokio::test]
async fn one_that_waits_for_the_next_record_is_a_reader() {
    let writer = Writer::new().await;
    let mut wait = pin!(writer.topic.wait(0, WAIT));
    poll_fn(|context| {
        assert!(wait.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    writer.append(&large(1)).await;
    wait.await;
    assert_eq!(writer.fetched_for(0, &large(1)).await, 0);

    let writer = Writer::new().await;
    let mut watch = Watch::default();
    watch.add(&writer.topic.partition(0).unwrap());
    let offset = writer.append(&large(2)).await;
    watch.changed().await;
    assert_eq!(writer.fetched_for(offset, &large(2)).await, 0);

    let writer = Writer::new().await;
    let request = Subscribe {
        names: vec!["topic".to_owned()],
        prefixes: Vec::new(),
        partition: None,
        after_us: None,
        positions: BTreeMap::new(),
        slow: Slow::Skip,
        lag_max: None,
    };
    let mut subscription = writer.broker.subscribe(request).await.unwrap();
    let offset = writer.append(&large(3)).await;
    subscription.next(&writer.broker).await.unwrap();
    assert_eq!(writer.fetched_for(offset, &large(3)).await, 0);
}
