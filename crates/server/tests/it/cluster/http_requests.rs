//! The requests of a walk over all routes: `GET /` lists them from the broker's own table, so a new route fails the
//! walk until it has a request here.

use crate::support::kafka_requests::Names;
use rawline_testkit::served::Served;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A method and a path of the API.
pub type Route = (String, String);

/// All routes of a broker.
pub async fn routes(server: &Served) -> Vec<Route> {
    let (status, text) =
        send(server, "", &Request { method: "GET".into(), target: "/".into(), body: Body::Empty }).await;
    assert_eq!(status, 200, "{text}");
    let line = |line: &str| {
        let (method, target) = line.split_once(' ')?;
        let (path, _) = target.trim().split_once('?').unwrap_or((target.trim(), ""));
        path.starts_with('/').then(|| (method.to_owned(), path.to_owned()))
    };
    text.lines().filter_map(line).chain([("GET".to_owned(), "/".to_owned())]).collect()
}

pub struct Request {
    method: String,
    target: String,
    body: Body,
}

enum Body {
    Empty,
    Json(serde_json::Value),
    Record(&'static str),
}

/// A well-formed request of a route about a topic, a group and a producer. `fresh` makes a group's name one that no
/// request before it has named.
pub fn of((method, path): &Route, names: &Names<'_>, fresh: &str) -> Request {
    use serde_json::json;
    let Names { topic, group, producer } = names;
    let offset = json!([{"topic": topic, "partition": 0, "offset": 1, "metadata": "m"}]);
    let (query, body) = match (method.as_str(), path.as_str()) {
        ("POST", "/records") => (format!("topic-name={topic}"), Body::Record("a record")),
        ("GET", "/records" | "/record") => (format!("topic-name={topic}&offset=0"), Body::Empty),
        ("GET" | "DELETE", "/topic") => (format!("topic-name={topic}"), Body::Empty),
        ("PUT" | "POST", "/topic") => (format!("topic-name={topic}"), Body::Json(json!({}))),
        ("POST", "/trim") => (format!("topic-name={topic}&before=0"), Body::Empty),
        ("POST", "/producer") => (format!("producer-name={producer}"), Body::Empty),
        ("PUT", "/member") => (format!("group-name={group}&member=m&generation=1"), Body::Empty),
        ("POST", "/member") => (format!("group-name={group}-{fresh}"), Body::Json(json!({"topics": [topic]}))),
        ("DELETE", "/member") => (format!("group-name={group}&member=m"), Body::Empty),
        ("PUT", "/group") => (format!("group-name={group}"), Body::Json(json!({"offsets": offset}))),
        ("GET", "/group") => (format!("group-name={group}"), Body::Empty),
        ("DELETE", "/group") => (format!("group-name={group}-{fresh}"), Body::Empty),
        ("GET", "/offset") => (format!("topic-name={topic}&time=2026-01-01T00:00:00Z"), Body::Empty),
        ("GET", "/search") => (format!("topic-name={topic}&text=a"), Body::Empty),
        ("GET", "/subscribe") => (format!("topic-name={topic}"), Body::Empty),
        ("GET", "/measurements/metrics") => (format!("topic-name={topic}"), Body::Empty),
        ("GET", "/measurements/tags" | "/measurements/query") => {
            (format!("topic-name={topic}&selector=cpu"), Body::Empty)
        }
        (
            "GET",
            "/groups" | "/topics" | "/v1/messages/json" | "/stats" | "/measurements" | "/brokers" | "/metrics"
            | "/health" | "/openapi.json" | "/",
        )
        | ("POST", "/ticket") => (String::new(), Body::Empty),
        (method, path) => panic!("no request of {method} {path} here; add one, so that its grants are walked"),
    };
    let separator = if query.is_empty() { "" } else { "?" };
    Request { method: method.clone(), target: format!("{path}{separator}{query}"), body }
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.target)
    }
}

/// Sends a request with a key, if that isn't empty: the response's status and its text; of a stream, its beginning.
pub async fn send(server: &Served, key: &str, request: &Request) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let (content_type, body) = match &request.body {
        Body::Empty => ("", Vec::new()),
        Body::Json(json) => ("content-type: application/json\r\n", json.to_string().into_bytes()),
        Body::Record(text) => ("content-type: application/octet-stream\r\n", text.as_bytes().to_vec()),
    };
    let authorization = if key.is_empty() { String::new() } else { format!("authorization: Bearer {key}\r\n") };
    let head = format!(
        "{} {} HTTP/1.1\r\nhost: localhost\r\n{authorization}{content_type}content-length: {}\r\n\
         connection: close\r\n\r\n",
        request.method,
        request.target,
        body.len()
    );
    stream.write_all(&[head.as_bytes(), &body].concat()).await.unwrap();
    let mut received = Vec::new();
    let reading = async {
        loop {
            let text = String::from_utf8_lossy(&received).into_owned();
            let is_stream = text.contains("content-type: text/event-stream") && text.contains("\r\n\r\n");
            if is_stream || stream.read_buf(&mut received).await.unwrap() == 0 {
                return text;
            }
        }
    };
    let reading = tokio::time::timeout(Duration::from_secs(60), reading).await;
    let text = reading.unwrap_or_else(|_| panic!("{request} has no response"));
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request}: {text:?}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}
