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
        ("GET", "/measurements"),
        ("GET", "/measurements/query?topic-name=t&selector=cpu"),
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

/// A request with these headers after `Host`, each with its line end.
fn from_browser(broker: &Broker, line: &str, host: &str, headers: &str) -> Answer {
    exchange(broker.address, format!("{line} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n").as_bytes())
}

const WEBSOCKET: &str = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[test]
fn without_keys_the_brokers_own_page_may_do_everything_and_no_other_page_anything() {
    let broker = Broker::start(&[]);
    let port = broker.address.port();
    let post = "POST /topic?topic-name=t";
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        let own = format!("origin: http://{host}\r\nsec-fetch-site: same-origin\r\n");
        from_browser(&broker, "PUT /topic?topic-name=t", &host, &format!("{own}content-length: 2\r\n\r\n{{}}"));
        from_browser(&broker, "GET /topic?topic-name=t", &host, &own).assert_status(200);
        from_browser(&broker, "POST /ticket", &host, &own).assert_status(201);
        from_browser(&broker, "GET /v1/messages/json", &host, &format!("{own}{WEBSOCKET}")).assert_status(101);
        for origin in [format!("https://evil.example:{port}"), "null".into(), format!("http://localhost:{}", port ^ 1)]
        {
            let other = format!("origin: {origin}\r\n");
            from_browser(&broker, post, &host, &other).assert_error(403, "origin_refused");
            from_browser(&broker, "POST /ticket", &host, &other).assert_error(403, "origin_refused");
            let answer = from_browser(&broker, "GET /v1/messages/json", &host, &format!("{other}{WEBSOCKET}"));
            answer.assert_error(403, "origin_refused");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    // DNS rebinding: the page's own name, which resolves to this machine.
    let host = format!("evil.example:{port}");
    for line in [post, "POST /ticket", "GET /topics", "GET /stats"] {
        from_browser(&broker, line, &host, &format!("origin: http://{host}\r\n")).assert_error(403, "origin_refused");
        from_browser(&broker, line, &host, "").assert_error(403, "host_refused");
    }
}

#[test]
fn an_allowed_origin_may_use_the_api_with_and_without_a_key() {
    let app = "origin: https://app.example\r\nsec-fetch-site: cross-site\r\n";
    let ask = "access-control-request-method: PUT\r\naccess-control-request-headers: authorization\r\n";
    for (keys, key) in [(&[][..], ""), (&["--api-key", "k"][..], "authorization: Bearer k\r\n")] {
        let flags = [keys, &["--allow-origin", "https://app.example,http://localhost:3000"]].concat();
        let broker = Broker::start(&flags);
        let allowed = from_browser(&broker, "GET /topics", "localhost", &format!("{app}{key}"));
        allowed.assert_status(200);
        assert_eq!(allowed.header("access-control-allow-origin"), Some("https://app.example"));
        assert_eq!(allowed.header("vary"), Some("origin"));
        assert_eq!(allowed.header("access-control-allow-credentials"), None);
        // Errors too, so that the app can show them.
        let missing = from_browser(&broker, "GET /topic?topic-name=none", "localhost", &format!("{app}{key}"));
        missing.assert_error(404, "topic_not_found");
        assert_eq!(missing.header("access-control-allow-origin"), Some("https://app.example"));
        // A preflight has no key.
        let preflight = from_browser(&broker, "OPTIONS /topic?topic-name=t", "localhost", &format!("{app}{ask}"));
        preflight.assert_status(204);
        assert_eq!(preflight.header("access-control-allow-origin"), Some("https://app.example"));
        assert_eq!(preflight.header("access-control-allow-methods"), Some("GET, HEAD, POST, PUT, DELETE"));
        assert!(preflight.header("access-control-allow-headers").unwrap().contains("authorization"));
        let upgrade = from_browser(&broker, "GET /v1/messages/json", "localhost", &format!("{app}{key}{WEBSOCKET}"));
        upgrade.assert_status(101);
        // No other origin gets anything, nor the same app under a name of DNS rebinding.
        for origin in ["https://evil.example", "http://app.example", "null"] {
            let other = format!("origin: {origin}\r\nsec-fetch-site: cross-site\r\n");
            let preflight = from_browser(&broker, "OPTIONS /topics", "localhost", &format!("{other}{ask}"));
            assert!([401, 403].contains(&preflight.status), "{preflight:?}");
            let request = from_browser(&broker, "GET /topics", "localhost", &format!("{other}{key}"));
            request.assert_status(if key.is_empty() { 403 } else { 200 });
            for answer in [preflight, request, from_browser(&broker, "GET /health", "localhost", &other)] {
                assert_eq!(answer.header("access-control-allow-origin"), None, "{origin}");
            }
        }
        if key.is_empty() {
            from_browser(&broker, "GET /topics", "evil.example", app).assert_error(403, "host_refused");
        } else {
            from_browser(&broker, "GET /topics", "localhost", app).assert_error(401, "unauthorized");
        }
    }
}

#[test]
fn a_ticket_opens_subscriptions_and_nothing_else() {
    let broker = Broker::start(&["--api-key", "k"]);
    from_browser(&broker, "POST /ticket", "localhost", "").assert_error(401, "unauthorized");
    let answer = from_browser(&broker, "POST /ticket", "broker.example", "authorization: Bearer k\r\n");
    answer.assert_status(201);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.json()["expires_in_seconds"], 60);
    let ticket = answer.json()["ticket"].as_str().unwrap().to_owned();
    let subscribe = |ticket: &str, origin: &str| {
        let line = format!("GET /v1/messages/json?ticket={ticket}");
        from_browser(&broker, &line, "broker.example", &format!("{origin}{WEBSOCKET}"))
    };
    for origin in ["", "origin: http://broker.example\r\n", "origin: https://other.example\r\n"] {
        subscribe(&ticket, origin).assert_status(101);
        subscribe("AAAA", origin).assert_error(401, "unauthorized");
        subscribe("", origin).assert_error(401, "unauthorized");
    }
    for line in ["GET /topics?", "GET /records?topic-name=t&offset=0&", "POST /ticket?", "DELETE /topic?topic-name=t&"]
    {
        from_browser(&broker, &format!("{line}ticket={ticket}"), "localhost", "").assert_error(401, "unauthorized");
    }
    let other = Broker::start(&["--api-key", "k"]);
    let line = format!("GET /v1/messages/json?ticket={ticket}");
    from_browser(&other, &line, "localhost", WEBSOCKET).assert_error(401, "unauthorized");
}

#[test]
fn the_console_needs_no_key_and_only_browsers_get_it() {
    let broker = Broker::start(&["--api-key", "k"]);
    let page = from_browser(&broker, "GET /", "broker.example", "accept: text/html,*/*;q=0.8\r\n");
    page.assert_status(200);
    assert!(page.text().starts_with("<!doctype html>"), "{}", page.text());
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'; script-src 'self';"));
    assert!(from_browser(&broker, "GET /", "localhost", "accept: */*\r\n").text().starts_with("rawline "));
    from_browser(&broker, "GET /console/index.html", "localhost", "").assert_status(200);
    from_browser(&broker, "GET /console/none", "localhost", "").assert_error(404, "path_not_found");
}
