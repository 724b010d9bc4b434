//! A page of the list of topics, a subscription to a prefix, a heartbeat of a consumer group, and the list of groups
//! cost the same however many topics there are, and lists make no handles.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // A test.

use futures_util::FutureExt;
use futures_util::future::join_all;
use rawline_broker::store::Storage;
use rawline_broker::subscriptions::{Slow, Subscribe};
use rawline_broker::{Broker, Config, ConsumerHeartbeat, Identity, Partitions, SystemClock, Visible};
use rawline_testkit::allocator::{Counting, ThreadBytes, allocations_of};
use serde_json::Map;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

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

/// A member of a consumer group that wants two topics by name, and some by a regular expression.
fn heartbeat() -> ConsumerHeartbeat {
    ConsumerHeartbeat {
        member: "member".into(),
        instance: None,
        rack: None,
        identity: Identity { client: "client".into(), host: "host".into() },
        epoch: 0,
        rebalance: Some(Duration::from_secs(60)),
        names: Some(["topic-000000", "topic-000999"].map(Arc::from).into()),
        regex: Some("topic-0011.*".into()),
        visible: Visible::all().into(),
        assignor: None,
        owned: Some(Partitions::default()),
    }
}

#[tokio::test]
async fn pages_subscriptions_and_groups_cost_the_same_however_many_topics_there_are() {
    let (mut of_page, mut of_subscription, mut of_group) = (Vec::new(), Vec::new(), Vec::new());
    for topics in [2_000, 10_000] {
        let broker = broker(topics).await;
        let page = || broker.topics_page("topic-001", Bound::Excluded("topic-001099"), 10, |_| true);
        let ((listed, has_more), allocations) = allocations_of(page);
        let names: Vec<_> = listed.iter().map(|topic| topic.topic_name().to_owned()).collect();
        assert_eq!((names.len(), &*names[0], &*names[9], has_more), (10, "topic-001100", "topic-001109", true));
        of_page.push(allocations);
        drop(listed);
        let bytes = ThreadBytes::start();
        assert_eq!(broker.topics().len(), topics);
        let held = bytes.held();
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
        let bytes = ThreadBytes::start();
        let subscription = broker.subscribe(request).now_or_never().unwrap().unwrap();
        of_subscription.push(bytes.peak());
        drop(subscription);

        let bytes = ThreadBytes::start();
        let kept = broker.coordinator().consumer_heartbeat(&"group".into(), &heartbeat()).await.unwrap();
        assert_eq!(kept.assignment.unwrap().len(), 102, "of {topics} topics");
        assert_eq!(broker.coordinator().groups().len(), 1);
        of_group.push(bytes.peak());
        broker.close().await;
    }
    assert_eq!(of_page[0], of_page[1], "allocations");
    // A copied list of all topics has eight bytes for each.
    for (what, bytes) in [("a subscription to 100 topics", of_subscription), ("a group with 102 topics", of_group)] {
        assert!(bytes[0].abs_diff(bytes[1]) < 20_000, "{bytes:?} bytes for {what}");
    }
}
