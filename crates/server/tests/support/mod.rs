//! A server in the test's own process, and requests whose bytes the test sends as it likes.

#![allow(dead_code)] // Each test uses some of it.

use rawline_broker::pool::Pool;
use rawline_broker::store::Store;
use rawline_broker::{Broker, Config, SystemClock};
use rawline_server::http::{self, HttpConfig, Waits};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

/// After this time a test has failed. Nothing that works takes so long.
pub const DEADLINE: Duration = Duration::from_secs(60);

const HOUR: Duration = Duration::from_secs(3600);

/// Clients may take as long as they like.
pub const PATIENT: Waits = Waits {
    head: HOUR,
    body_piece: HOUR,
    body: HOUR,
    answer_piece: HOUR,
    answer: HOUR,
    refused_body: Duration::from_millis(20),
};

/// A server; it stops when the value is dropped.
pub struct Server {
    pub address: SocketAddr,
    pub pool: Arc<Pool>,
    _stop: watch::Sender<bool>,
}

/// Serves a store.
pub async fn serve(store: Arc<dyn Store>, config: HttpConfig, pool_bytes: usize) -> Server {
    let clock = Arc::new(SystemClock);
    let broker = Arc::new(Broker::open(store, clock.clone(), Config::new(7)).await.unwrap());
    let pool = Pool::new(pool_bytes);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(http::serve(listener, broker, pool.clone(), clock, config, stopped));
    Server { address, pool, _stop: stop }
}

/// A connection from this address.
pub async fn connect_from(from: [u8; 4], server: &Server) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(IpAddr::from(from), 0)).unwrap();
    let stream = socket.connect(server.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

pub async fn connect(server: &Server) -> TcpStream {
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

/// Sends bytes and returns the response: its status, and all of it as text. None if the connection is closed instead.
pub async fn exchange(stream: &mut TcpStream, pieces: &[&[u8]]) -> Option<(u16, String)> {
    for piece in pieces {
        stream.write_all(piece).await.ok()?;
    }
    receive(stream).await
}

/// The next response. None if the connection is closed instead.
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
