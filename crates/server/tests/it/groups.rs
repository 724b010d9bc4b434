//! Groups of consumers over HTTP: members share partitions, commit offsets, come and go.

use crate::support::http;
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use rawline_testkit::stores::in_memory;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const GROUP: &str = "group-name=readers";

/// Sends a request, and returns the status and the response's JSON.
async fn send(server: &Served, method: &str, target: &str, body: &Value) -> (u16, Value) {
    let (status, _, text) = http(server, method, target, "accept: */*", body.to_string().as_bytes()).await;
    (status, if text.is_empty() { Value::Null } else { serde_json::from_slice(&text).unwrap() })
}

/// The same of a request that is refused with this code.
async fn refused(server: &Served, method: &str, target: &str, body: &Value, status: u16, code: &str) {
    let (found, error) = send(server, method, target, body).await;
    assert_eq!((found, error["code"].as_str()), (status, Some(code)), "{method} {target}: {error}");
}

async fn join(server: &Served, member: Option<&str>) -> Value {
    let body = json!({"topics": ["t", "later"], "member": member, "client": "test"});
    let (status, share) = send(server, "POST", &format!("/member?{GROUP}"), &body).await;
    assert_eq!(status, 200, "{share}");
    share
}

fn partitions(share: &Value) -> BTreeSet<u64> {
    share["partitions"].as_array().unwrap().iter().map(|one| one["partition"].as_u64().unwrap()).collect()
}

fn heartbeat(share: &Value) -> String {
    let divided = share["divided"].as_u64().map(|divided| format!("&divided={divided}")).unwrap_or_default();
    format!("/member?{GROUP}&member={}&generation={}{divided}", share["member"].as_str().unwrap(), share["generation"])
}

fn commit(share: &Value, partition: u64, offset: u64) -> Value {
    let offsets = [json!({"topic": "t", "partition": partition, "offset": offset, "metadata": "m"})];
    json!({"member": share["member"], "generation": share["generation"], "offsets": offsets})
}

#[tokio::test]
async fn members_share_partitions() {
    let (server, _dir) = crate::support::kafka::served().await;
    assert_eq!(send(&server, "POST", "/topic?topic-name=t", &json!({"partitions": 4})).await.0, 201);
    for partition in 0..4 {
        let target = format!("/records?topic-name=t&partition={partition}");
        for record in [b"one", b"two"] {
            assert_eq!(http(&server, "POST", &target, "content-type: application/octet-stream", record).await.0, 201);
        }
    }
    let one = join(&server, None).await;
    assert_eq!((partitions(&one), one["generation"].as_u64()), (BTreeSet::from([0, 1, 2, 3]), Some(1)));
    assert_eq!(send(&server, "PUT", &heartbeat(&one), &Value::Null).await.0, 204);
    assert_eq!(send(&server, "PUT", &format!("/group?{GROUP}"), &commit(&one, 2, 1)).await.0, 204);

    // Another member: both join, and share.
    let again = async {
        // Until the other one has begun to join.
        while send(&server, "PUT", &heartbeat(&one), &Value::Null).await.0 == 204 {
            tokio::task::yield_now().await;
        }
        refused(&server, "PUT", &heartbeat(&one), &Value::Null, 409, "group_rebalancing").await;
        join(&server, one["member"].as_str()).await
    };
    let (one, two) = tokio::join!(again, join(&server, None));
    assert_eq!((one["generation"].as_u64(), two["generation"].as_u64()), (Some(2), Some(2)));
    assert_eq!((partitions(&one).len(), partitions(&two).len()), (2, 2));
    assert!(partitions(&one).is_disjoint(&partitions(&two)), "{one} {two}");
    let offsets = [&one, &two].map(|share| share["partitions"].as_array().unwrap().clone()).concat();
    let committed: Vec<_> = offsets.iter().filter(|one| one["offset"].is_u64()).collect();
    assert_eq!(committed, [&json!({"topic": "t", "partition": 2, "offset": 1})]);

    let (status, group) = send(&server, "GET", &format!("/group?{GROUP}"), &Value::Null).await;
    assert_eq!((status, group["state"].as_str(), group["strategy"].as_str()), (200, Some("stable"), Some("range")));
    assert_eq!(
        (group["members"].as_array().unwrap().len(), group["members"][0]["address"].as_str()),
        (2, Some("127.0.0.1"))
    );
    let expected = json!([{"topic": "t", "partition": 2, "offset": 1, "next_offset": 2, "lag": 1, "metadata": "m"}]);
    assert_eq!(group["offsets"], expected);
    let (_, groups) = send(&server, "GET", "/groups", &Value::Null).await;
    assert_eq!(groups, json!({"groups": [{"name": "readers", "state": "stable", "members": 2}]}));

    let (_, groups) = send(&server, "GET", "/groups?totals=true", &Value::Null).await;
    let expected = json!({"name": "readers", "state": "stable", "members": 2, "topics": ["t"], "lag": 1});
    assert_eq!(groups, json!({"groups": [expected]}));

    // More partitions to divide: the leader learns it from its next heartbeat.
    assert_eq!(send(&server, "PUT", "/topic?topic-name=later", &json!({"partitions": 2})).await.0, 200);
    let (leader, other) = if one["divided"].is_u64() { (one, two) } else { (two, one) };
    assert_eq!(send(&server, "PUT", &heartbeat(&other), &Value::Null).await.0, 204);
    refused(&server, "PUT", &heartbeat(&leader), &Value::Null, 409, "group_rebalancing").await;
    let (leader, other) =
        tokio::join!(join(&server, leader["member"].as_str()), join(&server, other["member"].as_str()));
    assert_eq!((leader["generation"].as_u64(), leader["divided"].is_u64()), (Some(3), true));
    assert_eq!(send(&server, "PUT", &heartbeat(&leader), &Value::Null).await.0, 204);

    let old = json!({"member": other["member"], "generation": 1, "offsets": []});
    refused(&server, "PUT", &format!("/group?{GROUP}"), &old, 409, "group_rebalancing").await;
    refused(&server, "PUT", &format!("/group?{GROUP}"), &json!({"offsets": []}), 409, "group_not_empty").await;
    refused(&server, "DELETE", &format!("/group?{GROUP}"), &Value::Null, 409, "group_not_empty").await;
    for share in [&leader, &other] {
        let target = format!("/member?{GROUP}&member={}", share["member"].as_str().unwrap());
        assert_eq!(send(&server, "DELETE", &target, &Value::Null).await.0, 204);
        refused(&server, "DELETE", &target, &Value::Null, 404, "member_not_found").await;
    }
    // Without members, offsets are set and deleted.
    let reset = json!({"offsets": [{"topic": "t", "offset": 2}, {"topic": "t", "partition": 2, "offset": 0}]});
    assert_eq!(send(&server, "PUT", &format!("/group?{GROUP}"), &reset).await.0, 204);
    let (_, group) = send(&server, "GET", &format!("/group?{GROUP}"), &Value::Null).await;
    let lags: Vec<_> = group["offsets"].as_array().unwrap().iter().map(|one| one["lag"].as_u64().unwrap()).collect();
    assert_eq!((group["state"].as_str(), lags), (Some("empty"), vec![0, 2]));
    let one = format!("/group?{GROUP}&topic-name=t&partition=2");
    assert_eq!(send(&server, "DELETE", &one, &Value::Null).await.0, 204);
    refused(&server, "DELETE", &one, &Value::Null, 404, "group_not_found").await;
    assert_eq!(send(&server, "DELETE", &format!("/group?{GROUP}"), &Value::Null).await.0, 204);
    refused(&server, "GET", &format!("/group?{GROUP}"), &Value::Null, 404, "group_not_found").await;
}

