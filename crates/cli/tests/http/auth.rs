//! Access: with keys, only their holders; without keys, programs on this machine, but no web pages.

use crate::broker::Broker;
use crate::client::*;

#[test]
fn only_a_key_gives_access() {
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
            assert!(answer.text().contains("invalid auth"), "clients of the original expect this text");
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
fn without_keys_any_program_of_this_machine_may_send_requests() {
    let broker = Broker::start(&[]);
    let headers = [("authorization", "Bearer anything")];
    exchange(broker.address, &request("GET", "/topics", &headers, b"")).assert_status(200);
    broker.get("/topics").assert_status(200);
}

/// Defect 2: with DNS rebinding, a web page could read from a broker without keys as from its own site.
#[test]
fn without_keys_web_pages_get_nothing() {
    let broker = Broker::start(&[]);
    broker.post("/records?topic-name=t", RECORD, b"secret").assert_status(201);
    let port = broker.address.port();
    let get = |target: &str, host: &str, more: &str| {
        let bytes = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n{more}\r\n");
        exchange(broker.address, bytes.as_bytes())
    };
    let targets =
        ["/record?topic-name=t&offset=0", "/records?topic-name=t&offset=0", "/topics", "/metrics", "/nowhere"];
    for target in targets {
        get(target, &format!("evil.example:{port}"), "").assert_error(403, "host_refused");
        get(target, "10.1.2.3", "").assert_error(403, "host_refused");
        get(target, "localhost", "origin: https://evil.example\r\n").assert_error(403, "origin_refused");
        get(target, "localhost", "sec-fetch-site: cross-site\r\n").assert_error(403, "origin_refused");
        get(target, "localhost", "sec-fetch-site: same-site\r\n").assert_error(403, "origin_refused");
    }
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1", &format!("127.0.0.1:{port}"), &format!("[::1]:{port}")] {
        get("/topics", host, "").assert_status(200);
        get("/topics", host, "sec-fetch-site: none\r\n").assert_status(200);
    }
    // An orchestrator's probe may use any name.
    get("/health", "pod.example", "").assert_status(200);

    // A key shows that the client is not another site's page, and other machines use other host names.
    let keyed = Broker::start(&["--api-key", "k"]);
    let bytes =
        "GET /topics HTTP/1.1\r\nhost: broker.example\r\norigin: https://a.example\r\nauthorization: Bearer k\r\n\r\n";
    exchange(keyed.address, bytes.as_bytes()).assert_status(200);
}
