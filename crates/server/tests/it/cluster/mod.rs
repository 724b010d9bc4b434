//! Two brokers on a bucket in the test's own process: the rights of clients at a broker that isn't the owner, and of
//! brokers and programs that pretend to be brokers.

mod callers;
mod http_requests;
mod strangers;
mod walk;
mod zones;

use crate::support::{http, wait_until};
use rawline_server::access::{Access, Audit, Grants, KeyEntry, KeyFile, Patterns, QuotaLimits};
use rawline_server::http::HttpConfig;
use rawline_testkit::s3_server::{Bucket, bucket};
use rawline_testkit::served::Served;
use std::sync::atomic::{AtomicBool, Ordering};

/// The ids of the two. A broker's score for a journal is a hash of its id, so the first owns the only journal.
const IDS: [u64; 2] = [2, 1];

/// Two brokers that know each other.
struct Two {
    bucket: Bucket,
    owner: Served,
    other: Served,
}

/// A key that grants everything, which tests use to prepare and to look.
const ALL: &str = "all";

fn patterns(texts: &[&str]) -> Patterns {
    Patterns::parse(texts.iter().copied()).unwrap()
}

/// A key with grants, and its entry.
fn key(name: &str, grants: Grants) -> (String, KeyEntry) {
    KeyEntry::generate(name, grants, QuotaLimits::default()).unwrap()
}

/// Access with the key that grants everything and these.
fn access(entries: &[KeyEntry]) -> Access {
    Access::new(vec![ALL.into()], Some(KeyFile { keys: entries.to_vec() }), Audit::default())
}

impl Two {
    /// The owner's access, and the other's.
    async fn start(owner: Access, other: Access) -> Two {
        let bucket = bucket().await;
        let config = |access| HttpConfig { access, ..HttpConfig::default() };
        let owner = Served::member(&bucket, config(owner), IDS[0]).await;
        let other = Served::member(&bucket, config(other), IDS[1]).await;
        for server in [&owner, &other] {
            let knows = AtomicBool::new(false);
            while !knows.load(Ordering::Relaxed) {
                let (_, _, list) = ask(server, ALL, "GET", "/brokers", "", b"").await;
                let list: serde_json::Value = serde_json::from_slice(&list).unwrap();
                let brokers = list["brokers"].as_array().unwrap();
                let live: Vec<_> = brokers.iter().filter(|broker| broker["state"] == "live").collect();
                let is_owner = |url: String| live.iter().any(|one| one["url"] == *url && one["is_owner"] == true);
                knows.store(live.len() == 2 && is_owner(owner.url()), Ordering::Relaxed);
                assert!(live.len() < 2 || !is_owner(other.url()), "the first of {IDS:?} owns the journal: {list}");
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            wait_until(|| knows.load(Ordering::Relaxed)).await;
        }
        Two { bucket, owner, other }
    }

    /// The same with the same keys at both.
    async fn with_keys(entries: &[KeyEntry]) -> Two {
        Two::start(access(entries), access(entries)).await
    }
}

/// Sends a request with a key: the status, the head and the body of the response.
async fn ask(
    server: &Served,
    key: &str,
    method: &str,
    target: &str,
    content_type: &str,
    body: &[u8],
) -> (u16, String, Vec<u8>) {
    let mut header = format!("authorization: Bearer {key}");
    if !content_type.is_empty() {
        header.push_str(&format!("\r\ncontent-type: {content_type}"));
    }
    http(server, method, target, &header, body).await
}

/// The code of an error, if the body is one.
fn code(body: &[u8]) -> String {
    let error: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    error["code"].as_str().unwrap_or_default().to_owned()
}
