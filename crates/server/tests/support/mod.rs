//! Requests with arbitrary bytes, to a broker in the test's own process.

#![allow(dead_code)] // Each test uses a part of it.

pub mod kafka;
pub mod kafka_fetch;
pub mod kafka_requests;

use rawline_testkit::served::Served;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// A test fails after this time. No successful test takes this long.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Connects from this address.
pub async fn connect_from(from: [u8; 4], server: &Served) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(IpAddr::from(from), 0)).unwrap();
    let stream = socket.connect(server.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

pub async fn connect(server: &Served) -> TcpStream {
    connect_from([127, 0, 0, 1], server).await
}

/// The head of a request to append one record of `bytes` bytes.
pub fn append_head(bytes: usize) -> String {
    format!(
        "POST /records?topic-name=t HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\n\
         content-length: {bytes}\r\n\r\n"
    )
}

pub fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

/// Sends a request over HTTP, on a new connection: the response's status, its head and its body.
pub async fn http(server: &Served, method: &str, target: &str, header: &str, body: &[u8]) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: localhost\r\n{header}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await.unwrap();
    let end = response.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(response[..end].to_vec()).unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head, response[end + 4..].to_vec())
}

/// Sends bytes and returns the response: its status and its whole text. `None` if the connection is closed instead.
pub async fn exchange(stream: &mut TcpStream, pieces: &[&[u8]]) -> Option<(u16, String)> {
    for piece in pieces {
        stream.write_all(piece).await.ok()?;
    }
    receive(stream).await
}

/// The next response. `None` if the connection is closed instead.
pub async fn receive(stream: &mut TcpStream) -> Option<(u16, String)> {
    let mut received = Vec::new();
    let reading = async {
        loop {
            let text = String::from_utf8_lossy(&received).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                    return Some((head.split(' ').nth(1).unwrap().parse().unwrap(), text));
                }
            }
            if stream.read_buf(&mut received).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    };
    tokio::time::timeout(DEADLINE, reading).await.expect("no response")
}

/// Waits until the condition is met.
pub async fn wait_until(what: impl Fn() -> bool) {
    let waiting = async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, waiting).await.expect("the condition was never met");
}

/// The same for a condition that needs requests.
pub async fn wait_until_async(what: impl AsyncFn() -> bool) {
    let waiting = async {
        while !what().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, waiting).await.expect("the condition was never met");
}

/// The number of journals of this process that refuse appends, from `/metrics`. Other tests add to it.
pub async fn failed_journals(server: &Served) -> u64 {
    let (_, text) = exchange(&mut connect(server).await, &[get("/metrics").as_bytes()]).await.unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("rawline_topics_failed "));
    line.unwrap().parse().unwrap()
}
