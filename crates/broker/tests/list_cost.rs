//! A page of the list of topics and a subscription to a prefix cost the same however many topics there are, and lists
//! make no handles.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // A test.

use futures_util::FutureExt;
use futures_util::future::join_all;
use rawline_broker::store::Storage;
use rawline_broker::subscriptions::{Slow, Subscribe};
use rawline_broker::{Broker, Config, SystemClock};
use rawline_testkit::allocator::{Counting, allocations_of, live_bytes, peak_bytes, reset_peak};
use serde_json::Map;
use std::collections::BTreeMap;
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
async fn a_page_and_a_subscription_cost_the_same_however_many_topics_there_are() {
    let (mut of_page, mut of_subscription) = (Vec::new(), Vec::new());
    for topics in [2_000, 10_000] {
        let broker = broker(topics).await;
        let page = || broker.topics_page("topic-001", Bound::Excluded("topic-001099"), 10, |_| true);
        let ((listed, has_more), allocations) = allocations_of(page);
        let names: Vec<_> = listed.iter().map(|topic| topic.topic_name().to_owned()).collect();
        assert_eq!((names.len(), &*names[0], &*names[9], has_more), (10, "topic-001100", "topic-001109", true));
        of_page.push(allocations);
        drop(listed);
        let before = live_bytes();
        assert_eq!(broker.topics().len(), topics);
        let held = live_bytes().saturating_sub(before);
        assert!(held < 1_000, "a list of {topics} topics leaves {held} bytes");

        let request = Subscribe {
            names: Vec::new(),
            prefixes: vec!["topic-0011".to_owned()],
            partition: None,
            after_us: Some(0),
            positions: BTreeMap::new(),
            slow: Slow::Skip,
            lag_max: None,
        };
        reset_peak();
        let before = live_bytes();
        let subscription = broker.subscribe(request).now_or_never().unwrap().unwrap();
        of_subscription.push(peak_bytes() - before);
        drop(subscription);
        broker.close().await;
    }
    assert_eq!(of_page[0], of_page[1], "allocations");
    // A list of all topics has eight bytes for each.
    let difference = of_subscription[0].abs_diff(of_subscription[1]);
    assert!(difference < 20_000, "{of_subscription:?} bytes for 100 topics");
}
