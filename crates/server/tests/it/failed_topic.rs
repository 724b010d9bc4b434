//! A journal that a failed assertion has stopped needs a human; its records can be read.

use crate::support::{append_head, connect, exchange, failed_journals, get};
use rawline_broker::Kind;
use rawline_broker::store::Storage;
use rawline_contract::code;
use rawline_server::http::HttpConfig;
use rawline_testkit::faulty::{Faulty, OnCreate, has_records};
use rawline_testkit::served::Served;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A store that fails an assertion once it has the records of two appends.
fn asserting() -> Storage {
    let mut store = Faulty::new();
    let appends = AtomicUsize::new(0);
    store.on_create = Box::new(move |index| {
        let is_third = has_records(index) && appends.fetch_add(1, Ordering::SeqCst) >= 2;
        if is_third { OnCreate::Panic("an object after two appends") } else { OnCreate::Pass }
    });
    store.storage()
}

async fn append(server: &Served, topic: &str) -> (u16, String) {
    let head = append_head(3).replace("topic-name=t", &format!("topic-name={topic}"));
    exchange(&mut connect(server).await, &[head.as_bytes(), b"abc"]).await.unwrap()
}

async fn ask(server: &Served, target: &str) -> (u16, String) {
    exchange(&mut connect(server).await, &[get(target).as_bytes()]).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_stopped_by_a_failed_assertion_asks_for_a_human_and_its_records_can_be_read() {
    let server = Served::on(asserting(), HttpConfig::default(), 128 << 20).await;
    for topic in ["one", "two"] {
        assert_eq!(append(&server, topic).await.0, 201);
    }
    assert!(ask(&server, "/health").await.1.ends_with("ok\n"));
    let before = failed_journals(&server).await;

    // The append that fails the assertion, and later ones: the topics share the journal.
    for topic in ["one", "one", "two"] {
        let (status, text) = append(&server, topic).await;
        assert_eq!((status, code::kind_of_status(status)), (500, Kind::TellHuman), "{text}");
        assert!(text.contains("\"topic_failed\"") && !text.contains("retry-after"), "{text}");
        assert!(text.contains("an object after two appends"), "the values are there: {text}");
    }
    for topic in ["one", "two"] {
        let (status, _) = ask(&server, &format!("/record?topic-name={topic}&offset=0")).await;
        assert_eq!(status, 200, "it can be read");
    }
    let (status, text) = ask(&server, "/health").await;
    assert_eq!(status, 200);
    assert!(text.contains("ok, but 2 topics have failed"), "{text}");
    assert!(failed_journals(&server).await > before);
}
