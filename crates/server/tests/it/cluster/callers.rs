//! The caller of a forwarded request as the owner sees it: the client, with the grants, the quota and the name of its
//! key there.

use super::{ALL, Two, access, ask, code, key, patterns};
use crate::support::http;
use rawline_broker::SystemClock;
use rawline_server::access::{Access, Audit, Grants, KeyEntry, KeyFile, QuotaLimits};
use serde_json::{Value, json};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

fn limited() -> (String, KeyEntry) {
    let some = || patterns(&["a-*"]);
    key("limited", Grants { read: some(), write: some(), groups: some(), ..Grants::default() })
}

fn commit(topic: &str) -> Vec<u8> {
    json!({"offsets": [{"topic": topic, "partition": 0, "offset": 1, "metadata": "secret"}]}).to_string().into_bytes()
}

/// Checks in the handlers, not in the table: topics in a request's body and in a response.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_gets_no_more_of_a_group_through_another_broker_than_at_the_owner() {
    let (limited, entry) = limited();
    let two = Two::with_keys(&[entry]).await;
    for topic in ["a-topic", "b-topic"] {
        let target = format!("/records?topic-name={topic}");
        assert_eq!(ask(&two.owner, ALL, "POST", &target, "application/octet-stream", b"x").await.0, 201);
        let (status, _, body) = ask(&two.other, ALL, "PUT", "/group?group-name=a-group", "", &commit(topic)).await;
        assert_eq!(status, 204, "{}", String::from_utf8_lossy(&body));
    }
    for server in [&two.owner, &two.other] {
        let (status, _, body) = ask(server, &limited, "GET", "/group?group-name=a-group", "", b"").await;
        let group: Value = serde_json::from_slice(&body).unwrap();
        let topics: Vec<_> = group["offsets"].as_array().unwrap().iter().map(|one| &one["topic"]).collect();
        assert_eq!((status, topics), (200, vec![&json!("a-topic")]));
        for (method, target, body) in [
            ("PUT", "/group?group-name=a-group", commit("b-topic")),
            ("POST", "/member?group-name=a-new", br#"{"topics":["b-topic"]}"#.to_vec()),
        ] {
            let (status, _, body) = ask(server, &limited, method, target, "", &body).await;
            assert_eq!((status, code(&body).as_str()), (403, "grant_missing"), "{method} {target}");
        }
        let (_, _, body) = ask(server, &limited, "GET", "/group?group-name=b-group", "", b"").await;
        assert_eq!(code(&body), "grant_missing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owners_keys_decide_where_brokers_have_others() {
    let append = "/records?topic-name=a-topic";
    let (limited, entry) = limited();
    let (_, same_name) = key("limited", Grants::all());
    let file = |entry: &KeyEntry| Some(KeyFile { keys: vec![entry.clone()] });
    let fixed = |key: &str| Access::of_keys(vec![key.into()]);
    // The owner's access, a key that only the other one knows.
    for (owner, sent) in [
        (Access::new(vec![ALL.into()], file(&same_name), Audit::default()), limited.as_str()),
        (access(&[]), limited.as_str()),
        (fixed(ALL), "different"),
    ] {
        let other = Access::new(vec![ALL.into(), "different".into()], file(&entry), Audit::default());
        let two = Two::start(owner, other).await;
        let (status, head, body) = ask(&two.other, sent, "POST", append, "application/octet-stream", b"x").await;
        assert_eq!((status, code(&body).as_str()), (401, "unauthorized"), "{}", String::from_utf8_lossy(&body));
        assert!(head.contains("www-authenticate: Bearer"), "{head}");
        assert_eq!(ask(&two.other, ALL, "POST", append, "application/octet-stream", b"x").await.0, 201, "both know it");
    }
    // A broker without keys serves every client, and its clients have no key for a broker with keys.
    let two = Two::start(Access::default(), access(&[])).await;
    assert_eq!(ask(&two.other, ALL, "POST", append, "application/octet-stream", b"x").await.0, 201);
    let two = Two::start(access(&[]), Access::default()).await;
    let (status, _, body) = http(&two.other, "POST", append, "content-type: application/octet-stream", b"x").await;
    assert_eq!((status, code(&body).as_str()), (401, "unauthorized"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarded_append_counts_once_for_the_keys_quota() {
    let quota = QuotaLimits { bytes_in_per_second: NonZeroU64::new(1000), ..QuotaLimits::default() };
    let (key, entry) = KeyEntry::generate("slow", Grants::all(), quota).unwrap();
    let two = Two::with_keys(&[entry]).await;
    let append = |server, bytes: usize| {
        let (key, body) = (key.clone(), vec![b'x'; bytes]);
        async move { ask(server, &key, "POST", "/records?topic-name=t", "application/octet-stream", &body).await }
    };
    assert_eq!(append(&two.other, 100_000).await.0, 201, "what exceeds it is stored");
    for server in [&two.other, &two.owner] {
        let (status, head, _) = append(server, 1).await;
        let seconds = head.lines().find_map(|line| line.strip_prefix("retry-after: ")).unwrap().parse::<u64>().unwrap();
        assert!(status == 429 && seconds <= 100, "{status}, {seconds} s");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarded_change_is_audited_once_with_the_clients_key_and_the_broker_between() {
    let folder = tempfile::tempdir().unwrap();
    let (limited, entry) = limited();
    let path = |name: &str| folder.path().join(name);
    let audited = |path: PathBuf| {
        let audit = Audit::to_file(path, Arc::new(SystemClock)).unwrap();
        Access::new(vec![ALL.into()], Some(KeyFile { keys: vec![entry.clone()] }), audit)
    };
    let two = Two::start(audited(path("owner")), audited(path("other"))).await;
    assert_eq!(ask(&two.other, ALL, "POST", "/topic?topic-name=t", "application/json", b"{}").await.0, 201);
    ask(&two.other, &limited, "PUT", "/group?group-name=a-group", "", &commit("b-topic")).await;
    let lines = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(path(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let noted = lines("owner");
    let line =
        |line: &Value| [&line["key"], &line["action"], &line["outcome"]].map(|one| one.as_str().unwrap().to_owned());
    let expected = [["api-key", "topic.create", "ok"], ["limited", "PUT /group", "grant_missing"]];
    assert_eq!(noted.iter().map(line).collect::<Vec<_>>(), expected.map(|one| one.map(str::to_owned)));
    assert!(noted.iter().all(|line| line["through"] == "0000000000000001" && line["peer"] == "127.0.0.1"), "{noted:?}");
    assert_eq!(lines("other"), Vec::<Value>::new());
}