#[tokio::test]
async fn what_is_wrong_is_refused() {
    let (server, _dir) = crate::support::kafka::served().await;
    let cases = [
        ("POST", "/member", json!({"topics": ["t"]}), 400, "group_name"),
        ("POST", "/member?group-name=g", json!({"topics": []}), 400, "group_invalid"),
        ("POST", "/member?group-name=g", json!({"topic": "t"}), 400, "group_invalid"),
        ("POST", "/member?group-name=g", json!({"topics": ["t"], "session_ms": 1}), 400, "group_invalid"),
        ("POST", "/member?group-name=g", json!({"topics": ["t"], "member": "none"}), 404, "member_not_found"),
        ("PUT", "/member?group-name=g&member=m&generation=1", Value::Null, 404, "member_not_found"),
        ("PUT", "/member?group-name=g&member=m", Value::Null, 400, "query_missing"),
        ("PUT", "/group?group-name=g", json!({"offsets": [{"topic": "t", "offset": -1}]}), 400, "group_invalid"),
        ("PUT", "/group?group-name=g", json!({"offsets": [{"topic": "t", "offset": 1}]}), 404, "topic_not_found"),
        ("PUT", "/group?group-name=g", json!({"member": "m", "offsets": []}), 400, "group_invalid"),
        ("GET", "/group?group-name=g", Value::Null, 404, "group_not_found"),
        ("DELETE", "/group?group-name=g", Value::Null, 404, "group_not_found"),
    ];
    for (method, target, body, status, code) in cases {
        refused(&server, method, target, &body, status, code).await;
    }
    let long = format!("/member?group-name={}", "g".repeat(201));
    refused(&server, "POST", &long, &json!({"topics": ["t"]}), 400, "group_name").await;
}

/// The list of many groups has more than fits outside the pool, and gives its buffers back.
#[tokio::test]
async fn many_groups_are_listed() {
    let (server, _dir) = crate::support::kafka::served().await;
    assert_eq!(send(&server, "POST", "/topic?topic-name=t", &json!({})).await.0, 201);
    let offsets = json!({"offsets": [{"topic": "t", "offset": 0}]});
    for n in 0..200 {
        assert_eq!(send(&server, "PUT", &format!("/group?group-name=group-{n:03}"), &offsets).await.0, 204);
    }
    let (status, list) = send(&server, "GET", "/groups", &Value::Null).await;
    let groups = list["groups"].as_array().unwrap();
    assert_eq!((status, groups.len(), groups[199]["name"].as_str()), (200, 200, Some("group-199")));
    server.wait_for_buffers();
    let none = Served::on(in_memory(), HttpConfig::default(), 8 << 20).await;
    assert_eq!(send(&none, "GET", "/groups", &Value::Null).await.1, json!({"groups": []}));
}
