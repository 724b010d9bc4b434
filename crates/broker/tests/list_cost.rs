//! A page of the list of topics costs the same however many topics there are, and lists make no handles.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // A test.

use futures_util::future::join_all;
use rawline_broker::store::Storage;
use rawline_broker::{Broker, Config, SystemClock};
use rawline_testkit::allocator::{Counting, allocations_of, live_bytes};
use serde_json::Map;
use std::ops::Bound;
use std::sync::Arc;

#[global_allocator]
static COUNTING: Counting = Counting;

async fn broker(topics: usize) -> Broker {
    let storage = Storage::in_memory(1 << 30);
    let broker = Broker::open(storage, Arc::new(SystemClock), Config::new(1)).await.unwrap();
    for some in (0..topics).collect::<Vec<_>>().chunks(500) {
        let create = async |topic: &usize| {
            broker.create_listed(&format!("topic-{topic:06}"), Map::new()).await.unwrap();
        };
        join_all(some.iter().map(create)).await;
    }
    broker
}

#[tokio::test]
async fn a_page_costs_the_same_however_many_topics_there_are() {
    let mut costs = Vec::new();
    for topics in [2_000, 10_000] {
        let broker = broker(topics).await;
        let page = || broker.topics_page("topic-001", Bound::Excluded("topic-001099"), 10, |_| true);
        let ((listed, has_more), allocations) = allocations_of(page);
        let names: Vec<_> = listed.iter().map(|topic| topic.topic_name().to_owned()).collect();
        assert_eq!((names.len(), &*names[0], &*names[9], has_more), (10, "topic-001100", "topic-001109", true));
        costs.push(allocations);
        drop(listed);
        let before = live_bytes();
        assert_eq!(broker.topics().len(), topics);
        let held = live_bytes().saturating_sub(before);
        assert!(held < 1_000, "a list of {topics} topics leaves {held} bytes");
        broker.close().await;
    }
    assert_eq!(costs[0], costs[1], "allocations");
}
