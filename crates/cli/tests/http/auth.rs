//! Keys: needed everywhere but where nothing is told.

use crate::broker::Broker;
use crate::client::*;

#[test]
fn keys_open_the_door_and_nothing_else_does() {
    let broker = Broker::start(&["--api-key", "first", "--api-key", "second"]);
    let with = |method: &str, target: &str, value: Option<&str>| {
        let mut headers = vec![("content-type", RECORD)];
        headers.extend(value.map(|value| ("authorization", value)));
        exchange(broker.address, &request(method, target, &headers, b"a"))
    };
    for (method, target) in [
        ("POST", "/records?topic-name=t"),
        ("POST", "/records"),
        ("GET", "/records?topic-name=t&offset=0"),
        ("GET", "/record?topic-name=t&offset=0"),
        ("GET", "/topic?topic-name=t"),
        ("GET", "/topics"),
        ("GET", "/offset?topic-name=t&time=2026-01-01T00:00:00Z"),
        ("GET", "/metrics"),
        ("GET", "/nowhere"),
        ("DELETE", "/records"),
    ] {
        for wrong in [
            None,
            Some(""),
            Some("first"),
            Some("Bearer"),
            Some("Bearer firs"),
            Some("Bearer first,second"),
            Some("Basic first"),
        ] {
            let answer = with(method, target, wrong);
            answer.assert_error(401, "unauthorized");
            assert!(answer.text().contains("invalid auth"), "what clients of the original look for");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    for key in ["Bearer first", "Bearer second", "bearer first"] {
        with("POST", "/records?topic-name=t", Some(key)).assert_status(201);
    }
    assert_eq!(with("GET", "/topic?topic-name=t", Some("Bearer second")).json()["next_offset"], 3);
    for open in ["/health", "/openapi.json", "/"] {
        broker.get(open).assert_status(200);
    }
}

#[test]
fn without_a_key_every_request_is_let_in() {
    let broker = Broker::start(&[]);
    let headers = [("authorization", "Bearer anything")];
    exchange(broker.address, &request("GET", "/topics", &headers, b"")).assert_status(200);
    broker.get("/topics").assert_status(200);
}
