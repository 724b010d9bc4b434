//! A topic that a failed assertion has stopped needs a human; other topics continue.

use crate::support::{append_head, connect, exchange, get};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use rawline_broker::Kind;
use rawline_broker::object::Object;
use rawline_broker::store::memory::MemoryStore;
use rawline_broker::store::{Begun, CommitError, Listed, ObjectAt, Store, StoreError};
use rawline_contract::code;
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use std::ops::Range;
use std::sync::Arc;

/// Fails an assertion on the second append to the topic "bad".
#[derive(Default)]
struct Asserting(MemoryStore);

impl Store for Asserting {
    fn begin<'a>(&'a self, topic: &'a str, object: Object) -> BoxFuture<'a, Result<Begun, CommitError>> {
        let first_offset = object.header.first_offset;
        assert!(topic != "bad" || first_offset == 0, "an object at offset {first_offset} in a topic of one record");
        self.0.begin(topic, object)
    }

    fn topics(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.0.topics()
    }

    fn list<'a>(&'a self, topic: &'a str, from: u64) -> BoxFuture<'a, Result<Vec<Listed>, StoreError>> {
        self.0.list(topic, from)
    }

    fn get<'a>(&'a self, topic: &'a str, at: ObjectAt, range: Range<u64>) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        self.0.get(topic, at, range)
    }

    fn settings<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        self.0.settings(topic)
    }

    fn put_settings<'a>(&'a self, topic: &'a str, settings: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.put_settings(topic, settings)
    }

    fn delete_before<'a>(&'a self, topic: &'a str, offset: u64) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.0.delete_before(topic, offset)
    }

    fn mark_deleted<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.mark_deleted(topic)
    }

    fn delete_topic<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.delete_topic(topic)
    }
}

async fn append(server: &Served, topic: &str) -> (u16, String) {
    let head = append_head(3).replace("topic-name=t", &format!("topic-name={topic}"));
    exchange(&mut connect(server).await, &[head.as_bytes(), b"abc"]).await.unwrap()
}

async fn ask(server: &Served, target: &str) -> (u16, String) {
    exchange(&mut connect(server).await, &[get(target).as_bytes()]).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_stopped_by_a_failed_assertion_asks_for_a_human_and_the_others_go_on() {
    let server = Served::on(Arc::new(Asserting::default()), HttpConfig::default(), 128 << 20).await;
    assert_eq!(append(&server, "bad").await.0, 201);
    assert!(ask(&server, "/health").await.1.ends_with("ok\n"));
    assert!(ask(&server, "/metrics").await.1.contains("rawline_topics_failed 0\n"));

    // The append that fails the assertion, and later ones.
    for _ in 0..3 {
        let (status, text) = append(&server, "bad").await;
        assert_eq!((status, code::kind_of_status(status)), (500, Kind::TellHuman), "{text}");
        assert!(text.contains("\"topic_failed\"") && !text.contains("retry-after"), "{text}");
        assert!(text.contains("an object at offset 1 in a topic of one record"), "the values are there: {text}");
        assert_eq!(append(&server, "good").await.0, 201);
    }
    assert_eq!(ask(&server, "/record?topic-name=bad&offset=0").await.0, 200, "it can be read");
    let (status, text) = ask(&server, "/health").await;
    assert_eq!(status, 200);
    assert!(text.contains("ok, but 1 topics have failed"), "{text}");
    let (_, text) = ask(&server, "/metrics").await;
    assert!(text.contains("rawline_topics_failed 1\n"), "{text}");

    let delete = get("/topic?topic-name=bad").replacen("GET", "DELETE", 1);
    assert_eq!(exchange(&mut connect(&server).await, &[delete.as_bytes()]).await.unwrap().0, 204);
    assert!(ask(&server, "/health").await.1.ends_with("ok\n"));
    assert!(ask(&server, "/metrics").await.1.contains("rawline_topics_failed 0\n"));
    assert_eq!(append(&server, "bad").await.0, 201, "a new topic of the same name");
}
