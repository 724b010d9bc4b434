//! The memory that a broker on a directory takes for each of very many topics.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // A test.

use futures_util::future::join_all;
use rawline_batch::Codec;
use rawline_broker::store::disk::{self, Durability, Options};
use rawline_broker::{Broker, Config, SystemClock};
use rawline_testkit::allocator::{Counting, live_bytes};
use rawline_testkit::batches::{batch, received};
use serde_json::Map;
use std::path::Path;
use std::sync::Arc;

#[global_allocator]
static COUNTING: Counting = Counting;

/// As `docs/operating.md` says.
const TOPIC_BYTES_MAX: u64 = 800;

async fn open(dir: &Path) -> Broker {
    let options = Options { durability: Durability::PageCache, segment_bytes: 1 << 20 };
    let storage = disk::open_with(dir, options).unwrap();
    Broker::open(storage, Arc::new(SystemClock), Config::new(1)).await.unwrap()
}

/// Creates topics with one record each, and returns how many bytes a broker holds that starts with them.
async fn memory(topics: usize) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let broker = open(dir.path()).await;
    for some in (0..topics).collect::<Vec<_>>().chunks(500) {
        join_all(some.iter().map(async |topic| {
            let topic = broker.create_topic(&format!("events-of-device-{topic}"), Map::new()).await.unwrap();
            topic.append(received(&batch(Codec::None, &[b"record".to_vec()]))).await.unwrap();
        }))
        .await;
    }
    broker.close().await;
    let before = live_bytes();
    let broker = open(dir.path()).await;
    let held = live_bytes() - before;
    assert_eq!(broker.topics_count(), topics);
    broker.close().await;
    held
}

#[tokio::test]
async fn a_topic_with_a_record_takes_little_memory() {
    let [few, many] = [memory(1_000).await, memory(6_000).await];
    let each = (many - few) / 5_000;
    assert!(each <= TOPIC_BYTES_MAX, "{each} bytes for a topic");
}
